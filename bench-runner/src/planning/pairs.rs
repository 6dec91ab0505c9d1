//! One strategy and one workload together: their options and the lock resolved, as far as they depend on each other.

use std::time::Duration;

use serde_json::Value;
use strategies::strategy::{self, BackendKind, Role, Strategy};
use workloads::workload::{self, Workload};

use crate::complaint::{Complaint, Place};
use crate::plan::{Lock, RedisBackend};
use crate::planning::entries::build;
use crate::scenario::asked::{Overrides, SHORTEST_LEASE};
use crate::scenario::axes::Wanted;
use crate::scenario::options::Yardsticks;
use crate::scenario::values::{Bounds, Length, show};
use crate::scenario::{DEFAULT_LEASE, DEFAULT_PATIENCE, Scenario};

/// A strategy under a workload.
pub struct Pair {
    /// The strategy's entry.
    pub strategy_entry: &'static strategy::Entry,
    /// The strategy, built.
    pub strategy: Box<dyn Strategy>,
    /// Its option block, resolved.
    pub strategy_options: Value,
    /// The workload, built.
    pub workload: Box<dyn Workload>,
    /// Its option block, resolved.
    pub workload_options: Value,
    /// How the lock is asked for.
    pub lock: Lock,
    /// A warning that goes with every result.
    pub warning: Option<String>,
}

impl Pair {
    /// What multiples mean in this pair.
    pub fn yardsticks(&self) -> Yardsticks {
        Yardsticks { lease: Some(self.lock.lease), work: Some(self.workload.work()) }
    }

    /// Whether the strategy needs this kind of server.
    pub fn needs(&self, backend: BackendKind) -> bool {
        self.strategy_entry.needs.contains(&backend)
    }

    /// What makes this pair different from another of the same names.
    pub fn essence(&self) -> (Value, Value, Lock) {
        (self.strategy.options(), self.workload.options(), self.lock)
    }
}

/// Builds the pair of `strategy` and `workload`.
pub fn pair(
    scenario: &Scenario,
    strategy: &Wanted,
    workload: &Wanted,
    complaints: &mut Vec<Complaint>,
) -> Option<Pair> {
    let strategy_entry = strategies::catalog::find(strategy.name)?;
    let workload_entry: &workload::Entry = workloads::catalog::find(workload.name)?;
    let asked = scenario.lock.under(&workload.overrides).under(&strategy.overrides);
    let lease = asked.lease.as_ref().map_or(DEFAULT_LEASE, |lease| lease.value);
    let known = match lease.length {
        Length::Fixed(duration) => Some(duration),
        _ => None,
    };
    let yardsticks = Yardsticks { lease: known, work: None };
    let built_workload = build(workload, yardsticks, workload_entry.build, complaints);
    let work = built_workload.as_ref().map(|(_, workload)| workload.work());
    let lease_length = resolve(
        "lease",
        (lease.length, place(asked.lease.as_ref().map(|lease| lease.place), workload)),
        Yardsticks { lease: None, work },
        Bounds::from(SHORTEST_LEASE),
        complaints,
    );
    let yardsticks = Yardsticks { lease: lease_length, work };
    let built_strategy = build(strategy, yardsticks, strategy_entry.build, complaints);
    let patience = resolve(
        "patience",
        (
            asked.patience.as_ref().map_or(DEFAULT_PATIENCE, |patience| patience.value),
            place(asked.patience.as_ref().map(|patience| patience.place), workload),
        ),
        yardsticks,
        Bounds::from(Duration::ZERO),
        complaints,
    );
    let (workload_options, built_workload) = built_workload?;
    let lock = Lock { lease: lease_length?, renewed: lease.renewed, patience: patience? };
    let warning = short_lease(strategy_entry, &asked, (lock, work?), workload, complaints);
    let (strategy_options, built_strategy) = built_strategy?;
    Some(Pair {
        strategy_entry,
        strategy: built_strategy,
        strategy_options,
        workload: built_workload,
        workload_options,
        lock,
        warning,
    })
}

fn place(place: Option<Place>, workload: &Wanted) -> Place {
    place.unwrap_or(workload.place)
}

fn resolve(
    what: &str,
    (length, place): (Length, Place),
    yardsticks: Yardsticks,
    bounds: Bounds,
    complaints: &mut Vec<Complaint>,
) -> Option<Duration> {
    // Where the workload could not be built, its own complaint says enough.
    if yardsticks.work.is_none() && matches!(length, Length::Works(_)) {
        return None;
    }
    if yardsticks.lease.is_none() && matches!(length, Length::Leases(_)) {
        return None;
    }
    let resolved = match yardsticks.resolve(length) {
        Ok(resolved) => resolved,
        Err(why) => {
            complaints.push(Complaint::at(place, format!("{what}: {why}")));
            return None;
        }
    };
    let complaint = bounds.check(what, resolved, place);
    let good = complaint.is_none();
    complaints.extend(complaint);
    good.then_some(resolved)
}

/// A fixed lease shorter than the work: a complaint, or a warning where it is meant.
fn short_lease(
    entry: &strategy::Entry,
    asked: &Overrides,
    (lock, work): (Lock, Duration),
    workload: &Wanted,
    complaints: &mut Vec<Complaint>,
) -> Option<String> {
    if entry.role != Role::Lock || lock.renewed || lock.lease >= work {
        return None;
    }
    let words = format!(
        "a fixed lease of {} is shorter than the work of {} in {}",
        show(lock.lease),
        show(work),
        workload.name
    );
    if asked.allow_short_lease == Some(true) {
        return Some(format!("{}: {words}, as the scenario allows", entry.name));
    }
    complaints.push(
        Complaint::at(place(asked.lease.as_ref().map(|lease| lease.place), workload), words)
            .remedy("give a longer lease, or say allow-short-lease: true where this is meant"),
    );
    None
}

/// Whether connections are bounded by what an owner allowed, and how.
pub fn ceiling_complaint(
    backend: &RedisBackend,
    callers: u32,
    rate: f64,
    place: Place,
) -> Option<Complaint> {
    let RedisBackend::Address { ceiling: Some(ceiling), .. } = backend else { return None };
    if rate > ceiling.operations {
        return Some(
            Complaint::at(
                place,
                format!("a load of {rate}/s is above the ceiling of {}/s", ceiling.operations),
            )
            .remedy("lower the rate, or ask the owner of the server for more"),
        );
    }
    (callers > ceiling.connections).then(|| {
        Complaint::at(
            place,
            format!(
                "{callers} callers are above the ceiling of {} connections",
                ceiling.connections
            ),
        )
        .remedy("lower clients, or ask the owner of the server for more")
    })
}
