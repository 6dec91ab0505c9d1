//! Which points of the matrix make sense, what is looked for in them, and what counts.

use std::time::Duration;

use results::trial::Check;
use results::verdict::{Promise, ViolationKind};
use strategies::lock::LeasePolicy;
use strategies::strategy::{Claims, Entry, Role};
use workloads::caller::Caller;
use workloads::guard::Guard;
use workloads::workload::Workload;

use crate::plan::{Cell, Clients, Lock};

/// How much longer than its own longest sleep a waiter may take to wake on a busy machine.
const WAKE_SLACK: Duration = Duration::from_millis(250);

/// Why a point of the matrix makes no sense, if it does not.
pub fn nonsense(
    entry: &Entry,
    workload: &dyn Workload,
    (caller, guard): (Caller, Guard),
    lock: Lock,
    clients: Clients,
) -> Option<&'static str> {
    if entry.role == Role::NoLock {
        match guard {
            Guard::None => return Some("this is what control-none runs"),
            Guard::Fence => return Some("there is no lock to give fencing tokens"),
            Guard::Cas | Guard::Atomic => {}
        }
        if caller != Caller::Naive {
            return Some("there is no lease to check");
        }
        return workload.supports(guard).err();
    }
    if guard == Guard::Fence && !entry.claims.tokens {
        return Some("this lock has no fencing tokens");
    }
    if guard == Guard::Atomic {
        return Some("an atomic step needs no lock around it");
    }
    if caller == Caller::LostSignal {
        return Some("its client never learns of a loss");
    }
    if lock.renewed && !renews(entry) {
        return Some("its client does not renew leases");
    }
    if entry.one_process && clients.agents > 1 {
        return Some("it works within one process only, and there are several agents");
    }
    workload.supports(guard).err()
}

/// Whether the clients of `entry` keep a lease alive. No strategy of this build does; those whose leases never end need not.
fn renews(entry: &Entry) -> bool {
    matches!(entry.role, Role::Control { .. })
}

/// Everything that is looked for in the histories of `cell`.
///
/// Empty for names that no catalogue has, which a plan never holds.
pub fn checks(cell: &Cell) -> Vec<Check> {
    let Some(entry) = strategies::catalog::find(&cell.strategy.name) else { return Vec::new() };
    let Some(workload) = workloads::catalog::find(&cell.workload.name) else { return Vec::new() };
    let Ok(workload) = (workload.build)(&cell.workload.options) else { return Vec::new() };
    let mut checks = vec![Check::MutualExclusion];
    if entry.claims.mutual_exclusion {
        checks.extend([
            Check::NonOwnerRelease,
            Check::GrantBornDead,
            Check::Starvation,
            Check::Leak,
        ]);
        checks.extend(wake_bound(cell, entry).map(|bound_ns| Check::LostWakeUp { bound_ns }));
    }
    checks.extend(workload.checks());
    checks
}

fn wake_bound(cell: &Cell, entry: &Entry) -> Option<u64> {
    let strategy = (entry.build)(&cell.strategy.options).ok()?;
    let lease = if cell.lock.renewed {
        LeasePolicy::Renewed(cell.lock.lease)
    } else {
        LeasePolicy::Fixed(cell.lock.lease)
    };
    let bound = strategy.wake_bound(lease)? + WAKE_SLACK;
    u64::try_from(bound.as_nanos()).ok()
}

/// The kinds that count as violations of `cell`: what it is checked for, less what the guard excuses and what nobody claims.
pub fn counted(cell: &Cell) -> Vec<ViolationKind> {
    let Some(entry) = strategies::catalog::find(&cell.strategy.name) else { return Vec::new() };
    let guarded = cell.guard != Guard::None.name();
    checks(cell)
        .iter()
        .map(kind)
        .filter(|kind| match kind.promise() {
            Promise::Safety => !guarded || kind.is_damage(),
            Promise::Liveness | Promise::Hygiene => claimed(*kind, entry),
        })
        .collect()
}

fn claimed(kind: ViolationKind, entry: &Entry) -> bool {
    let Claims { no_leak, no_starvation, wake_up, fifo, .. } = entry.claims;
    // A control has one answer to give: whether there is exclusion.
    let lock = !matches!(entry.role, Role::Control { .. });
    lock && match kind {
        ViolationKind::Leak => no_leak,
        ViolationKind::Starvation => no_starvation,
        ViolationKind::LostWakeUp => wake_up,
        ViolationKind::FifoInversion => fifo,
        _ => false,
    }
}

/// The kind of violation that `check` looks for.
pub const fn kind(check: &Check) -> ViolationKind {
    match check {
        Check::MutualExclusion => ViolationKind::MutualExclusion,
        Check::NonOwnerRelease => ViolationKind::NonOwnerRelease,
        Check::GrantBornDead => ViolationKind::GrantBornDead,
        Check::LostWakeUp { .. } => ViolationKind::LostWakeUp,
        Check::Starvation => ViolationKind::Starvation,
        Check::Leak => ViolationKind::Leak,
        Check::Oversell => ViolationKind::Oversell,
        Check::LostUpdate => ViolationKind::LostUpdate,
    }
}
