//! From a scenario to a plan, or to everything that is wrong with it.

pub mod cells;
pub mod controls;
pub mod duplicates;
pub mod effective;
pub mod entries;
pub mod expansion;
pub mod names;
pub mod pairs;
pub mod sense;

use std::time::Duration;

use results::gate::{Gate, GateError};
use serde_json::Value;

use crate::complaint::{Complaint, Place};
use crate::plan::{Backends, Control, Plan, RedisBackend};
use crate::scenario::axes::WantedLoad;
use crate::scenario::backends::MANAGED;
use crate::scenario::fields::Placed;
use crate::scenario::options::Yardsticks;
use crate::scenario::values::show;
use crate::scenario::{DEFAULT_GATE, Scenario};
use expansion::{Matrix, expand, too_many};
use pairs::{Pair, pair};

/// What a trial takes besides its window, as a guess: connecting, preparing, draining, judging.
pub const OVERHEAD: Duration = Duration::from_millis(900);

impl Plan {
    /// The plan of `scenario`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, sorted by place.
    pub fn from_scenario(scenario: &Scenario) -> Result<Self, Vec<Complaint>> {
        let mut complaints = scenario.complaints.clone();
        let plan = draft(scenario, &mut complaints);
        complaints.sort_by_key(|complaint| complaint.place);
        complaints.dedup();
        match plan {
            Some(plan) if complaints.is_empty() => Ok(plan),
            _ => Err(complaints),
        }
    }

    /// How long the run takes, controls included; a guess.
    pub fn duration(&self) -> Duration {
        let cells = self.cells.iter().filter(|cell| cell.head.applicable).count();
        let trials = u32::try_from(cells).unwrap_or(u32::MAX).saturating_mul(self.trials);
        let controls = u32::try_from(self.controls.len()).unwrap_or(u32::MAX);
        (self.warmup + self.measure + OVERHEAD).saturating_mul(trials).saturating_add(
            (Control::WARMUP + Control::MEASURE + OVERHEAD).saturating_mul(controls),
        )
    }

    /// Bytes of history foreseen for the whole run.
    pub fn history_bytes(&self) -> u64 {
        let cells = self.cells.iter().filter(|cell| cell.head.applicable);
        let cells: u64 = cells.map(|cell| cell.history_bytes).sum();
        let controls: u64 = self.controls.iter().map(|control| control.cell.history_bytes).sum();
        cells.saturating_mul(u64::from(self.trials)).saturating_add(controls)
    }
}

fn draft(scenario: &Scenario, complaints: &mut Vec<Complaint>) -> Option<Plan> {
    if let Some(complaint) = too_many(scenario) {
        complaints.push(complaint);
        return None;
    }
    let pairs = all_pairs(scenario, complaints);
    complaints.extend(duplicates::duplicates(scenario, &pairs));
    let matrix = expand(scenario, &pairs, complaints);
    let controls = controls_of(scenario, &pairs, complaints);
    let gates = gates(scenario, complaints);
    ceilings(scenario, complaints);
    let name = scenario.name.as_ref()?;
    if name.value.trim().is_empty() {
        complaints.push(Complaint::at(name.place, "the name is empty"));
    }
    let mut plan = Plan {
        name: name.value.clone(),
        slug: names::slug(&name.value),
        seed: scenario.seed,
        prefix: scenario.prefix.clone(),
        warmup: scenario.warmup,
        measure: scenario.measure,
        trials: scenario.trials,
        keep: scenario.keep,
        slo_response: scenario.slo_response,
        warnings: warnings(scenario, &pairs, &matrix),
        backends: backends(scenario, &matrix),
        cells: matrix.cells,
        controls,
        gates,
        effective: Value::Null,
    };
    plan.effective = effective::effective(scenario, &plan, &pairs);
    Some(plan)
}

/// Every strategy under every workload. Without the other axis each is built alone, for the sake of its complaints.
fn all_pairs(scenario: &Scenario, complaints: &mut Vec<Complaint>) -> Vec<Vec<Option<Pair>>> {
    let alone =
        Yardsticks { lease: Some(Duration::from_secs(1)), work: Some(Duration::from_secs(1)) };
    if scenario.workloads.is_empty() {
        for wanted in &scenario.strategies {
            let Some(entry) = strategies::catalog::find(wanted.name) else { continue };
            entries::build(wanted, alone, entry.build, complaints);
        }
    }
    if scenario.strategies.is_empty() {
        for wanted in &scenario.workloads {
            let Some(entry) = workloads::catalog::find(wanted.name) else { continue };
            entries::build(wanted, alone, entry.build, complaints);
        }
    }
    let row = |strategy, complaints: &mut Vec<Complaint>| {
        scenario
            .workloads
            .iter()
            .map(|workload| pair(scenario, strategy, workload, complaints))
            .collect()
    };
    scenario.strategies.iter().map(|strategy| row(strategy, complaints)).collect()
}

fn controls_of(
    scenario: &Scenario,
    pairs: &[Vec<Option<Pair>>],
    complaints: &mut Vec<Complaint>,
) -> Vec<Control> {
    if !scenario.controls {
        return Vec::new();
    }
    let blocks: Vec<_> =
        scenario.workloads.iter().map(|wanted| (wanted.name, wanted.written.as_ref())).collect();
    let labels = names::labels(&blocks);
    let mut all = Vec::new();
    for (index, wanted) in scenario.workloads.iter().enumerate() {
        let Some(pair) = pairs.iter().find_map(|row| row.get(index)?.as_ref()) else { continue };
        match controls::controls(wanted.name, &labels[index], pair.workload.as_ref(), wanted.place)
        {
            Ok(controls) => all.extend(controls),
            Err(complaint) => complaints.push(complaint),
        }
    }
    all
}

fn gates(scenario: &Scenario, complaints: &mut Vec<Complaint>) -> Vec<String> {
    let Some(gates) = &scenario.gates else { return vec![DEFAULT_GATE.to_owned()] };
    for gate in gates {
        if let Err(error) = Gate::parse(&gate.value) {
            complaints.push(bad_gate(scenario, gate, error));
        }
    }
    gates.iter().map(|gate| gate.value.clone()).collect()
}

fn bad_gate(scenario: &Scenario, gate: &Placed<String>, error: GateError) -> Complaint {
    let Place { start, end } = gate.place;
    // An offset in the rule is one in the file unless the rule is quoted or folded.
    let plain = scenario.source.text.get(start..end) == Some(gate.value.as_str());
    let at = if plain { (start + error.offset).min(end.saturating_sub(1)) } else { start };
    let complaint = Complaint::at(Place { start: at, end }, format!("gate: {}", error.message));
    match error.remedy {
        Some(remedy) => complaint.remedy(remedy),
        None => complaint.remedy("`lockbench list gates` shows what can be measured"),
    }
}

fn ceilings(scenario: &Scenario, complaints: &mut Vec<Complaint>) {
    let backends = [&scenario.backends.redis, &scenario.backends.witness];
    for backend in backends.into_iter().flatten() {
        let rates = scenario.loads.iter().map(|load| match load.value {
            WantedLoad::Constant { rate, .. } => rate,
            WantedLoad::Closed { .. } => 0.0,
        });
        let rate = rates.fold(0.0, f64::max);
        let callers = scenario.clients.total();
        complaints.extend(pairs::ceiling_complaint(&backend.value, callers, rate, backend.place));
    }
}

fn backends(scenario: &Scenario, matrix: &Matrix) -> Backends {
    let asked = |backend: &Option<Placed<RedisBackend>>| {
        backend.as_ref().map_or(MANAGED, |backend| backend.value.clone())
    };
    Backends {
        redis: matrix.needs_redis.then(|| asked(&scenario.backends.redis)),
        witness: asked(&scenario.backends.witness),
    }
}

fn warnings(scenario: &Scenario, pairs: &[Vec<Option<Pair>>], matrix: &Matrix) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for pair in pairs.iter().flatten().flatten() {
        warnings.extend(pair.warning.clone());
        if pair.lock.patience > scenario.measure {
            warnings.push(format!(
                "a patience of {} is longer than the window of {}: callers that wait through it are cancelled, not denied",
                show(pair.lock.patience),
                show(scenario.measure)
            ));
        }
    }
    if scenario.backends.redis.is_some() && !matrix.needs_redis {
        warnings.push("backends.redis is named, but no cell needs it".into());
    }
    if !scenario.controls {
        warnings.push(
            "controls are off: nothing shows that a broken lock would have been caught".into(),
        );
    }
    warnings.sort();
    warnings.dedup();
    warnings
}

#[cfg(test)]
mod tests;
