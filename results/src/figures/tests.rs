use super::*;
use crate::checker::{Aftermath, Pool, Wait};
use crate::event::OpId;
use crate::hold::Hold;
use crate::trial::{AgentFacts, ServerFacts};

const MS: Nanos = 1_000_000;
const BEGIN: Nanos = 10 * SECOND;

fn facts() -> TrialFacts {
    TrialFacts {
        format: 1,
        run: "run".to_owned(),
        cell: "cell".to_owned(),
        trial: 2,
        window_start: BEGIN,
        window_end: BEGIN + 2 * SECOND,
        workers: 4,
        keys: 1,
        open_load: true,
        scheduled: Some(4),
        slo_response_ns: Some(20 * MS),
        checks: Vec::new(),
        counted: Vec::new(),
        agents: Vec::new(),
        servers: BTreeMap::new(),
        partial: None,
    }
}

/// Worker `worker` wants the lock from `from`, has it from `got` to `gave`, milliseconds of the window.
fn operation(worker: u32, [from, got, gave]: [u64; 3]) -> Operation {
    let at = |ms: u64| BEGIN + ms * MS;
    Operation {
        op: OpId::new(worker, from),
        key: 0,
        flags: 0,
        intended: at(from),
        released: at(from),
        taken: at(from),
        acquire_call: at(from),
        acquire_return: at(got),
        acquired: StepOutcome::Ok,
        request_sent: at(from),
        valid_until: u64::MAX,
        token: 0,
        release_call: at(gave),
        release_return: at(gave) + 100_000,
        release: Some(crate::event::Released::Removed),
        definite_end: at(gave),
        finished: at(gave) + 101_000,
        outcome: Outcome::Granted,
    }
}

fn denied(worker: u32, [from, until]: [u64; 2]) -> Operation {
    let base = operation(worker, [from, until, until]);
    Operation {
        acquired: StepOutcome::Fail,
        release_call: 0,
        release_return: 0,
        release: None,
        definite_end: 0,
        finished: base.acquire_return + 1_000,
        outcome: Outcome::Denied,
        ..base
    }
}

fn measured(facts: &TrialFacts, operations: &[Operation]) -> (TrialFigures, LatencySet) {
    let mut figures = Figures::new(facts).unwrap();
    for operation in operations {
        figures.operation(operation);
    }
    let mut holds: Vec<Hold> = operations.iter().filter_map(Hold::of).collect();
    holds.sort_by_key(|hold| hold.start);
    let mut waits: Vec<Wait> = operations
        .iter()
        .filter(|operation| operation.acquired == StepOutcome::Fail)
        .map(|operation| Wait {
            op: operation.op,
            key: 0,
            from: operation.acquire_call,
            to: operation.acquire_return,
            perhaps: false,
        })
        .collect();
    waits.sort_by_key(|wait| wait.from);
    let history = History { holds, waits, workers: facts.workers, ..History::default() };
    figures.finish(&history)
}

#[test]
fn outcomes_count_by_intended_start_and_grants_by_when_they_came() {
    let mut early = operation(0, [0, 100, 110]);
    early.intended = BEGIN - MS;
    let late = operation(1, [1_990, 2_010, 2_020]);
    let (figures, _) = measured(&facts(), &[early, late, denied(2, [500, 700])]);
    assert_eq!((figures.outcomes.granted, figures.outcomes.denied), (1, 1));
    assert_eq!((figures.outside, figures.grants), (1, 1));
    assert!((figures.throughput - 0.5).abs() < 1e-9);
    assert_eq!((figures.series.granted, figures.series.denied), (vec![1, 0], vec![1, 0]));
}

#[test]
fn goodput_is_a_share_of_what_was_scheduled() {
    let (figures, _) = measured(
        &facts(),
        &[operation(0, [0, 1, 5]), operation(1, [0, 10, 30]), denied(2, [0, 2])],
    );
    assert_eq!((figures.good, figures.offered), (Some(1), 4));
    assert_eq!(figures.generator_saturated, ["only 3 of 4 scheduled operations were begun"]);
}

#[test]
fn a_denial_never_flatters_a_grant() {
    let (_, latencies) = measured(&facts(), &[operation(0, [0, 10, 30]), denied(1, [0, 2])]);
    let max = |kind, outcome| latencies.percentiles(Tag::new(kind, outcome)).unwrap().max;
    assert_eq!(max(LatencyKind::Wait, Outcome::Granted), Some(10_000.0));
    assert_eq!(max(LatencyKind::Wait, Outcome::Denied), Some(2_000.0));
    assert_eq!(max(LatencyKind::Response, Outcome::Granted), Some(30_100.0));
    assert_eq!(max(LatencyKind::Response, Outcome::Denied), Some(2_001.0));
    assert_eq!(max(LatencyKind::Hold, Outcome::Granted), Some(20_000.0));
}

#[test]
fn a_closed_load_has_neither_lag_nor_queue() {
    let closed = TrialFacts { open_load: false, scheduled: None, ..facts() };
    let (figures, latencies) = measured(&closed, &[operation(0, [0, 1, 5])]);
    assert_eq!(latencies.percentiles(Tag::whole(LatencyKind::Queue)), None);
    assert_eq!(latencies.percentiles(Tag::whole(LatencyKind::PacerLag)), None);
    assert_eq!(figures.offered, 1);
}

#[test]
fn the_lock_goes_to_waiters_bargers_and_newcomers() {
    // 1 waits from 2 and gets it at 11; 2 comes at 22 after the release at 20 while 3 waits since 15; 3 gets it at 31;
    // 0 comes back to an idle lock.
    let (figures, latencies) = measured(
        &facts(),
        &[
            operation(0, [0, 1, 10]),
            operation(1, [2, 11, 20]),
            operation(2, [22, 23, 30]),
            operation(3, [15, 31, 40]),
            operation(0, [100, 101, 110]),
        ],
    );
    let counts = figures.hand_overs;
    assert_eq!((counts.to_waiter, counts.barged, counts.idle, counts.overlapped), (2, 1, 1, 0));
    let hand_over = latencies.percentiles(Tag::whole(LatencyKind::HandOver)).unwrap();
    assert_eq!((hand_over.count, hand_over.max), (2, Some(1_000.0)));
    assert_eq!(figures.overtakes, 1);
}

#[test]
fn a_barger_past_a_denied_waiter_is_a_barger() {
    let (figures, _) = measured(
        &facts(),
        &[operation(0, [0, 1, 10]), operation(1, [12, 13, 20]), denied(2, [5, 50])],
    );
    assert_eq!((figures.hand_overs.barged, figures.overtakes), (1, 1));
}

#[test]
fn a_hold_that_was_never_released_hands_nothing_over() {
    let mut dead = operation(0, [0, 1, 10]);
    (dead.release_call, dead.release_return, dead.release) = (0, 0, None);
    dead.outcome = Outcome::Unknown;
    let (figures, _) = measured(&facts(), &[dead, operation(1, [2, 500, 510])]);
    assert_eq!(figures.hand_overs, crate::run::HandOvers::default());
}

#[test]
fn where_a_second_of_the_busiest_key_goes() {
    let (figures, _) =
        measured(&facts(), &[operation(0, [0, 0, 500]), operation(1, [100, 600, 1_100])]);
    let split = figures.time_split.unwrap();
    assert!((split.work - 0.5).abs() < 1e-6, "{split:?}");
    assert!((split.hand_over - 0.05).abs() < 1e-6, "{split:?}");
    assert!((split.idle - 0.45).abs() < 1e-6, "{split:?}");
    let (possible, achieved) = figures.ceiling.unwrap();
    assert!((possible - 1.0 / 0.6).abs() < 1e-3 && (achieved - 1.0).abs() < 1e-9);
}

#[test]
fn fairness_counts_workers_that_got_nothing() {
    let (figures, _) = measured(&facts(), &[operation(0, [0, 1, 2]), operation(1, [3, 4, 5])]);
    assert!((figures.jain.unwrap() - 0.5).abs() < 1e-9);
    let (none, _) = measured(&facts(), &[denied(0, [0, 30])]);
    assert_eq!((none.jain, none.longest_wait_ns), (None, Some(30 * MS)));
}

#[test]
fn costs_that_nobody_knows_stay_unknown() {
    let mut facts = facts();
    let agent = AgentFacts {
        agent: 0,
        histories: vec!["h".to_owned()],
        lost: None,
        cpu_us: Some(1_900_000),
        finished: None,
        errors: [("lost".to_owned(), 2)].into(),
        scripts_reloaded: 0,
    };
    facts.agents = vec![agent.clone(), AgentFacts { agent: 1, cpu_us: None, ..agent }];
    facts
        .servers
        .insert("redis".to_owned(), ServerFacts { commands: Some(10), ..ServerFacts::default() });
    facts.servers.insert(
        "witness".to_owned(),
        ServerFacts { cpu_us: Some(1_850_000), ..ServerFacts::default() },
    );
    let (figures, _) = measured(&facts, &[operation(0, [0, 1, 2])]);
    assert_eq!((figures.commands, figures.bytes, figures.agent_cpu_us), (Some(10), None, None));
    assert_eq!(figures.witness_saturated, Some(true));
    assert_eq!(figures.errors["lost"], 4);
    assert_eq!(figures.generator_saturated[0], "agent 0 used 0.95 of 1 cores");
}

#[test]
fn what_was_sold() {
    let pool = |takings: &[u64], exhausted, after| Pool {
        name: "item 0, round 0".to_owned(),
        key: 0,
        initial: 3,
        remaining: 0,
        exhausted,
        takings: takings.iter().map(|id| OpId(*id)).collect(),
        acknowledged: Vec::new(),
        sold_out_after: after,
    };
    let pools = vec![pool(&[1, 2, 2], true, Some(4 * MS)), pool(&[4, 5, 6], true, Some(2 * MS))];
    let history = History {
        aftermath: Aftermath { pools: Some(pools), leftovers: None },
        ..History::default()
    };
    let facts = facts();
    let sale = Figures::new(&facts).unwrap().finish(&history).0.sale.unwrap();
    assert_eq!((sale.sold, sale.rounds, sale.undersold, sale.duplicates), (5, 2, 1, 1));
    assert_eq!(sale.sell_out_us, Some(3_000.0));
}

#[test]
fn a_window_that_makes_no_sense_is_refused() {
    let backwards = TrialFacts { window_end: 5, ..facts() };
    assert!(Figures::new(&backwards).is_err());
    let endless = TrialFacts { window_end: u64::MAX, ..facts() };
    assert!(Figures::new(&endless).is_err());
}
