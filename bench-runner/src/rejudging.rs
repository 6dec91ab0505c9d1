//! A saved run judged again, from its files alone.

use anyhow::{Context, Result};
use results::cell::CellHead;
use results::cell_summary::cell_result;
use results::judgement::{self, Judgement, RESULT_FILE};
use results::run::{CellResult, RunResult};
use results::verdict::ViolationKind;
use serde_json::Value;

use crate::judging::{control_result, evaluate, judge};
use crate::saved_run::{SavedRun, SavedTrial};

/// The result of `saved`, made anew from the recordings of its trials. Each trial's result and the run's figures,
/// controls and gates are replaced; its environment, scenario and warnings stay as they are in `before`.
///
/// A trial whose histories were dropped after the first judgement keeps that judgement.
pub fn rejudge(saved: &SavedRun, before: RunResult) -> Result<RunResult> {
    let cores = before.environment.get("cpu_count").and_then(Value::as_f64);
    let mut run = before;
    run.cells = cells(saved, "cells", "", cores)?;
    let controls = cells(saved, "controls", "/cell", cores)?;
    let guilty = plan_list(saved, "controls").map(|control| control["guilty"] == Value::Bool(true));
    run.controls = controls
        .iter()
        .zip(guilty)
        .map(|(cell, guilty)| control_result(&cell.head, guilty, Some(cell)))
        .collect();
    run.trusted = run.controls.iter().all(results::run::ControlResult::right);
    run.gates = evaluate(plan_list(saved, "gates").filter_map(Value::as_str), &run.cells)?;
    Ok(run)
}

fn plan_list<'a>(saved: &'a SavedRun, list: &str) -> impl Iterator<Item = &'a Value> {
    saved.plan().get(list).and_then(Value::as_array).into_iter().flatten()
}

/// Every cell of a list of the plan, in its order; those without a trial are empty.
fn cells(saved: &SavedRun, list: &str, at: &str, cores: Option<f64>) -> Result<Vec<CellResult>> {
    plan_list(saved, list).map(|planned| cell(saved, planned, at, cores)).collect()
}

fn cell(saved: &SavedRun, planned: &Value, at: &str, cores: Option<f64>) -> Result<CellResult> {
    let part = |name: &str| planned.pointer(&format!("{at}/{name}")).cloned().unwrap_or_default();
    let head: CellHead = serde_json::from_value(part("head")).context("a cell of plan.json")?;
    let counted: Vec<ViolationKind> =
        serde_json::from_value(part("counted")).context("a cell of plan.json")?;
    let trials: Vec<Judgement> =
        saved.trials_of(&head.id)?.iter().map(again).collect::<Result<_>>()?;
    if trials.is_empty() {
        return Ok(CellResult::empty(head, counted));
    }
    Ok(cell_result(&head, &counted, cores, &trials))
}

fn again(trial: &SavedTrial) -> Result<Judgement> {
    let mut histories = trial.facts.agents.iter().flat_map(|agent| &agent.histories);
    let dropped = !histories.all(|name| trial.folder.join(name).exists());
    if dropped && trial.folder.join(RESULT_FILE).exists() {
        return judgement::load(&trial.folder)
            .with_context(|| format!("could not read {}", trial.folder.display()));
    }
    judge(&trial.folder)
}
