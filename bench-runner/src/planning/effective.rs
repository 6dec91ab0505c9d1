//! The scenario with every default, without secrets, as it is stored with each result.

use serde_json::{Map, Value, json};

use crate::plan::{Backends, Cell, Keep, Plan};
use crate::planning::cells::{clients_value, load_value, lock_value};
use crate::planning::pairs::Pair;
use crate::scenario::values::Length;
use crate::scenario::values::show;
use crate::scenario::{DEFAULT_LEASE, DEFAULT_PATIENCE, Scenario};

/// The effective scenario of `plan`, whose own `effective` is not looked at.
pub fn effective(scenario: &Scenario, plan: &Plan, pairs: &[Vec<Option<Pair>>]) -> Value {
    let keep = match plan.keep {
        Keep::All => "all",
        Keep::Violations => "violations",
    };
    json!({
        "lockbench": env!("CARGO_PKG_VERSION"),
        "name": plan.name,
        "seed": plan.seed,
        "strategies": strategies(scenario, pairs),
        "workloads": workloads(scenario, pairs),
        "load": loads(&plan.cells),
        "callers": scenario.callers.iter().map(|caller| caller.value.name()).collect::<Vec<_>>(),
        "guards": scenario.guards.iter().map(|guard| guard.value.name()).collect::<Vec<_>>(),
        "faults": scenario.faults.iter().map(|fault| fault.value).collect::<Vec<_>>(),
        "clients": clients_value(scenario.clients),
        "lock": lock(scenario),
        "warmup": show(plan.warmup),
        "measure": show(plan.measure),
        "trials": plan.trials,
        "controls": scenario.controls,
        "slo": plan.slo_response.map(|response| json!({ "response": show(response) })),
        "prefix": plan.prefix,
        "keep": keep,
        "backends": backends(&plan.backends),
        "gates": plan.gates,
    })
}

fn strategies(scenario: &Scenario, pairs: &[Vec<Option<Pair>>]) -> Value {
    scenario
        .strategies
        .iter()
        .zip(pairs)
        .filter_map(|(wanted, row)| {
            let pair = row.iter().flatten().next()?;
            let mut block = pair.strategy.options();
            // What stands here is what the lock is asked for, whatever the file says elsewhere.
            if let (Some(block), Value::Object(lock)) =
                (block.as_object_mut(), lock_value(pair.lock))
            {
                block.extend(lock);
            }
            Some(named(wanted.name, &block))
        })
        .collect()
}

fn workloads(scenario: &Scenario, pairs: &[Vec<Option<Pair>>]) -> Value {
    let Some(row) = pairs.first() else { return Value::Array(Vec::new()) };
    scenario
        .workloads
        .iter()
        .zip(row)
        .filter_map(|(wanted, pair)| Some(named(wanted.name, &pair.as_ref()?.workload.options())))
        .collect()
}

fn named(name: &str, block: &Value) -> Value {
    if block.is_null() || block.as_object().is_some_and(Map::is_empty) {
        return name.into();
    }
    json!({ name: block })
}

fn loads(cells: &[Cell]) -> Value {
    let mut loads: Vec<Value> = Vec::new();
    for cell in cells {
        let load = load_value(cell.load);
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    loads.into()
}

fn lock(scenario: &Scenario) -> Value {
    let lease = scenario.lock.lease.as_ref().map_or(DEFAULT_LEASE, |lease| lease.value);
    let patience = scenario.lock.patience.as_ref().map_or(DEFAULT_PATIENCE, |it| it.value);
    let length: Value = written(lease.length).into();
    json!({
        "lease": if lease.renewed { json!({ "renewed": length }) } else { length },
        "patience": written(patience),
        "allow-short-lease": scenario.lock.allow_short_lease.unwrap_or(false),
    })
}

fn written(length: Length) -> String {
    match length {
        Length::Fixed(duration) => show(duration),
        Length::Leases(factor) => format!("{factor}x lease"),
        Length::Works(factor) => format!("{factor}x work"),
    }
}

fn backends(backends: &Backends) -> Value {
    serde_json::to_value(backends).unwrap_or(Value::Null)
}
