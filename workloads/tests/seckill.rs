//! The flash sale on a real register, under real strategies.

mod support;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use results::checker::Pool;
use results::event::{EventKind, OpId, Outcome, StepOutcome};
use serde_json::json;
use support::{Outcomes, Redis, Trial, run};
use workloads::caller::Caller;
use workloads::guard::Guard;

fn pools(outcomes: &Outcomes) -> Vec<Pool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let pools = outcomes.workload.aftermath(&outcomes.setup);
    runtime.expect("a runtime").block_on(pools).expect("the witness answers").expect("a register")
}

/// Pieces sold beyond the stock, and pieces sold that the stock does not show.
fn damage(pools: &[Pool]) -> (i64, i64) {
    pools.iter().fold((0, 0), |(oversold, lost), pool| {
        let sold = i64::try_from(pool.takings.len()).expect("few orders");
        (oversold + (sold - pool.initial).max(0), lost + (sold - (pool.initial - pool.remaining)))
    })
}

/// Each start has one end, and the sums say what the history says.
fn assert_conserved(outcomes: &Outcomes) {
    let of = |kind| outcomes.events.iter().filter(move |event| event.kind == kind);
    let started: HashSet<OpId> = of(EventKind::Start).map(|event| event.op).collect();
    let mut ends = HashMap::<u64, u64>::new();
    of(EventKind::Finish).for_each(|event| *ends.entry(event.arg).or_default() += 1);
    assert_eq!(started.len(), of(EventKind::Start).count(), "no operation starts twice");
    assert_eq!(outcomes.tally.started, started.len() as u64);
    assert_eq!(outcomes.tally.finished(), started.len() as u64);
    for outcome in Outcome::ALL {
        let ended = ends.get(&(outcome as u64)).copied().unwrap_or_default();
        assert_eq!(outcomes.of(outcome), ended, "{outcome:?}");
    }
}

/// Each write that was confirmed is an order, and each order was written.
fn assert_orders_are_the_writes(outcomes: &Outcomes, pools: &[Pool]) {
    let written: HashSet<OpId> = outcomes
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Write && event.outcome == StepOutcome::Ok)
        .map(|event| event.op)
        .collect();
    let ordered: HashSet<OpId> = pools.iter().flat_map(|pool| pool.takings.clone()).collect();
    assert!(written.is_subset(&ordered), "confirmed and not ordered");
    // A write that was cancelled on its way may have arrived.
    let unsure = outcomes.of(Outcome::Cancelled) + outcomes.of(Outcome::Unknown);
    assert!(ordered.difference(&written).count() as u64 <= unsure, "ordered and not confirmed");
}

#[test]
fn without_a_lock_pieces_are_sold_twice() {
    let redis = Redis::start();
    let outcomes = run(&redis, &Trial { strategy: "control-none", ..Trial::default() });
    assert_conserved(&outcomes);
    let pools = pools(&outcomes);
    assert_orders_are_the_writes(&outcomes, &pools);
    let (oversold, lost) = damage(&pools);
    assert!(oversold + lost > 0, "nothing went wrong in {} sales", outcomes.of(Outcome::Granted));
}

#[test]
fn under_a_lock_every_piece_is_sold_once() {
    for strategy in ["control-in-process", "redis-lua"] {
        let redis = Redis::start();
        let trial = Trial {
            strategy,
            options: json!({ "items": 2, "stock": 20, "work": "100us" }),
            caller: Caller::Deadline,
            ..Trial::default()
        };
        let outcomes = run(&redis, &trial);
        assert_conserved(&outcomes);
        let pools = pools(&outcomes);
        assert_orders_are_the_writes(&outcomes, &pools);
        assert_eq!(damage(&pools), (0, 0), "{strategy}");
        assert!(pools.len() > 4, "{strategy} sold {} rounds", pools.len());
        assert!(outcomes.of(Outcome::Refused) > 0, "{strategy} turned nobody away");
        let out = pools.iter().filter(|pool| pool.exhausted).collect::<Vec<_>>();
        assert!(out.iter().all(|pool| pool.remaining == 0 && pool.sold_out_after.is_some()));
    }
}

#[test]
fn guards_of_the_register_need_no_lock() {
    for guard in [Guard::Cas, Guard::Atomic] {
        let redis = Redis::start();
        let trial = Trial {
            strategy: "no-lock",
            options: json!({ "stock": 50, "work": "200us" }),
            guard,
            length: Duration::from_millis(700),
            ..Trial::default()
        };
        let outcomes = run(&redis, &trial);
        assert_conserved(&outcomes);
        let pools = pools(&outcomes);
        assert_orders_are_the_writes(&outcomes, &pools);
        assert_eq!(damage(&pools), (0, 0), "{guard:?}");
        assert!(outcomes.of(Outcome::Granted) > 50, "{guard:?}: {:?}", outcomes.tally);
    }
}

#[test]
fn rounds_come_to_an_end() {
    let redis = Redis::start();
    let trial = Trial {
        options: json!({ "stock": 5, "work": "0ms", "rounds": 3 }),
        length: Duration::from_millis(500),
        ..Trial::default()
    };
    let outcomes = run(&redis, &trial);
    let pools = pools(&outcomes);
    let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
    assert_eq!(names, ["item 0, round 1", "item 0, round 2", "item 0, round 3"]);
    assert_eq!(outcomes.of(Outcome::Granted), 15);
}

#[test]
fn a_cancelled_operation_gives_its_lock_back() {
    let redis = Redis::start();
    let trial = Trial {
        strategy: "redis-lua",
        options: json!({ "work": "10s" }),
        workers: 2,
        length: Duration::from_millis(200),
        ..Trial::default()
    };
    let outcomes = run(&redis, &trial);
    assert_conserved(&outcomes);
    assert_eq!(outcomes.of(Outcome::Cancelled), 2);
    let granted = outcomes
        .events
        .iter()
        .find(|event| event.kind == EventKind::AcquireReturn && event.outcome == StepOutcome::Ok);
    let op = granted.expect("one of them held the lock").op;
    let released = outcomes.events.iter().any(|event| {
        event.op == op && event.kind == EventKind::ReleaseReturn && event.outcome == StepOutcome::Ok
    });
    assert!(released, "the lock was left behind");
}

#[test]
fn nothing_is_left_after_clearing() {
    let redis = Redis::start();
    let outcomes = run(&redis, &Trial { length: Duration::from_millis(300), ..Trial::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        outcomes.workload.clear(&outcomes.setup).await.expect("the witness answers");
        let client = redis::Client::open(redis.address().reveal()).expect("an address");
        let mut connection =
            client.get_multiplexed_async_connection().await.expect("the server answers");
        let left: Vec<String> =
            redis::cmd("KEYS").arg("*").query_async(&mut connection).await.expect("an answer");
        assert_eq!(left, Vec::<String>::new());
    });
}
