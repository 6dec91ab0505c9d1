//! What stands around the matrix: whether to trust it, where it was measured, what the controls and gates said.

use serde_json::Value;

use crate::run::{ControlResult, GateOutcome, GateResult, RunResult};
use crate::wording;

/// Cells of a gate that are named.
const DETAILS_SHOWN: usize = 10;

/// Which run this is, and whether to believe it.
pub(crate) fn standing(run: &RunResult) -> Vec<String> {
    let name = run.scenario.get("name").and_then(Value::as_str).unwrap_or("no name");
    let mut lines = vec![format!("{name} (run {})", run.run)];
    if !run.trusted {
        lines.push(
            "UNTRUSTED: a control gave the wrong answer; believe nothing below until it is explained"
                .to_owned(),
        );
    }
    if run.partial {
        lines.push("PARTIAL: not everything that was planned was measured".to_owned());
    }
    lines
}

/// What it was measured on, on one line.
pub(crate) fn environment(run: &RunResult) -> String {
    let text = |path: &str| run.environment.pointer(path).and_then(Value::as_str);
    let mut parts = Vec::new();
    parts.extend(text("/lockbench").map(|version| format!("lockbench {version}")));
    let cores = run.environment.get("cpu_count").and_then(Value::as_u64);
    let model = text("/cpu_model");
    if cores.is_some() || model.is_some() {
        let cores = cores.map_or_else(|| "?".to_owned(), |cores| cores.to_string());
        parts.push(format!("{cores} cores ({})", model.unwrap_or("unknown processor")));
    }
    parts.extend(text("/kernel").map(str::to_owned));
    if let Some(servers) = run.environment.get("servers").and_then(Value::as_object) {
        for (name, server) in servers {
            let version =
                server.get("version").and_then(Value::as_str).unwrap_or("unknown version");
            parts.push(format!("{name} {version}"));
        }
    }
    if run.environment.get("shared_cores").and_then(Value::as_bool) == Some(true) {
        parts.push("load and servers share the cores".to_owned());
    }
    let load = run.environment.get("load_before").and_then(Value::as_f64);
    parts.extend(load.map(|load| format!("load {load:.2} before")));
    if parts.is_empty() { "environment: not recorded".to_owned() } else { parts.join(", ") }
}

/// What the controls said, on one line for those that were right, and one for each that was not.
pub(crate) fn controls(run: &RunResult) -> Vec<String> {
    if run.controls.is_empty() {
        return vec![
            "controls: none were run, so nothing shows that this run could see a violation"
                .to_owned(),
        ];
    }
    let right: Vec<String> =
        run.controls.iter().filter(|control| control.right()).map(answer).collect();
    let mut lines = Vec::new();
    if !right.is_empty() {
        lines.push(format!("controls: {}, as they must be", right.join(", ")));
    }
    for control in run.controls.iter().filter(|control| !control.right()) {
        let expected = wording::verdict(Some(control.expected));
        let reason = control.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!("WRONG control: {}, expected {expected}{reason}", answer(control)));
    }
    lines
}

fn answer(control: &ControlResult) -> String {
    let verdict = wording::verdict(control.verdict);
    format!("{} beside {} {verdict}", control.control, control.workload)
}

/// What became of a rule: one line, and one for each cell that does not pass.
pub(crate) fn gate(gate: &GateResult) -> Vec<String> {
    let answer = wording::gate(gate.outcome);
    let mut lines = vec![format!("{answer}: {} ({} cells)", gate.rule, gate.cells.len())];
    if gate.cells.is_empty() && gate.outcome == GateOutcome::NoData {
        lines.push("no cell that was measured is meant by it".to_owned());
    }
    for detail in gate.details.iter().take(DETAILS_SHOWN) {
        let outcome = wording::gate(detail.outcome);
        let (cell, measured, allowed) = (&detail.cell, &detail.measured, &detail.allowed);
        lines.push(format!("{outcome} in {cell}: {measured}, allowed {allowed}"));
    }
    if gate.details.len() > DETAILS_SHOWN {
        lines.push(format!("and {} cells more", gate.details.len() - DETAILS_SHOWN));
    }
    lines
}

/// How to read the matrix.
pub(crate) const LEGEND: &[&str] = &[
    "violations / exposures: breaches of the kinds that count, and how often they could have happened; (<x) is the bound at 95 % confidence if there were none",
    "grants/s: median [min..max] of the trials; goodput: share of the offered operations granted within the service level",
    "times are those of granted operations; few: not enough samples for that percentile; no data: not measured; –: makes no sense, see its footnote",
];
