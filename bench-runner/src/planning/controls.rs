//! The controls: per workload one lock that must be convicted and two that must be cleared.

use std::time::Duration;

use serde_json::{Value, json};
use strategies::strategy::Role;
use workloads::caller::Caller;
use workloads::guard::Guard;
use workloads::workload::Workload;

use crate::complaint::{Complaint, Place};
use crate::plan::{Cell, Chosen, Clients, Control, Load, Lock};
use crate::planning::cells::{Point, cell};
use crate::planning::names::cell_id;

/// The strategies that run as controls of every workload.
const CONTROLS: [&str; 3] = ["control-none", "control-in-process", "control-witness"];

const LOCK: Lock =
    Lock { lease: Duration::from_secs(5), renewed: false, patience: Duration::from_secs(1) };
const CLIENTS: Clients = Clients { agents: 1, instances: 1, workers: 8 };

/// The controls of `workload`, which goes by `label`: one agent, several workers, one key, no fault.
pub fn controls(
    name: &'static str,
    label: &str,
    workload: &dyn Workload,
    place: Place,
) -> Result<Vec<Control>, Complaint> {
    let exposed = workload.exposed();
    let entry = workloads::catalog::find(name)
        .ok_or_else(|| Complaint::at(place, format!("unknown workload `{name}`")))?;
    let built = (entry.build)(&exposed).map_err(|error| {
        Complaint::at(place, format!("{name} cannot be laid out for its controls: {error}"))
            .remedy("say controls: false to go without them")
    })?;
    let mut all = Vec::new();
    for control in CONTROLS {
        let Some(entry) = strategies::catalog::find(control) else { continue };
        let Role::Control { guilty } = entry.role else { continue };
        let strategy = (entry.build)(&Value::Null)
            .map_err(|error| Complaint::at(place, format!("{control} cannot be built: {error}")))?;
        let load = Load::Closed { think: Duration::ZERO };
        let point = Point {
            id: cell_id(&[control, label]),
            load,
            caller: Caller::Naive,
            guard: Guard::None,
            lock: LOCK,
            clients: CLIENTS,
            window: Control::MEASURE,
            work: built.work(),
        };
        let options = json!({ "strategy": strategy.options(), "workload": built.options() });
        let strategy = Chosen { name: control.to_owned(), options: Value::Null };
        let workload = Chosen { name: name.to_owned(), options: exposed.clone() };
        let cell: Cell = cell(&point, (strategy, workload), options, None);
        all.push(Control { cell, guilty });
    }
    Ok(all)
}
