//! Every report over one fixed result, and over one full of hostile names.

use serde_json::json;

use super::REPORTERS;
use crate::cell::CellHead;
use crate::percentiles::Percentiles;
use crate::run::{
    CellResult, ControlResult, Cost, Fairness, FindingSummary, GateDetail, GateOutcome, GateResult,
    PerOutcome, RunResult, Saturation, Spread,
};
use crate::verdict::{Verdict, ViolationKind};

fn head(strategy: &str, guard: &str) -> CellHead {
    CellHead {
        id: format!("{strategy}.seckill.closed.naive.{guard}.none"),
        strategy: strategy.to_owned(),
        workload: "seckill".to_owned(),
        load: "closed".to_owned(),
        caller: "naive".to_owned(),
        guard: guard.to_owned(),
        fault: "none".to_owned(),
        options: json!({}),
        applicable: true,
        reason: None,
    }
}

fn finding(count: u64, verdict: Verdict) -> FindingSummary {
    FindingSummary {
        count,
        within_lease: 0,
        past_lease: count,
        exposures: 12_345,
        upper_bound: (count == 0).then_some(3.0 / 12_345.0),
        verdict,
        reason: None,
        examples: Vec::new(),
    }
}

fn measured(head: CellHead, verdict: Verdict, count: u64) -> CellResult {
    let percentiles = Percentiles {
        count: 990,
        p50: Some(4_200.0),
        p99: Some(18_000.0),
        ..Percentiles::default()
    };
    let mut cell = CellResult::empty(head, vec![ViolationKind::MutualExclusion]);
    cell.verdict = Some(verdict);
    cell.violations.insert(ViolationKind::MutualExclusion, Some(finding(count, verdict)));
    cell.damage = Some(count);
    cell.trials = 3;
    cell.outcomes = Some(PerOutcome { granted: 990, denied: 10, ..PerOutcome::default() });
    cell.throughput = Some(Spread {
        median: 495.0,
        min: 480.5,
        max: 502.0,
        per_trial: vec![480.5, 495.0, 502.0],
    });
    cell.goodput = Some(0.987);
    cell.response_us = Some(PerOutcome { granted: Some(percentiles), ..PerOutcome::default() });
    cell.wait_us = Some(PerOutcome { granted: Some(percentiles), ..PerOutcome::default() });
    cell.hand_over_us = Some(percentiles);
    cell.fairness = Some(Fairness { jain: Some(0.93), overtakes: Some(4), longest_wait_us: None });
    cell.cost = Some(Cost { commands_per_grant: Some(3.25), ..Cost::default() });
    cell.saturated = Some(Saturation { generator: Some(count > 0), witness: Some(false) });
    cell
}

fn sample() -> RunResult {
    let mut senseless = CellResult::empty(head("redis-lua", "atomic"), Vec::new());
    senseless.head.applicable = false;
    senseless.head.reason = Some("the register decides alone".to_owned());
    RunResult {
        format: 1,
        run: "0123abcd".to_owned(),
        trusted: false,
        partial: true,
        environment: json!({ "cpu": "two cores", "redis": { "version": "7.0.15" } }),
        scenario: json!({ "name": "sample" }),
        cells: vec![
            measured(head("redis-lua", "none"), Verdict::Valid, 0),
            measured(head("redis-set-nx", "none"), Verdict::Violated, 17),
            senseless,
        ],
        controls: vec![ControlResult {
            workload: "seckill".to_owned(),
            control: "control-none".to_owned(),
            verdict: Some(Verdict::Valid),
            expected: Verdict::Violated,
            reason: Some("no contended grant".to_owned()),
        }],
        gates: vec![GateResult {
            rule: "violations == 0".to_owned(),
            outcome: GateOutcome::Fail,
            cells: vec!["redis-set-nx.seckill.closed.naive.none.none".to_owned()],
            details: vec![GateDetail {
                cell: "redis-set-nx.seckill.closed.naive.none.none".to_owned(),
                outcome: GateOutcome::Fail,
                measured: "17".to_owned(),
                allowed: "== 0".to_owned(),
            }],
        }],
        warnings: vec!["redis runs without persistence".to_owned()],
    }
}

fn rendered(name: &str, run: &RunResult) -> String {
    let mut out = Vec::new();
    super::find(name).unwrap().reporter.render(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_report_shows_the_sample_as_before() {
    for entry in REPORTERS {
        insta::assert_snapshot!(format!("sample-{}", entry.name), rendered(entry.name, &sample()));
    }
}

#[test]
fn hostile_names_stay_text_in_every_report() {
    let hostile = "\u{1b}[2J<img src=x onerror=alert(1)>|</script>`\u{202e}\u{2028}\n=1+1";
    let mut run = sample();
    for cell in &mut run.cells {
        cell.head.workload = hostile.to_owned();
        cell.head.strategy = hostile.to_owned();
        cell.head.id = hostile.to_owned();
        cell.notes.push(hostile.to_owned());
    }
    run.gates[0].rule = hostile.to_owned();
    run.controls[0].reason = Some(hostile.to_owned());
    run.environment = json!({ "kernel": hostile });
    for entry in REPORTERS {
        let text = rendered(entry.name, &run);
        assert!(!text.contains('\u{1b}'), "{}: an escape sequence came through", entry.name);
        if entry.name != "json" {
            assert!(
                !text.contains(['\u{202e}', '\u{2028}']),
                "{}: invisible characters",
                entry.name
            );
        }
        if entry.name == "markdown" {
            assert!(!text.contains("<img"), "markup came through");
        }
    }
}

#[test]
fn a_run_without_cells_is_drawn_by_every_report() {
    let run = RunResult { cells: Vec::new(), ..sample() };
    for entry in REPORTERS {
        rendered(entry.name, &run);
    }
}
