use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::cell::CellHead;
use crate::percentiles::Percentiles;
use crate::run::{FindingSummary, PerOutcome, Saturation, Spread};
use crate::verdict::{Verdict, ViolationKind};

fn cell(id: &str, fault: &str) -> CellResult {
    let head = CellHead {
        id: id.to_owned(),
        strategy: "redis-lua".to_owned(),
        workload: "seckill".to_owned(),
        load: "constant".to_owned(),
        caller: "naive".to_owned(),
        guard: "none".to_owned(),
        fault: fault.to_owned(),
        options: Value::Null,
        applicable: true,
        reason: None,
    };
    let mut cell = CellResult::empty(head, vec![ViolationKind::MutualExclusion]);
    find(&mut cell, 0, Verdict::Valid);
    cell.throughput = Some(Spread {
        median: 900.0,
        min: 800.0,
        max: 950.0,
        per_trial: vec![800.0, 900.0, 950.0],
    });
    cell.response_us = Some(PerOutcome {
        granted: Some(Percentiles { count: 500, p99: Some(70_000.0), ..Percentiles::default() }),
        ..PerOutcome::default()
    });
    cell
}

fn find(cell: &mut CellResult, count: u64, verdict: Verdict) {
    let finding = FindingSummary {
        count,
        within_lease: count,
        past_lease: 0,
        exposures: 1_234,
        upper_bound: None,
        verdict,
        reason: (verdict == Verdict::Unknown).then(|| "agent 1 was lost".to_owned()),
        examples: Vec::new(),
    };
    cell.violations.insert(ViolationKind::MutualExclusion, Some(finding));
}

fn outcome(rule: &str, cells: &[CellResult]) -> GateOutcome {
    Gate::parse(rule).unwrap().evaluate(cells).outcome
}

#[test]
fn rules_of_the_contract_are_read() {
    for rule in [
        "violations == 0 where fault == none",
        "response.p99 < 80ms where load == constant",
        "damage == 0 where guard == fence",
        "recovery.max<=5s",
        "throughput >= 800/s where strategy == redis-lua and workload == seckill",
        "goodput >= 95%",
        "error-share < 0.001",
        "cost.commands <= 2.5",
        "oversell == 0 where caller == naive and exposures >= 1000",
        "  hand-over.p50   >  200us ",
    ] {
        Gate::parse(rule).unwrap_or_else(|error| panic!("{rule}: {error}"));
    }
}

#[test]
fn complaints_say_where_and_what_instead() {
    let told = |rule| {
        let error = Gate::parse(rule).unwrap_err();
        (error.offset, error.to_string())
    };
    assert_eq!(
        told("violation == 0"),
        (0, "unknown metric `violation`; did you mean `violations`?".into())
    );
    assert_eq!(
        told("response.p99 < 80"),
        (15, "`80` is not a duration with a unit; write it like 80ms, 1.5s or 200us".into())
    );
    assert_eq!(
        told("violations = 0"),
        (11, "expected a comparison, found `=`; write one of <, <=, ==, >=, >".into())
    );
    assert_eq!(
        told("violations == 0 where falt == none"),
        (22, "unknown field `falt`; did you mean `fault`?".into())
    );
    assert_eq!(told("violations == 0 when fault == none").0, 16);
    assert_eq!(told("violations == 0 where fault == none where guard == none").0, 36);
    assert_eq!(told("violations == 0 where"), (21, "a condition is missing".into()));
    assert_eq!(told("").1, "a metric is missing");
    assert_eq!(told("goodput > 120%").0, 10);
    assert_eq!(told("violations == 0.5").0, 14);
    assert_eq!(told("throughput > -1").0, 13);
    assert_eq!(told("violations == 0 where exposures < 5").0, 31);
}

#[test]
fn every_metric_has_a_name_that_is_read() {
    for name in Metric::names() {
        assert!(Metric::named(&name).is_some(), "{name}");
    }
}

#[test]
fn kept_and_broken_rules() {
    let mut bad = cell("b", "pause-client");
    find(&mut bad, 3, Verdict::Violated);
    let cells = [cell("a", "none"), bad];
    assert_eq!(outcome("violations == 0 where fault == none", &cells), GateOutcome::Pass);
    assert_eq!(outcome("violations == 0", &cells), GateOutcome::Fail);
    assert_eq!(outcome("response.p99 < 80ms", &cells), GateOutcome::Pass);
    assert_eq!(outcome("response.p99 < 70ms", &cells), GateOutcome::Fail);
    assert_eq!(outcome("throughput >= 0.9", &cells), GateOutcome::Pass);
    let result = Gate::parse("violations == 0").unwrap().evaluate(&cells);
    assert_eq!(result.cells, ["a", "b"]);
    assert_eq!(result.details.len(), 1);
    assert_eq!((&*result.details[0].measured, &*result.details[0].allowed), ("3", "== 0"));
}

#[test]
fn what_was_not_measured_never_passes() {
    let cells = [cell("a", "none")];
    for rule in
        ["response.p999 < 1s", "recovery.max < 1s", "goodput > 0%", "oversell == 0", "damage == 0"]
    {
        assert_eq!(outcome(rule, &cells), GateOutcome::NoData, "{rule}");
    }
    assert_eq!(outcome("violations == 0", &[]), GateOutcome::NoData);
    assert_eq!(outcome("violations == 0 where fault == nothing", &cells), GateOutcome::NoData);
}

#[test]
fn an_unknown_verdict_never_passes() {
    let mut unknown = cell("a", "none");
    find(&mut unknown, 0, Verdict::Unknown);
    let result = Gate::parse("violations == 0").unwrap().evaluate(std::slice::from_ref(&unknown));
    assert_eq!(result.outcome, GateOutcome::NoData);
    assert_eq!(result.details[0].measured, "mutual-exclusion is unknown: agent 1 was lost");
    assert_eq!(outcome("violations >= 1", &[unknown]), GateOutcome::NoData);
}

#[test]
fn an_unjudged_counted_kind_never_passes() {
    let mut cell = cell("a", "none");
    cell.counted.push(ViolationKind::Leak);
    assert_eq!(outcome("violations == 0", &[cell.clone()]), GateOutcome::NoData);
    find(&mut cell, 1, Verdict::Violated);
    assert_eq!(outcome("violations == 0", &[cell]), GateOutcome::Fail);
}

#[test]
fn too_few_exposures_are_no_data() {
    let cells = [cell("a", "none")];
    assert_eq!(outcome("violations == 0 where exposures >= 1234", &cells), GateOutcome::Pass);
    assert_eq!(outcome("violations == 0 where exposures >= 1235", &cells), GateOutcome::NoData);
}

#[test]
fn latencies_of_a_saturated_generator_are_no_data() {
    let mut saturated = cell("a", "none");
    saturated.saturated = Some(Saturation { generator: Some(true), witness: None });
    assert_eq!(outcome("response.p99 < 80ms", &[saturated.clone()]), GateOutcome::NoData);
    assert_eq!(outcome("throughput > 1", &[saturated]), GateOutcome::Pass);
}

#[test]
fn cells_that_make_no_sense_are_left_out() {
    let mut senseless = cell("a", "none");
    senseless.head.applicable = false;
    senseless.violations = BTreeMap::new();
    assert_eq!(outcome("violations == 0", std::slice::from_ref(&senseless)), GateOutcome::NoData);
    assert_eq!(outcome("violations == 0", &[senseless, cell("b", "none")]), GateOutcome::Pass);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        if let Err(error) = Gate::parse(&text) {
            prop_assert!(error.offset <= text.len());
            prop_assert!(text.is_char_boundary(error.offset));
        }
    }

    #[test]
    fn near_rules_are_read_or_refused(
        text in "(violations|response\\.p99|damage|µ) ?(<|<=|==|>|=) ?[0-9.]{0,4}(ms|%|/s|)( where [a-z]{0,8} == é?)?"
    ) {
        if let Err(error) = Gate::parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset));
        }
    }
}
