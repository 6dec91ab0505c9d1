use std::collections::BTreeMap;

use super::*;
use crate::event::{Event, EventKind, OpId, Outcome, Released, StepOutcome};
use crate::history::{Header, Origin};
use crate::history_writer::HistoryWriter;
use crate::latency::{LatencyKind, Tag};
use crate::trial::{AgentFacts, Check};
use crate::verdict::{Verdict, ViolationKind};

const BEGIN: Nanos = 1_000_000_000;
const SECOND: Nanos = 1_000_000_000;

fn facts(finished: u64) -> TrialFacts {
    TrialFacts {
        format: 1,
        run: "run".to_owned(),
        cell: "cell".to_owned(),
        trial: 1,
        window_start: BEGIN,
        window_end: BEGIN + 2 * SECOND,
        workers: 2,
        keys: 1,
        open_load: false,
        scheduled: None,
        slo_response_ns: Some(80_000_000),
        checks: vec![Check::MutualExclusion],
        counted: vec![ViolationKind::MutualExclusion],
        agents: vec![AgentFacts {
            agent: 0,
            histories: vec!["history-0.lbh".to_owned()],
            lost: None,
            cpu_us: Some(100_000),
            finished: Some(finished),
            errors: BTreeMap::new(),
            scripts_reloaded: 0,
        }],
        servers: BTreeMap::new(),
        partial: None,
    }
}

/// Two workers take turns for `rounds`, 10 ms each; `overlap` makes each come 1 ms early.
fn record(directory: &Path, rounds: u64, overlap: Nanos) {
    let origin =
        Origin { run: "run", cell: "cell", trial: 1, agent: 0, instance: 0, strategy: "redis-lua" };
    let header = Header::of_this_process(&origin).unwrap();
    let mut writer = HistoryWriter::create(&directory.join("history-0.lbh"), &header).unwrap();
    for round in 0..rounds {
        let op = OpId::new(u32::try_from(round % 2).unwrap(), round / 2);
        let granted = BEGIN + round * 10_000_000 - overlap;
        let begin = granted.saturating_sub(15_000_000).max(BEGIN);
        let release = BEGIN + (round + 1) * 10_000_000 - 500_000;
        let mut push = |at, kind, arg, seq| {
            let outcome = StepOutcome::Ok;
            writer.push(Event { at, op, key: 0, kind, outcome, flags: 0, arg, seq });
        };
        push(begin, EventKind::Start, begin, begin);
        push(begin + 1_000, EventKind::AcquireCall, 0, 0);
        push(granted.max(begin + 2_000), EventKind::AcquireReturn, begin + 1_000, 0);
        push(release, EventKind::ReleaseCall, 0, 0);
        push(release + 100_000, EventKind::ReleaseReturn, Released::Removed as u64, 0);
        push(release + 101_000, EventKind::Finish, Outcome::Granted as u64, 0);
    }
    writer.finish().unwrap();
}

fn trial(rounds: u64, overlap: Nanos, facts: &TrialFacts) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), rounds, overlap);
    std::fs::write(folder.path().join(TRIAL_FILE), serde_json::to_vec(facts).unwrap()).unwrap();
    std::fs::write(folder.path().join(AFTERMATH_FILE), "{\"pools\":null,\"leftovers\":null}")
        .unwrap();
    folder
}

#[test]
fn a_trial_is_judged_from_its_files() {
    let folder = trial(100, 0, &facts(100));
    let Judgement { result, latencies } = judge(folder.path()).unwrap();
    let figures = &result.figures;
    assert_eq!(result.imbalance, None);
    assert_eq!((figures.grants, figures.outcomes.granted), (100, 100));
    assert!((figures.throughput - 50.0).abs() < 1e-9);
    assert_eq!(figures.good, Some(100));
    assert_eq!(figures.series.granted, [100, 0]);
    assert!(figures.jain.unwrap() > 0.999);
    let hand_over = latencies.percentiles(Tag::whole(LatencyKind::HandOver)).unwrap();
    assert_eq!((hand_over.count, hand_over.max), (99, Some(500.0)));
    assert_eq!(result.findings[0].verdict, Verdict::Valid);
}

#[test]
fn an_overlap_is_convicted_and_no_hand_over() {
    let folder = trial(100, 1_000_000, &facts(100));
    let result = judge(folder.path()).unwrap().result;
    assert_eq!(result.findings[0].verdict, Verdict::Violated);
    assert_eq!(
        (result.figures.hand_overs.to_waiter, result.figures.hand_overs.overlapped),
        (0, 99)
    );
    assert_eq!(result.figures.ceiling, None);
}

#[test]
fn books_that_do_not_balance_are_told() {
    let folder = trial(100, 0, &facts(101));
    let imbalance = judge(folder.path()).unwrap().result.imbalance.unwrap();
    assert!(imbalance.contains("101") && imbalance.contains("100"), "{imbalance}");
}

#[test]
fn a_judgement_comes_back_as_it_was_saved() {
    let folder = trial(100, 0, &facts(100));
    let judgement = judge(folder.path()).unwrap();
    assert!(!folder.path().join(RESULT_FILE).exists());
    save(folder.path(), &judgement).unwrap();
    let loaded = load(folder.path()).unwrap();
    assert_eq!(loaded.result, judgement.result);
    for (tag, samples) in judgement.latencies.iter() {
        assert_eq!(loaded.latencies.percentiles(tag).unwrap(), samples.percentiles(), "{tag}");
    }
}

#[test]
fn files_that_are_not_what_they_should_be_are_told() {
    let folder = trial(2, 0, &facts(2));
    let judgement = judge(folder.path()).unwrap();
    save(folder.path(), &judgement).unwrap();
    std::fs::write(folder.path().join(LATENCY_FILE), "nonsense\n").unwrap();
    assert!(matches!(load(folder.path()), Err(JudgeError::Histograms { .. })));
    std::fs::write(folder.path().join(TRIAL_FILE), "{}").unwrap();
    assert!(matches!(judge(folder.path()), Err(JudgeError::Malformed { .. })));
    std::fs::remove_file(folder.path().join(TRIAL_FILE)).unwrap();
    assert!(matches!(judge(folder.path()), Err(JudgeError::File { .. })));
    let mut endless = facts(2);
    endless.window_end = u64::MAX;
    let folder = trial(2, 0, &endless);
    assert!(matches!(judge(folder.path()), Err(JudgeError::Figures(_))));
}
