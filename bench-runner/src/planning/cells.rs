//! Makes one cell from a point of the matrix.

use std::time::Duration;

use results::cell::CellHead;
use serde_json::{Value, json};
use workloads::caller::Caller;
use workloads::guard::Guard;

use crate::plan::{Arrivals, Cell, Chosen, Clients, Load, Lock};
use crate::planning::sense::counted;
use crate::scenario::values::show;

/// History bytes of one operation: seven records of some forty bytes each.
const BYTES_PER_OPERATION: f64 = 300.0;
/// What an operation takes besides its work, as a guess for the size of histories.
const OVERHEAD: Duration = Duration::from_micros(500);
/// More operations per second than a host carries.
const MOST_PER_SECOND: f64 = 150_000.0;

/// A point of the matrix besides the strategy and the workload.
#[derive(Debug, Clone)]
pub struct Point {
    /// Id of the cell.
    pub id: String,
    /// When operations are due.
    pub load: Load,
    /// The caller.
    pub caller: Caller,
    /// The guard.
    pub guard: Guard,
    /// How the lock is asked for.
    pub lock: Lock,
    /// Who asks.
    pub clients: Clients,
    /// Warm-up and measured window of a trial.
    pub window: Duration,
    /// How long the work is.
    pub work: Duration,
}

/// The cell at `point`; `options` are those of strategy and workload with every default, `nonsense` why it is not run.
pub fn cell(
    point: &Point,
    (strategy, workload): (Chosen, Chosen),
    mut options: Value,
    nonsense: Option<&str>,
) -> Cell {
    if let Some(map) = options.as_object_mut() {
        map.insert("load".into(), load_value(point.load));
        map.insert("lock".into(), lock_value(point.lock));
        map.insert("clients".into(), clients_value(point.clients));
    }
    let head = CellHead {
        id: point.id.clone(),
        strategy: strategy.name.clone(),
        workload: workload.name.clone(),
        load: point.load.name().to_owned(),
        caller: point.caller.name().to_owned(),
        guard: point.guard.name().to_owned(),
        fault: "none".to_owned(),
        options,
        applicable: nonsense.is_none(),
        reason: nonsense.map(str::to_owned),
    };
    let mut cell = Cell {
        head,
        strategy,
        workload,
        load: point.load,
        caller: point.caller.name().to_owned(),
        guard: point.guard.name().to_owned(),
        lock: point.lock,
        clients: point.clients,
        counted: Vec::new(),
        history_bytes: history_bytes(point),
    };
    cell.counted = counted(&cell);
    cell
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded above, never negative"
)]
fn history_bytes(point: &Point) -> u64 {
    let per_second = match point.load {
        Load::Constant { rate, .. } => rate,
        Load::Closed { think } => {
            f64::from(point.clients.total()) / (think + point.work + OVERHEAD).as_secs_f64()
        }
    };
    (per_second.min(MOST_PER_SECOND) * point.window.as_secs_f64() * BYTES_PER_OPERATION) as u64
}

/// A load as it is stored: the shape of the scenario, defaults included.
pub fn load_value(load: Load) -> Value {
    match load {
        Load::Closed { think } => json!({ "closed": { "think": show(think) } }),
        Load::Constant { rate, arrivals } => {
            let arrivals = match arrivals {
                Arrivals::Uniform => "uniform",
                Arrivals::Poisson => "poisson",
            };
            json!({ "constant": { "rate": format!("{rate}/s"), "arrivals": arrivals } })
        }
    }
}

/// How the lock is asked for, as it is stored.
pub fn lock_value(lock: Lock) -> Value {
    let lease: Value =
        if lock.renewed { json!({ "renewed": show(lock.lease) }) } else { show(lock.lease).into() };
    json!({ "lease": lease, "patience": show(lock.patience) })
}

/// Who asks, as it is stored.
pub fn clients_value(clients: Clients) -> Value {
    json!({ "agents": clients.agents, "instances": clients.instances, "workers": clients.workers })
}
