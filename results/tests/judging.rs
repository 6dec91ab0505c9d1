//! The judge against brute force, and under changes that must not change its mind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;
use results::assemble::{assemble, events};
use results::checker::{Aftermath, History};
use results::checkers::all_findings;
use results::event::{Event, EventKind, Nanos, OpId, Outcome, Released, StepOutcome, flags};
use results::history::{Header, HistoryError, Origin};
use results::history_writer::HistoryWriter;
use results::hold::Hold;
use results::operation::Operation;
use results::trial::{Check, TrialFacts};
use results::verdict::{Finding, Verdict};

mod facts;

const MICRO: Nanos = 1_000;

/// One grant: key, acquire called, granted, release called, release answered, in microseconds.
type Turn = (u32, [u64; 4]);

/// Up to `most` grants whose times collide often. All times are even, and no hold is empty, so that no overlap is as
/// short as the clocks' doubt.
fn turns(most: usize) -> impl Strategy<Value = Vec<Turn>> {
    let times = prop::array::uniform4(1..30_u64).prop_map(|mut times| {
        times.sort_unstable();
        let [called, granted, released, answered] = times;
        [called, granted, released + 1, answered + 1].map(|time| time * 2)
    });
    prop::collection::vec((0..2_u32, times), 1..=most)
}

/// The events of `turns`; turn `n` belongs to worker `n`.
fn told(turns: &[Turn], shift: Nanos) -> Vec<Event> {
    let mut events = Vec::new();
    for (worker, (key, times)) in (0..).zip(turns) {
        let [called, granted, released, answered] = times.map(|time| time * MICRO + shift);
        let op = OpId::new(worker, 0);
        let mut push = |at, kind, arg, seq| {
            let outcome = StepOutcome::Ok;
            events.push(Event { at, op, key: *key, kind, outcome, flags: 0, arg, seq });
        };
        push(called, EventKind::AcquireCall, 0, 0);
        push(granted, EventKind::AcquireReturn, called, called + 40 * MICRO);
        push(released, EventKind::ReleaseCall, 0, 0);
        push(answered, EventKind::ReleaseReturn, 0, 0);
        push(answered, EventKind::Finish, Outcome::Granted as u64, 0);
    }
    events.sort_by_key(|event| event.at);
    events
}

fn header(instance: u32) -> Header {
    let origin = Origin { run: "r", cell: "c", trial: 1, agent: 0, instance, strategy: "by-hand" };
    Header::of_this_process(&origin).unwrap()
}

/// The holds of `turns`, put together without files.
fn held(turns: &[Turn]) -> History {
    let mut holds: Vec<Hold> = (0..).zip(turns).map(|(worker, turn)| hold(worker, turn)).collect();
    holds.sort_by_key(|hold| (hold.key, hold.start));
    History { holds, workers: 7, ..History::default() }
}

fn hold(worker: u32, (key, times): &Turn) -> Hold {
    let [called, granted, released, answered] = times.map(|time| time * MICRO);
    let operation = Operation {
        op: OpId::new(worker, 0),
        key: *key,
        flags: 0,
        intended: called,
        released: called,
        taken: called,
        acquire_call: called,
        acquire_return: granted,
        acquired: StepOutcome::Ok,
        request_sent: called,
        valid_until: called + 40 * MICRO,
        token: 0,
        release_call: released,
        release_return: answered,
        release: Some(Released::Removed),
        definite_end: released,
        finished: answered,
        outcome: Outcome::Granted,
    };
    Hold::of(&operation).unwrap()
}

/// Writes one file for each part; worker `n` goes to part `n` modulo their number.
fn save(directory: &Path, events: &[Event], parts: u32) -> TrialFacts {
    let mut names = Vec::new();
    for part in 0..parts {
        let name = format!("history-{part}.lbh");
        let mut writer = HistoryWriter::create(&directory.join(&name), &header(part)).unwrap();
        let own = events.iter().filter(|event| event.op.worker() % parts == part);
        own.for_each(|event| writer.push(*event));
        writer.finish().unwrap();
        names.push(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    facts::of(&names, 7)
}

fn history(events: &[Event], parts: u32) -> History {
    let directory = tempfile::tempdir().unwrap();
    let facts = save(directory.path(), events, parts);
    assemble(directory.path(), &facts, Aftermath::default(), &mut |_| {}).unwrap()
}

fn checks() -> [Check; 5] {
    [
        Check::MutualExclusion,
        Check::NonOwnerRelease,
        Check::GrantBornDead,
        Check::LostWakeUp { bound_ns: 6 * MICRO },
        Check::Starvation,
    ]
}

fn findings(events: &[Event], parts: u32) -> Vec<Finding> {
    all_findings(&checks(), &history(events, parts))
}

fn mutual_exclusion(events: &[Event]) -> Finding {
    findings(events, 1).swap_remove(0)
}

/// What a finding says, without its words.
fn figures(findings: &[Finding]) -> Vec<(Verdict, [u64; 4])> {
    let figures = findings.iter().map(|finding| {
        let counts = [finding.count, finding.within_lease, finding.past_lease, finding.exposures];
        (finding.verdict, counts)
    });
    figures.collect()
}

/// Whether the grants of one key can be put in an order in which each is over before the next begins, with each grant
/// effective between call and return, and each release too: a search through all orders.
fn linearizable(turns: &[[u64; 4]], now: u64, done: u32) -> bool {
    if done.count_ones() as usize == turns.len() {
        return true;
    }
    (0..turns.len()).filter(|place| done & (1 << place) == 0).any(|place| {
        let [called, granted, released, answered] = turns[place];
        // As early as possible is best: nothing is gained by waiting.
        let taken = called.max(now);
        let given_back = released.max(taken);
        taken <= granted
            && given_back <= answered
            && linearizable(turns, given_back, done | 1 << place)
    })
}

/// Pairs of definite holds that intersect, looked at one by one.
fn overlaps(turns: &[Turn]) -> u64 {
    let pairs = turns.iter().enumerate().flat_map(|(n, a)| turns[..n].iter().map(move |b| (a, b)));
    let meet = |(a, b): &(&Turn, &Turn)| a.0 == b.0 && a.1[1].max(b.1[1]) < a.1[2].min(b.1[2]);
    pairs.filter(meet).count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutual_exclusion_is_what_brute_force_says(turns in turns(7)) {
        let finding = &all_findings(&[Check::MutualExclusion], &held(&turns))[0];
        prop_assert_eq!(finding.count, overlaps(&turns));
        let linear = [0, 1].iter().all(|key| {
            let own: Vec<_> = turns.iter().filter(|t| t.0 == *key).map(|t| t.1).collect();
            linearizable(&own, 0, 0)
        });
        prop_assert_eq!(finding.verdict == Verdict::Violated, !linear);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neither_files_nor_names_nor_hours_change_a_finding(turns in turns(12), parts in 2..5_u32, shift in 0..1_u64 << 40) {
        let before = figures(&findings(&told(&turns, 0), 1));
        prop_assert_eq!(&figures(&findings(&told(&turns, 0), parts)), &before);
        prop_assert_eq!(&figures(&findings(&told(&turns, shift), 1)), &before);
        let renamed: Vec<Turn> = turns.iter().map(|(key, times)| (1 - key, *times)).collect();
        prop_assert_eq!(&figures(&findings(&told(&renamed, 0), 1)), &before);
    }

    #[test]
    fn the_order_of_the_files_does_not_matter(turns in turns(12)) {
        let directory = tempfile::tempdir().unwrap();
        let mut facts = save(directory.path(), &told(&turns, 0), 3);
        let judge = |facts: &TrialFacts| {
            let history =
                assemble(directory.path(), facts, Aftermath::default(), &mut |_| {}).unwrap();
            (history.holds.clone(), all_findings(&checks(), &history))
        };
        let before = judge(&facts);
        facts.agents[0].histories.reverse();
        prop_assert_eq!(judge(&facts), before);
    }

    #[test]
    fn one_more_overlap_counts_once(turns in turns(6), length in 2..1_000_u64) {
        let events = told(&turns, 0);
        let before = mutual_exclusion(&events).count;
        let late = 1_000;
        let more = [
            (0, [late, late, late + 10 + length, late + 10 + length]),
            (0, [late + 10, late + 10, late + 5_000, late + 5_000]),
        ];
        let all: Vec<Turn> = turns.into_iter().chain(more).collect();
        prop_assert_eq!(mutual_exclusion(&told(&all, 0)).count, before + 1);
        let without: Vec<Turn> = all[..all.len() - 1].to_vec();
        prop_assert_eq!(mutual_exclusion(&told(&without, 0)).count, before);
    }

    #[test]
    fn a_longer_prefix_never_takes_a_conviction_back(turns in turns(7)) {
        let events = told(&turns, 0);
        let directory = tempfile::tempdir().unwrap();
        let mut text = serde_json::to_string(&header(0)).unwrap() + "\n";
        let mut convicted = 0;
        for (length, event) in events.iter().enumerate() {
            writeln!(text, "{}", serde_json::to_string(event).unwrap()).unwrap();
            std::fs::write(directory.path().join("h.jsonl"), &text).unwrap();
            let facts = facts::of(&["h.jsonl"], 7);
            let history =
                assemble(directory.path(), &facts, Aftermath::default(), &mut |_| {}).unwrap();
            let finding = &all_findings(&[Check::MutualExclusion], &history)[0];
            prop_assert!(finding.count >= convicted, "after {} events", length + 1);
            prop_assert_ne!(finding.verdict, Verdict::Valid);
            convicted = finding.count;
        }
    }

    #[test]
    fn events_that_make_no_sense_never_panic(
        raw in prop::collection::vec((0..6_u64, 0..4_u64, 1..=20_u8, 0..3_u8, any::<u64>(), any::<u64>(), 0..16_u16), 0..60)
    ) {
        let events: Vec<Event> = raw.into_iter().map(|(at, op, kind, outcome, arg, seq, flags)| Event {
            at: if at == 5 { u64::MAX } else { at * MICRO },
            op: OpId::new(u32::try_from(op % 2).unwrap(), op),
            key: 0,
            kind: EventKind::from_code(kind).unwrap(),
            outcome: StepOutcome::from_code(outcome).unwrap(),
            flags,
            arg: if arg % 3 == 0 { arg % 4_000 } else { arg },
            seq: if seq % 3 == 0 { seq % 4_000 } else { seq },
        }).collect();
        findings(&events, 1);
    }
}

#[test]
fn a_hold_takes_at_most_64_bytes() {
    assert!(size_of::<Hold>() <= 64, "{} bytes", size_of::<Hold>());
}

#[test]
fn operations_are_put_together_again() {
    let directory = tempfile::tempdir().unwrap();
    let turns = [(0, [2, 4, 8, 10]), (1, [3, 5, 9, 11])];
    let mut events = told(&turns, 0);
    // The second operation of worker 1 is turned away, its third is cut off while it waits.
    let outcome = StepOutcome::Ok;
    let late = |at, op, kind, arg| Event { at, op, key: 1, kind, outcome, flags: 0, arg, seq: 0 };
    events.push(late(20_000, OpId::new(1, 1), EventKind::Start, 19_000));
    events.push(late(21_000, OpId::new(1, 1), EventKind::Finish, Outcome::Refused as u64));
    events.push(late(22_000, OpId::new(1, 2), EventKind::AcquireCall, 0));
    let facts = save(directory.path(), &events, 2);
    let mut operations: Vec<Operation> = Vec::new();
    let history = assemble(directory.path(), &facts, Aftermath::default(), &mut |operation| {
        operations.push(*operation);
    })
    .unwrap();
    assert_eq!(operations.len(), 4);
    assert_eq!(history.holds.len(), 2);
    assert_eq!(history.waits.len(), 1);
    assert!(history.waits[0].perhaps);
    let first = &operations[0];
    assert_eq!(
        (first.acquire_call, first.acquire_return, first.definite_end, first.release_return),
        (2_000, 4_000, 8_000, 10_000)
    );
    let outcomes: Vec<Outcome> = operations.iter().map(|operation| operation.outcome).collect();
    assert_eq!(outcomes, [Outcome::Granted, Outcome::Granted, Outcome::Refused, Outcome::Unknown]);
    assert_eq!(operations[2].intended, 19_000);
}

#[test]
fn a_renewal_makes_the_lease_longer() {
    let mut events = told(&[(0, [2, 4, 90, 92])], 0);
    let outcome = StepOutcome::Ok;
    let kind = EventKind::Renew;
    let renewal =
        Event { at: 30_000, op: OpId::new(0, 0), key: 0, kind, outcome, flags: 0, arg: 0, seq: 0 };
    events.insert(2, renewal);
    assert_eq!(history(&events, 1).holds[0].valid_until, 70_000);
    events[2].arg = 66_000;
    assert_eq!(history(&events, 1).holds[0].valid_until, 66_000);
    events[2].outcome = StepOutcome::Fail;
    assert_eq!(history(&events, 1).holds[0].valid_until, 42_000);
}

#[test]
fn times_of_a_hold_accuse_nobody() {
    let [called, granted, released, answered] = [1_000_001, 9_000_777, 20_000_003, 30_000_005];
    let outcome = StepOutcome::Ok;
    let op = OpId::new(0, 0);
    let event = |at, kind, arg| {
        let flags = flags::CHECKING_CALLER;
        Event { at, op, key: 0, kind, outcome, flags, arg, seq: 0 }
    };
    let events = [
        event(called, EventKind::AcquireCall, 0),
        event(granted, EventKind::AcquireReturn, called),
        event(released, EventKind::ReleaseCall, 0),
        event(answered, EventKind::ReleaseReturn, 0),
    ];
    let hold = history(&events, 1).holds[0];
    assert_eq!((hold.start, hold.end), (granted, granted));
    assert!((called..called + 1_024).contains(&hold.wait_start()));
    assert!((called - 1_023..=called).contains(&hold.request_sent()));
    assert!((released - 1_023..=released).contains(&hold.release_call().unwrap()));
    assert!((answered..answered + 1_024).contains(&hold.release_return().unwrap()));
}

#[test]
fn events_of_several_files_come_in_order_of_time() {
    let directory = tempfile::tempdir().unwrap();
    let turns = [(0, [2, 4, 8, 10]), (1, [3, 5, 9, 11]), (0, [6, 12, 14, 20])];
    let told = told(&turns, 0);
    let facts = save(directory.path(), &told, 3);
    let merged: Vec<Event> = events(directory.path(), &facts).unwrap().collect();
    assert_eq!(merged.len(), told.len());
    assert!(merged.is_sorted_by_key(|event| event.at));
    assert_eq!(merged.iter().map(|event| event.op).collect::<HashSet<_>>().len(), turns.len());
}

#[test]
fn histories_of_another_boot_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (name, boot_id) in [("a.lbh", "one"), ("b.lbh", "two")] {
        let header = Header { boot_id: boot_id.to_owned(), ..header(0) };
        HistoryWriter::create(&directory.path().join(name), &header).unwrap().finish().unwrap();
    }
    let facts = facts::of(&["a.lbh", "b.lbh"], 1);
    let error = assemble(directory.path(), &facts, Aftermath::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, HistoryError::ClocksDiffer { .. }), "{error}");
    assert!(events(directory.path(), &facts).is_err());
}

#[test]
fn names_that_lead_out_of_the_trial_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["../h.lbh", "/etc/passwd", "./h.lbh"] {
        let facts = facts::of(&[name], 1);
        let result = assemble(directory.path(), &facts, Aftermath::default(), &mut |_| {});
        assert!(matches!(result, Err(HistoryError::Outside { .. })), "{name}");
    }
}

#[test]
fn what_is_missing_makes_a_history_partial() {
    let directory = tempfile::tempdir().unwrap();
    let facts = save(directory.path(), &told(&[(0, [2, 4, 8, 10])], 0), 1);
    let truncated = |facts: &TrialFacts| {
        assemble(directory.path(), facts, Aftermath::default(), &mut |_| {}).unwrap().truncated
    };
    assert_eq!(truncated(&facts), None);

    let mut interrupted = facts.clone();
    interrupted.partial = Some("interrupted".to_owned());
    assert_eq!(truncated(&interrupted).as_deref(), Some("interrupted"));

    let mut counted = facts.clone();
    counted.agents[0].finished = Some(1);
    assert_eq!(truncated(&counted), None);
    counted.agents[0].finished = Some(2);
    assert!(truncated(&counted).unwrap().contains("finished 2 operations"));

    let mut lost = facts;
    lost.agents.push(facts::agent(1, &["missing.lbh"]));
    assert!(
        assemble(directory.path(), &lost, Aftermath::default(), &mut |_| {}).is_err(),
        "a missing history of an agent that ended well is an error"
    );
    lost.agents[1].lost = Some("killed by signal 9".to_owned());
    assert_eq!(truncated(&lost).as_deref(), Some("missing.lbh is missing"));
}
