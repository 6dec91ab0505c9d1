//! What stands around the matrix in every human-readable report: stamps, remarks, controls, gates, environment.

use serde_json::Value;

use crate::matrix;
use crate::run::{GateOutcome, RunResult};
use crate::verdict::Verdict;

/// A heading with its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What the lines are about.
    pub title: &'static str,
    /// One fact each.
    pub lines: Vec<String>,
}

/// Words that must be read before any figure; empty for a run that is whole and trusted.
pub fn stamps(run: &RunResult) -> Vec<String> {
    let mut stamps = Vec::new();
    if !run.trusted {
        stamps.push(
            "UNTRUSTED: a control gave the wrong answer, so no verdict of this run counts"
                .to_owned(),
        );
    }
    if run.partial {
        stamps.push("PARTIAL: not everything that was planned was measured".to_owned());
    }
    stamps
}

/// The sections below the matrix; those without lines are left out.
pub fn sections(run: &RunResult) -> Vec<Section> {
    [
        Section { title: "Remarks", lines: remarks(run) },
        Section { title: "Controls", lines: controls(run) },
        Section { title: "Gates", lines: gates(run) },
        Section { title: "Warnings", lines: run.warnings.clone() },
        Section { title: "Environment", lines: environment(run) },
        Section { title: "How to read it", lines: reading(run) },
    ]
    .into_iter()
    .filter(|section| !section.lines.is_empty())
    .collect()
}

fn remarks(run: &RunResult) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in &run.cells {
        for remark in matrix::remarks(cell) {
            match lines.iter_mut().find(|(line, _)| *line == remark) {
                Some((_, cells)) => cells.push(&cell.head.id),
                None => lines.push((remark, vec![&cell.head.id])),
            }
        }
    }
    lines.into_iter().map(|(remark, cells)| format!("{remark} [{}]", cells.join(", "))).collect()
}

fn controls(run: &RunResult) -> Vec<String> {
    let word = |verdict: Option<Verdict>| match verdict {
        Some(Verdict::Valid) => "cleared",
        Some(Verdict::Violated) => "convicted",
        Some(Verdict::Unknown) => "unknown",
        None => "not run",
    };
    let line = |control: &crate::run::ControlResult| {
        let found = word(control.verdict);
        if control.right() {
            return format!("{} beside {}: {found}, as it must be", control.control, control.workload);
        }
        let reason = control.reason.as_deref().unwrap_or("no reason given");
        format!("WRONG: {} beside {}: {found} ({reason})", control.control, control.workload)
    };
    run.controls.iter().map(line).collect()
}

fn gates(run: &RunResult) -> Vec<String> {
    let mut lines = Vec::new();
    for gate in &run.gates {
        let word = match gate.outcome {
            GateOutcome::Pass => "pass   ",
            GateOutcome::NoData => "NO DATA",
            GateOutcome::Fail => "FAIL   ",
        };
        lines.push(format!("{word} {}", gate.rule));
        lines.extend(gate.details.iter().map(|detail| {
            format!("        {}: measured {}, allowed {}", detail.cell, detail.measured, detail.allowed)
        }));
        if gate.cells.is_empty() {
            lines.push("        no cell of this run matches the rule".to_owned());
        }
    }
    lines
}

fn environment(run: &RunResult) -> Vec<String> {
    let Value::Object(facts) = &run.environment else { return Vec::new() };
    facts
        .iter()
        .filter_map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return None,
            };
            Some(format!("{}: {text}", name.replace('_', " ")))
        })
        .collect()
}

fn reading(run: &RunResult) -> Vec<String> {
    let mut lines = vec![
        "violations / chances: how often a counted promise was broken, of how often it could have been; (< x) is an upper bound with 95 % confidence".to_owned(),
    ];
    if run.cells.iter().any(|cell| cell.head.load == "closed") {
        lines.push(
            "under a closed load `response` is the time of service: callers wait for each other before they ask again"
                .to_owned(),
        );
    }
    if run.cells.iter().any(|cell| cell.verdict == Some(Verdict::Violated)) {
        lines.push(
            "the events behind a cell: lockbench history RUN CELL; the breaches in words: run.json, violations.*.examples"
                .to_owned(),
        );
    }
    lines
}
