//! Multiplies the axes out.

use serde_json::json;
use strategies::strategy::BackendKind;

use crate::complaint::{Complaint, Place};
use crate::plan::{Cell, Chosen, Load};
use crate::planning::cells::{Point, cell};
use crate::planning::names::{cell_id, labels};
use crate::planning::pairs::Pair;
use crate::planning::sense::nonsense;
use crate::scenario::Scenario;
use crate::scenario::axes::WantedLoad;
use crate::yaml::Node;

/// Most cells of a scenario.
const MOST: usize = 5_000;

/// The cells of the matrix, and what they need.
#[derive(Default)]
pub struct Matrix {
    /// In the order of the axes.
    pub cells: Vec<Cell>,
    /// Whether a cell that is run needs the Redis under test.
    pub needs_redis: bool,
}

/// The complaint that the axes multiply to too much, if they do.
pub fn too_many(scenario: &Scenario) -> Option<Complaint> {
    let cells = [
        scenario.strategies.len(),
        scenario.workloads.len(),
        scenario.loads.len(),
        scenario.callers.len(),
        scenario.guards.len(),
        scenario.faults.len(),
    ]
    .into_iter()
    // An empty axis was complained about; the others may still be far too long.
    .map(|values| values.max(1))
    .fold(1_usize, usize::saturating_mul);
    (cells > MOST).then(|| {
        Complaint::of_file(format!("the axes multiply to {cells} cells"))
            .remedy(format!("at most {MOST}; split the scenario"))
    })
}

/// One value of an axis, for the question whether it fits any cell.
struct Value {
    axis: &'static str,
    name: String,
    place: Place,
    fits: bool,
    reason: Option<&'static str>,
}

/// Multiplies the axes out; `pairs[s][w]` is strategy `s` under workload `w`.
pub fn expand(
    scenario: &Scenario,
    pairs: &[Vec<Option<Pair>>],
    complaints: &mut Vec<Complaint>,
) -> Matrix {
    let mut values = axis_values(scenario);
    let names = axis_labels(scenario);
    let mut matrix = Matrix::default();
    for (s, row) in pairs.iter().enumerate() {
        for (w, pair) in row.iter().enumerate() {
            let Some(pair) = pair else { continue };
            for (l, load) in scenario.loads.iter().enumerate() {
                let Some(load) = resolve_load(load.value, load.place, pair, complaints) else {
                    continue;
                };
                for (c, caller) in scenario.callers.iter().enumerate() {
                    for (g, guard) in scenario.guards.iter().enumerate() {
                        let labels = [&names.0[s], &names.1[w], &names.2[l]].map(String::as_str);
                        let (caller, guard) = (caller.value, guard.value);
                        let id = cell_id(&[
                            labels[0],
                            labels[1],
                            labels[2],
                            caller.name(),
                            guard.name(),
                            "none",
                        ]);
                        let point = Point {
                            id,
                            load,
                            caller,
                            guard,
                            lock: pair.lock,
                            clients: scenario.clients,
                            window: scenario.warmup + scenario.measure,
                            work: pair.workload.work(),
                        };
                        let reason = nonsense(
                            pair.strategy_entry,
                            pair.workload.as_ref(),
                            (caller, guard),
                            pair.lock,
                            scenario.clients,
                        );
                        note(&mut values, [s, w, l, c, g], reason);
                        matrix.needs_redis |= reason.is_none() && pair.needs(BackendKind::Redis);
                        matrix.cells.push(make(scenario, &point, (s, w, pair), reason));
                    }
                }
            }
        }
    }
    if pairs.iter().flatten().all(Option::is_some) {
        complaints.extend(values.iter().flatten().filter_map(misfit));
    }
    matrix
}

fn make(
    scenario: &Scenario,
    point: &Point,
    (s, w, pair): (usize, usize, &Pair),
    reason: Option<&str>,
) -> Cell {
    let strategy = Chosen {
        name: scenario.strategies[s].name.to_owned(),
        options: pair.strategy_options.clone(),
    };
    let workload = Chosen {
        name: scenario.workloads[w].name.to_owned(),
        options: pair.workload_options.clone(),
    };
    let options =
        json!({ "strategy": pair.strategy.options(), "workload": pair.workload.options() });
    cell(point, (strategy, workload), options, reason)
}

/// The load of a cell, its multiples resolved.
pub fn resolve_load(
    load: WantedLoad,
    place: Place,
    pair: &Pair,
    complaints: &mut Vec<Complaint>,
) -> Option<Load> {
    match load {
        WantedLoad::Constant { rate, arrivals } => Some(Load::Constant { rate, arrivals }),
        WantedLoad::Closed { think } => match pair.yardsticks().resolve(think) {
            Ok(think) => Some(Load::Closed { think }),
            Err(why) => {
                complaints.push(Complaint::at(place, format!("think: {why}")));
                None
            }
        },
    }
}

/// Labels of strategies, workloads and loads.
type Labels = (Vec<String>, Vec<String>, Vec<String>);

fn axis_labels(scenario: &Scenario) -> Labels {
    let strategies: Vec<(&str, Option<&Node>)> =
        scenario.strategies.iter().map(|wanted| (wanted.name, wanted.written.as_ref())).collect();
    let workloads: Vec<(&str, Option<&Node>)> =
        scenario.workloads.iter().map(|wanted| (wanted.name, wanted.written.as_ref())).collect();
    let loads: Vec<(&str, Option<&Node>)> =
        scenario.loads.iter().map(|load| (load_name(load.value), load.written.as_ref())).collect();
    (labels(&strategies), labels(&workloads), labels(&loads))
}

const fn load_name(load: WantedLoad) -> &'static str {
    match load {
        WantedLoad::Closed { .. } => "closed",
        WantedLoad::Constant { .. } => "constant",
    }
}

fn axis_values(scenario: &Scenario) -> [Vec<Value>; 5] {
    fn values<'s>(axis: &'static str, all: impl Iterator<Item = (&'s str, Place)>) -> Vec<Value> {
        all.map(|(name, place)| Value {
            axis,
            name: name.to_owned(),
            place,
            fits: false,
            reason: None,
        })
        .collect()
    }
    [
        values("strategy", scenario.strategies.iter().map(|wanted| (wanted.name, wanted.place))),
        values("workload", scenario.workloads.iter().map(|wanted| (wanted.name, wanted.place))),
        values("load", scenario.loads.iter().map(|load| (load_name(load.value), load.place))),
        values("caller", scenario.callers.iter().map(|it| (it.value.name(), it.place))),
        values("guard", scenario.guards.iter().map(|it| (it.value.name(), it.place))),
    ]
}

fn note(values: &mut [Vec<Value>; 5], indices: [usize; 5], reason: Option<&'static str>) {
    for (axis, index) in values.iter_mut().zip(indices) {
        let value = &mut axis[index];
        value.fits |= reason.is_none();
        value.reason = value.reason.or(reason);
    }
}

fn misfit(value: &Value) -> Option<Complaint> {
    let reason = value.reason.filter(|_| !value.fits)?;
    let complaint = Complaint::at(
        value.place,
        format!("{} `{}` fits no cell: {reason}", value.axis, value.name),
    );
    Some(match (value.axis, reason) {
        ("strategy", "this is what control-none runs") => {
            complaint.remedy("add the guards cas or atomic, or remove it")
        }
        ("strategy", reason) if reason.contains("one process") => {
            complaint.remedy("say clients: { agents: 1 }, or remove it")
        }
        ("strategy", reason) if reason.contains("renew") => {
            complaint.remedy("give it a fixed lease")
        }
        _ => complaint.remedy("remove it, or add what it goes with"),
    })
}
