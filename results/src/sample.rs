//! A small result of a run, for tests.

use serde_json::json;

use crate::cell::CellHead;
use crate::percentiles::Percentiles;
use crate::run::{
    CellResult, ControlResult, Cost, FORMAT, Fairness, FindingSummary, GateDetail, GateOutcome,
    GateResult, HandOvers, PerOutcome, RunResult, Saturation, Spread,
};
use crate::verdict::{Verdict, ViolationKind};

pub(crate) fn head(strategy: &str, load: &str, guard: &str) -> CellHead {
    CellHead {
        id: format!("{strategy}.seckill.{load}.naive.{guard}.none"),
        strategy: strategy.to_owned(),
        workload: "seckill".to_owned(),
        load: load.to_owned(),
        caller: "naive".to_owned(),
        guard: guard.to_owned(),
        fault: "none".to_owned(),
        options: json!({ "workload": { "items": 4 } }),
        applicable: true,
        reason: None,
    }
}

pub(crate) fn finding(count: u64, exposures: u64, verdict: Verdict) -> FindingSummary {
    FindingSummary {
        count,
        within_lease: count / 2,
        past_lease: count - count / 2,
        exposures,
        upper_bound: (verdict == Verdict::Valid).then(|| 3.0 / exposures as f64),
        verdict,
        reason: (verdict == Verdict::Unknown).then(|| "agent 1 was killed".to_owned()),
        examples: if count > 0 {
            vec!["workers 3 and 7 held key 0 together for 1.2 ms".to_owned()]
        } else {
            Vec::new()
        },
    }
}

fn points(count: u64, p50: f64) -> Percentiles {
    Percentiles {
        count,
        p50: Some(p50),
        p90: Some(p50 * 2.0),
        p99: Some(p50 * 5.0),
        p999: None,
        max: Some(p50 * 6.0),
        clipped: 0,
    }
}

fn measured(strategy: &str, load: &str, count: u64, verdict: Verdict) -> CellResult {
    let kinds = vec![ViolationKind::MutualExclusion, ViolationKind::Oversell];
    let mut cell = CellResult::empty(head(strategy, load, "none"), kinds);
    cell.verdict = Some(verdict);
    cell.violations.insert(ViolationKind::MutualExclusion, Some(finding(count, 123_456, verdict)));
    cell.violations.insert(ViolationKind::Oversell, Some(finding(0, 12, Verdict::Valid)));
    cell.damage = Some(0);
    cell.trials = 3;
    cell.outcomes = Some(PerOutcome { granted: 12_000, denied: 300, ..PerOutcome::default() });
    cell.throughput = Some(Spread {
        median: 402.5,
        min: 388.0,
        max: 410.0,
        per_trial: vec![388.0, 402.5, 410.0],
    });
    cell.goodput = Some(0.9756);
    cell.offered = Some(410.0);
    let latency = Some(PerOutcome {
        granted: Some(points(12_000, 1_834.0)),
        denied: Some(points(300, 500_000.0)),
        ..PerOutcome::default()
    });
    (cell.response_us, cell.wait_us) = (latency, latency);
    (cell.hold_us, cell.release_us) = (latency, latency);
    cell.hand_over_us = Some(Percentiles { count: 60, p50: Some(231.0), ..points(60, 231.0) });
    cell.hand_overs = Some(HandOvers { to_waiter: 60, barged: 5, idle: 3, overlapped: count });
    cell.fairness =
        Some(Fairness { jain: Some(0.97), overtakes: Some(40), longest_wait_us: Some(48_000.0) });
    cell.cost = Some(Cost { commands_per_grant: Some(2.51), ..Cost::default() });
    cell.saturated = Some(Saturation { generator: Some(false), witness: Some(false) });
    cell
}

fn cells() -> Vec<CellResult> {
    let mut lost = measured("redis-owner-check", "closed", 0, Verdict::Unknown);
    lost.goodput = None;
    lost.notes = vec!["trial 2 is partial: agent 1 was killed".to_owned()];
    let mut saturated = measured("redis-lua", "constant", 0, Verdict::Valid);
    saturated.saturated = Some(Saturation { generator: Some(true), witness: None });
    saturated.notes = vec!["trial 1: generator saturated: pacer-lag p99 was 12.3ms".to_owned()];
    let clipped = Percentiles {
        count: 200,
        clipped: 150,
        p50: Some(120e6),
        max: Some(150e6),
        ..Percentiles::default()
    };
    saturated.response_us = Some(PerOutcome { granted: Some(clipped), ..PerOutcome::default() });
    let mut senseless = CellResult::empty(head("redis-lua", "closed", "fence"), Vec::new());
    senseless.head.applicable = false;
    senseless.head.reason = Some("redis-lua has no tokens for a fence".to_owned());
    vec![
        measured("redis-lua", "closed", 0, Verdict::Valid),
        measured("redis-set-nx", "closed", 7, Verdict::Violated),
        lost,
        senseless,
        saturated,
    ]
}

pub(crate) fn run() -> RunResult {
    RunResult {
        format: FORMAT,
        run: "2026-12-01-flash-sale-1a2b".to_owned(),
        trusted: true,
        partial: true,
        environment: json!({
            "lockbench": "0.1.0", "kernel": "linux 6.1.0", "cpu_model": "Example CPU", "cpu_count": 2,
            "load_before": 0.25, "shared_cores": true, "servers": { "redis": { "version": "7.0.15" } },
        }),
        scenario: json!({ "name": "flash sale, four locks", "seed": 42 }),
        cells: cells(),
        controls: vec![
            ControlResult {
                workload: "seckill".to_owned(),
                control: "control-none".to_owned(),
                verdict: Some(Verdict::Violated),
                expected: Verdict::Violated,
                reason: None,
            },
            ControlResult {
                workload: "seckill".to_owned(),
                control: "control-witness".to_owned(),
                verdict: Some(Verdict::Unknown),
                expected: Verdict::Valid,
                reason: Some("no exposures".to_owned()),
            },
        ],
        gates: vec![
            GateResult {
                rule: "violations == 0 where fault == none".to_owned(),
                outcome: GateOutcome::Fail,
                cells: vec!["a".to_owned(), "b".to_owned()],
                details: vec![GateDetail {
                    cell: "b".to_owned(),
                    outcome: GateOutcome::Fail,
                    measured: "7".to_owned(),
                    allowed: "== 0".to_owned(),
                }],
            },
            GateResult {
                rule: "recovery.max < 5s".to_owned(),
                outcome: GateOutcome::NoData,
                cells: Vec::new(),
                details: Vec::new(),
            },
        ],
        warnings: vec!["redis runs without persistence".to_owned()],
    }
}
