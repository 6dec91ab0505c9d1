//! From saved trials to the result of the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use results::cell::CellHead;
use results::cell_summary::cell_result;
use results::gate::Gate;
use results::judgement::{self, Judgement, RESULT_FILE};
use results::run::{CellResult, ControlResult, FORMAT, GateOutcome, GateResult, RunResult};
use results::run_file;
use results::trial::TrialFacts;
use results::verdict::Verdict;
use serde_json::Value;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plan::{Cell, Control, Plan};
use crate::run_directory::Journal;

/// The result of a run within its folder.
pub const RUN_FILE: &str = "run.json";

/// The result of a trial that needs not be carried out again, if its folder holds one.
pub fn finished(folder: &Path) -> Result<Option<Judgement>> {
    if !folder.join(RESULT_FILE).exists() {
        return Ok(None);
    }
    let judgement = judgement::load(folder)?;
    Ok(judgement.result.partial.is_none().then_some(judgement))
}

/// Judges what is saved in a trial's folder, and saves the result beside it.
pub fn judge(folder: &Path) -> Result<Judgement> {
    let judgement = judgement::judge(folder)
        .with_context(|| format!("could not judge {}", folder.display()))?;
    judgement::save(folder, &judgement)
        .with_context(|| format!("could not save the result of {}", folder.display()))?;
    Ok(judgement)
}

/// [`judge`] on another thread: it is work for the processor alone, and a signal must not wait for it.
pub async fn judge_aside(folder: &Path) -> Result<Judgement> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || judge(&folder)).await.context("the judge failed")?
}

/// Violations of the kinds that count for `cell`.
pub fn violations(judgement: &Judgement, cell: &Cell) -> u64 {
    let findings = judgement.result.findings.iter();
    findings.filter(|found| cell.counted.contains(&found.kind)).map(|found| found.count).sum()
}

/// Removes the histories of a whole trial without any violation.
pub fn drop_clean_histories(
    folder: &Path,
    facts: &TrialFacts,
    judgement: &Judgement,
) -> Result<()> {
    let result = &judgement.result;
    let clean = result.findings.iter().all(|found| found.verdict == Verdict::Valid);
    if !clean || result.partial.is_some() || result.imbalance.is_some() {
        return Ok(());
    }
    for name in facts.agents.iter().flat_map(|agent| &agent.histories) {
        let path = folder.join(name);
        fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))?;
    }
    Ok(())
}

/// The results so far: those of each cell are kept merged, those of its trials stay on disk.
#[derive(Debug)]
pub struct Ledger<'a> {
    plan: &'a Plan,
    run: String,
    environment: Value,
    warnings: Vec<String>,
    cores: Option<f64>,
    trials: BTreeMap<&'a str, Vec<PathBuf>>,
    cells: BTreeMap<&'a str, CellResult>,
    troubles: Vec<String>,
    imbalance: Option<String>,
}

impl<'a> Ledger<'a> {
    /// Without any result yet.
    pub fn new(plan: &'a Plan, journal: &Journal, environment: &Environment) -> Result<Self> {
        Ok(Self {
            plan,
            run: journal.run.clone(),
            warnings: [plan.warnings.clone(), environment.warnings.clone()].concat(),
            cores: environment.cpu_count.map(|cores| cores as f64),
            environment: serde_json::to_value(environment)?,
            trials: BTreeMap::new(),
            cells: BTreeMap::new(),
            troubles: Vec::new(),
            imbalance: None,
        })
    }

    /// One more trial, the result of which is saved in `folder`.
    pub fn add(&mut self, cell: &'a Cell, folder: &Path, judgement: Judgement) -> Result<()> {
        let result = &judgement.result;
        let name = format!("{}, trial {}", result.cell, result.trial);
        self.troubles.extend(result.partial.iter().map(|why| format!("{name}: {why}")));
        if self.imbalance.is_none() {
            self.imbalance = result.imbalance.as_ref().map(|what| format!("{name}: {what}"));
        }
        let id = cell.head.id.as_str();
        let folders = self.trials.entry(id).or_default();
        let mut trials = Vec::with_capacity(folders.len() + 1);
        for folder in folders.iter() {
            trials.push(judgement::load(folder)?);
        }
        folders.push(folder.to_owned());
        trials.push(judgement);
        trials.sort_by_key(|trial| trial.result.trial);
        self.cells.insert(id, cell_result(&cell.head, &cell.counted, self.cores, &trials));
        Ok(())
    }

    /// Whether any cell of the matrix has a result.
    pub fn measured(&self) -> bool {
        self.plan.cells.iter().any(|cell| self.cells.contains_key(cell.head.id.as_str()))
    }

    /// Writes what there is as run.json, marked partial.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        write(path, &self.run_result(true)?)
    }

    /// Writes the last run.json and says how the run ended. `whole`: every trial was carried out.
    pub fn close(&self, path: &Path, whole: bool) -> Result<(RunResult, Exit), Failure> {
        let run = self.run_result(!whole || !self.troubles.is_empty())?;
        write(path, &run)?;
        let bug = if self.imbalance.is_some() { Exit::Internal } else { Exit::Pass };
        let exit = exit(&run).or(bug);
        Ok((run, exit))
    }

    fn run_result(&self, partial: bool) -> Result<RunResult> {
        let cells: Vec<CellResult> = self.plan.cells.iter().map(|cell| self.cell(cell)).collect();
        let controls: Vec<ControlResult> =
            self.plan.controls.iter().map(|control| self.control(control)).collect();
        let gates = evaluate(self.plan.gates.iter().map(String::as_str), &cells)?;
        let mut warnings = self.warnings.clone();
        warnings.extend(self.troubles.iter().cloned());
        warnings.extend(self.imbalance.iter().map(|what| format!("a bug of lockbench: {what}")));
        Ok(RunResult {
            format: FORMAT,
            run: self.run.clone(),
            trusted: controls.iter().all(ControlResult::right) && self.imbalance.is_none(),
            partial,
            environment: self.environment.clone(),
            scenario: self.plan.effective.clone(),
            cells,
            controls,
            gates,
            warnings,
        })
    }

    fn cell(&self, cell: &Cell) -> CellResult {
        let merged = self.cells.get(cell.head.id.as_str()).cloned();
        merged.unwrap_or_else(|| CellResult::empty(cell.head.clone(), cell.counted.clone()))
    }

    fn control(&self, control: &Control) -> ControlResult {
        let head = &control.cell.head;
        control_result(head, control.guilty, self.cells.get(head.id.as_str()))
    }
}

fn write(path: &Path, run: &RunResult) -> Result<(), Failure> {
    let saved = run_file::save(path, run).context("could not save the result of the run");
    saved.map_err(Failure::from)
}

/// What became of a control, given what was measured of it.
pub fn control_result(head: &CellHead, guilty: bool, found: Option<&CellResult>) -> ControlResult {
    let verdict = found.and_then(|cell| cell.verdict);
    let expected = if guilty { Verdict::Violated } else { Verdict::Valid };
    ControlResult {
        workload: head.workload.clone(),
        control: head.strategy.clone(),
        verdict,
        expected,
        reason: found.filter(|_| verdict != Some(expected)).and_then(reason),
    }
}

/// Every rule, applied to `cells`.
pub fn evaluate<'a>(
    rules: impl IntoIterator<Item = &'a str>,
    cells: &[CellResult],
) -> Result<Vec<GateResult>> {
    let evaluate = |rule: &str| {
        let gate = Gate::parse(rule).with_context(|| format!("gate `{rule}`"))?;
        Ok(gate.evaluate(cells))
    };
    rules.into_iter().map(evaluate).collect()
}

/// What a result means to the caller of a command. A bug of ours is not in it.
pub fn exit(run: &RunResult) -> Exit {
    let mut exit = Exit::Pass;
    if run.partial {
        exit = exit.or(Exit::Partial);
    }
    // In a run in part, data that is missing is what "in part" means.
    let green =
        |outcome| outcome == GateOutcome::Pass || (run.partial && outcome == GateOutcome::NoData);
    if !run.gates.iter().all(|gate| green(gate.outcome)) {
        exit = exit.or(Exit::Gate);
    }
    // One that was not run gave no answer, and no wrong one.
    if run.controls.iter().any(|control| control.verdict.is_some() && !control.right()) {
        exit = exit.or(Exit::Environment);
    }
    exit
}

/// Why a control gave the wrong answer: what was found of the first kind that decided it.
fn reason(cell: &CellResult) -> Option<String> {
    let verdict = cell.verdict?;
    let findings = cell.counted.iter().filter_map(|kind| Some((kind, cell.finding(*kind)?)));
    let (kind, found) = findings.into_iter().find(|(_, found)| found.verdict == verdict)?;
    let why = found.reason.as_ref().or_else(|| found.examples.first());
    let why = why.map_or_else(|| format!("{} breaches", found.count), Clone::clone);
    Some(format!("{}: {why}", kind.name()))
}

/// What a run found out, for standard output: the matrix, where everything is, what to type next.
pub fn print(run: &RunResult, folder: &Path) -> Result<()> {
    let reporter = results::reporters::REPORTERS
        .first()
        .ok_or_else(|| anyhow!("this build has no reporter"))?;
    let mut text = Vec::new();
    reporter.reporter.render(run, &mut text)?;
    let shown = std::env::current_dir()
        .ok()
        .and_then(|here| folder.strip_prefix(here).ok())
        .unwrap_or(folder)
        .display();
    let text = String::from_utf8_lossy(&text);
    crate::terminal::print(&format!(
        "{text}\nsaved in {shown}\n  lockbench report {shown} --format markdown\n  lockbench history {shown} CELL\n"
    ))?;
    Ok(())
}
