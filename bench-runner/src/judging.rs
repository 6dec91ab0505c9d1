//! From saved trials to the result of the run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use results::assemble::assemble;
use results::checker::Aftermath;
use results::checkers::all_findings;
use results::trial::TrialFacts;
use results::verdict::{Finding, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::run_directory::{Journal, RunDirectory, read_json, write_json};
use crate::schedule::Job;

/// The result of one trial: `result.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Judged {
    findings: Vec<Finding>,
    counted: Vec<results::verdict::ViolationKind>,
    partial: Option<String>,
}

impl Judged {
    /// The result saved in a trial's folder, if there is one.
    pub fn saved(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("result.json");
        if path.exists() { read_json(&path).map(Some) } else { Ok(None) }
    }

    /// Judges what is saved in a trial's folder; the result is saved too if the trial is `whole`.
    pub fn of(folder: &Path, whole: bool) -> Result<Self> {
        let facts: TrialFacts = read_json(&folder.join("trial.json"))?;
        let aftermath: Aftermath = read_json(&folder.join("aftermath.json"))?;
        let history = assemble(folder, &facts, aftermath, &mut |_| ())
            .with_context(|| format!("could not judge {}", folder.display()))?;
        let findings = all_findings(&facts.checks, &history);
        let judged = Self { findings, counted: facts.counted, partial: facts.partial };
        if whole {
            write_json(&folder.join("result.json"), &judged)?;
        }
        Ok(judged)
    }

    /// Violations of the counted kinds.
    pub fn violations(&self) -> u64 {
        let counted = self.findings.iter().filter(|found| self.counted.contains(&found.kind));
        counted.map(|found| found.count).sum()
    }

    fn verdict(&self) -> Verdict {
        let counted = self.findings.iter().filter(|found| self.counted.contains(&found.kind));
        counted.map(|found| found.verdict).max().unwrap_or(Verdict::Unknown)
    }

    /// Removes the histories of a trial without violations.
    pub fn drop_histories(&self, folder: &Path, facts: &TrialFacts) -> Result<()> {
        if self.findings.iter().any(|found| found.count > 0) {
            return Ok(());
        }
        for name in facts.agents.iter().flat_map(|agent| &agent.histories) {
            let path = folder.join(name);
            if path.exists() {
                std::fs::remove_file(&path)
                    .with_context(|| format!("could not remove {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// All results so far.
#[derive(Debug)]
pub struct Ledger<'a> {
    plan: &'a Plan,
    run: String,
    environment: Value,
    trials: BTreeMap<String, Vec<Judged>>,
}

impl<'a> Ledger<'a> {
    /// Without any result yet.
    pub fn new(plan: &'a Plan, journal: &Journal, environment: &Environment) -> Result<Self> {
        let environment = serde_json::to_value(environment)?;
        Ok(Self { plan, run: journal.run.clone(), environment, trials: BTreeMap::new() })
    }

    /// One more result.
    pub fn add(&mut self, job: &Job<'_>, judged: Judged) {
        self.trials.entry(job.cell.head.id.clone()).or_default().push(judged);
    }

    /// Writes what there is as run.json, marked partial.
    pub fn save(&self, directory: &RunDirectory) -> Result<(), Failure> {
        directory.write_json("run.json", &self.run_json(true))
    }

    fn verdict(&self, cell: &str) -> Option<Verdict> {
        self.trials.get(cell)?.iter().map(Judged::verdict).max()
    }

    fn run_json(&self, partial: bool) -> Value {
        let cells: Vec<Value> = self
            .plan
            .cells
            .iter()
            .map(|cell| json!({"id": cell.head.id, "verdict": self.verdict(&cell.head.id)}))
            .collect();
        let controls: Vec<Value> = self
            .plan
            .controls
            .iter()
            .map(|control| {
                let expected = if control.guilty { Verdict::Violated } else { Verdict::Valid };
                json!({"workload": control.cell.head.workload, "control": control.cell.head.strategy,
                    "verdict": self.verdict(&control.cell.head.id), "expected": expected})
            })
            .collect();
        let partial =
            partial || self.trials.values().flatten().any(|judged| judged.partial.is_some());
        json!({"format": 1, "run": self.run, "partial": partial, "environment": self.environment,
            "scenario": self.plan.effective, "cells": cells, "controls": controls, "trusted": self.wrong_controls() == 0})
    }

    fn wrong_controls(&self) -> usize {
        let wrong = self.plan.controls.iter().filter(|control| {
            let expected = if control.guilty { Verdict::Violated } else { Verdict::Valid };
            self.verdict(&control.cell.head.id).is_some_and(|verdict| verdict != expected)
        });
        wrong.count()
    }

    /// Writes the final run.json, prints the matrix, and says how the run ended.
    ///
    /// `whole`: every trial was carried out.
    pub fn close(&self, directory: &RunDirectory, whole: bool) -> Result<Exit, Failure> {
        let run = self.run_json(!whole);
        directory.write_json("run.json", &run)?;
        crate::terminal::print(&format!("{run:#}\n"))?;
        let partial = run["partial"] == json!(true);
        let mut exit = if partial { Exit::Partial } else { Exit::Pass };
        if self.wrong_controls() > 0 {
            exit = exit.or(Exit::Environment);
        }
        Ok(exit)
    }
}
