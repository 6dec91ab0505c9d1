//! Whether something else than the lock was the limit of a trial.

use crate::percentiles::Percentiles;
use crate::trial::TrialFacts;
use crate::window::Window;

/// From this share of a core on, whoever uses it is the limit.
const BUSY: f64 = 0.9;
/// A pacer whose lag exceeds this at p99 measures itself, microseconds.
const LAG_MAX_US: f64 = 10_000.0;
/// At least this share of the schedule has to be begun.
const BEGUN_MIN: f64 = 0.99;
const NANOS_PER_MICRO: f64 = 1e3;

/// Why the load generator was saturated, one reason each; empty if it was not.
///
/// Each instance has one thread, so an agent is busy when it uses nine tenths of one core per instance. A machine with
/// fewer cores than instances is busy before that: [`cores`] judges it.
pub(crate) fn generator(
    facts: &TrialFacts,
    window: Window,
    begun: u64,
    lag: Option<&Percentiles>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    for agent in &facts.agents {
        let used = agent.cpu_us.map(|cpu| cores(cpu, window.length()));
        let threads = agent.histories.len().max(1) as f64;
        if let Some(used) = used.filter(|used| *used >= BUSY * threads) {
            reasons.push(format!("agent {} used {used:.2} of {threads} cores", agent.agent));
        }
    }
    if let Some(lag) = lag.and_then(|lag| lag.p99).filter(|lag| *lag > LAG_MAX_US) {
        reasons.push(format!("pacer-lag p99 was {:.1}ms", lag / 1e3));
    }
    let missed = |scheduled: &u64| (begun as f64) < BEGUN_MIN * *scheduled as f64;
    if let Some(scheduled) = facts.scheduled.filter(missed) {
        reasons.push(format!("only {begun} of {scheduled} scheduled operations were begun"));
    }
    reasons
}

/// Whether the witness was saturated: it is single-threaded. `None` if nobody can tell.
pub(crate) fn witness(facts: &TrialFacts, window: Window) -> Option<bool> {
    let cpu = facts.servers.get("witness")?.cpu_us?;
    Some(cores(cpu, window.length()) >= BUSY)
}

/// How many cores `cpu_us` of CPU time are, spent within `window_ns`.
pub(crate) fn cores(cpu_us: u64, window_ns: u64) -> f64 {
    cpu_us as f64 * NANOS_PER_MICRO / window_ns.max(1) as f64
}

/// Why agents that used `cpu_us` within `window_ns` were saturated on a machine with `available` cores, if they were.
pub(crate) fn machine(
    cpu_us: Option<u64>,
    window_ns: u64,
    available: Option<f64>,
) -> Option<String> {
    let (used, available) = (cores(cpu_us?, window_ns), available?);
    (used >= BUSY * available).then(|| format!("agents used {used:.2} of {available} cores"))
}
