//! How many files and connections a run needs, and whether this machine and the servers allow them.

use anyhow::anyhow;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::Value;
use strategies::strategy::BackendKind;

use crate::failure::Failure;
use crate::plan::{Cell, Load, Plan, RedisBackend};

/// Files that a process opens besides its connections: libraries, pipes, logs, timers.
const FILES_ASIDE: u64 = 64;

/// Connections that the controller holds to each server, and agents for their instances.
const CONNECTIONS_ASIDE: u64 = 4;

/// Connections over all agents that a cell opens to the Redis under test.
pub fn connections(cell: &Cell) -> u64 {
    let clients = cell.clients;
    let per_instance = per_instance(&cell.strategy.options, clients.workers);
    u64::from(clients.instances) * per_instance
}

/// The strategy option `connections`: one per worker unless the scenario names a number.
fn per_instance(options: &Value, workers: u32) -> u64 {
    let named = match options.get("connections") {
        Some(Value::Object(shared)) => shared.values().find_map(Value::as_u64),
        Some(other) => other.as_u64(),
        None => None,
    };
    named.unwrap_or(u64::from(workers))
}

/// The most connections that any cell opens to one server, the witness included (one per worker at most).
pub fn most_connections(plan: &Plan) -> u64 {
    all_cells(plan)
        .map(|cell| connections(cell).max(u64::from(cell.clients.total())))
        .max()
        .unwrap_or_default()
        + CONNECTIONS_ASIDE
}

/// Raises the soft limit of open files to what the run needs, for us and all our children.
pub fn raise_open_files(plan: &Plan) -> Result<(), Failure> {
    let busiest_agent = all_cells(plan)
        .map(|cell| {
            let clients = cell.clients;
            let instances = u64::from(clients.instances.div_ceil(clients.agents.max(1)));
            let to_redis = instances * per_instance(&cell.strategy.options, clients.workers);
            // A connection to the witness per worker, and two files per instance.
            to_redis + instances * (u64::from(clients.workers) + 2)
        })
        .max()
        .unwrap_or_default();
    raise(busiest_agent.max(most_connections(plan)) + FILES_ASIDE)
}

fn raise(needed: u64) -> Result<(), Failure> {
    let (soft, hard) = open_files()?;
    if needed <= soft {
        return Ok(());
    }
    if needed > hard {
        return Err(Failure::environment(anyhow!(
            "this run needs {needed} open files per process, but the hard limit is {hard}; raise it (`ulimit -Hn {needed}` as root, or LimitNOFILE=), or use fewer workers or shared connections"
        )));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(|error| {
        Failure::environment(anyhow!("cannot raise the limit of open files to {needed}: {error}"))
    })
}

/// Soft and hard limit of open files.
pub fn open_files() -> Result<(u64, u64), Failure> {
    getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| {
        Failure::environment(anyhow!("cannot read the limit of open files: {error}"))
    })
}

/// Refuses what the owner of a server has not allowed.
pub fn respect_ceilings(plan: &Plan) -> Result<(), Failure> {
    if let Some(redis) = &plan.backends.redis {
        respect(plan, "redis", redis)?;
    }
    respect(plan, "witness", &plan.backends.witness)
}

fn respect(plan: &Plan, name: &str, backend: &RedisBackend) -> Result<(), Failure> {
    let RedisBackend::Address { ceiling: Some(ceiling), address, .. } = backend else {
        return Ok(());
    };
    for cell in all_cells(plan).filter(|cell| uses(cell, name)) {
        let workers = u64::from(cell.clients.total());
        let needed = if name == "redis" { connections(cell) } else { workers } + CONNECTIONS_ASIDE;
        let complaint = match cell.load {
            _ if needed > u64::from(ceiling.connections) => format!(
                "{needed} connections are needed, but its ceiling is {}; use fewer workers or shared connections",
                ceiling.connections
            ),
            Load::Closed { .. } => {
                "a closed load has no upper rate, so the ceiling of operations cannot be kept; use `constant`, and for the controls another witness or `controls: false`".to_owned()
            }
            Load::Constant { rate, .. } if rate > ceiling.operations => format!(
                "a rate of {rate}/s is above its ceiling of {}/s operations; lower the rate",
                ceiling.operations
            ),
            Load::Constant { .. } => continue,
        };
        return Err(Failure::usage(anyhow!(
            "{name} at {address}: cell {}: {complaint}",
            cell.head.id
        )));
    }
    Ok(())
}

/// Whether a cell loads that server: every cell may load the witness.
fn uses(cell: &Cell, server: &str) -> bool {
    server == "witness"
        || strategies::catalog::find(&cell.strategy.name)
            .is_some_and(|entry| entry.needs.contains(&BackendKind::Redis))
}

fn all_cells(plan: &Plan) -> impl Iterator<Item = &Cell> {
    let cells = plan.cells.iter().filter(|cell| cell.head.applicable);
    cells.chain(plan.controls.iter().map(|control| &control.cell))
}
