//! What was found out about one trial: `result.json`, without its histograms, which stand beside it in `latency.hlog`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::percentiles::Percentiles;
use crate::run::{HandOvers, PerOutcome, Sale, TimeSplit, TrialSeries};
use crate::trial::SlowCommand;
use crate::verdict::Finding;

/// Version of `result.json` that this build writes and reads.
pub const FORMAT: u32 = 1;

/// The findings and figures of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Version of this file: 1.
    pub format: u32,
    /// Id of the run.
    pub run: String,
    /// Id of the cell.
    pub cell: String,
    /// Which repetition, from 1.
    pub trial: u32,
    /// Why the trial is not whole, if it is not.
    pub partial: Option<String>,
    /// One entry per check.
    pub findings: Vec<Finding>,
    /// What was measured.
    pub figures: TrialFigures,
    /// How the books do not balance, if they do not: then this is a bug of lockbench.
    pub imbalance: Option<String>,
}

/// What was measured in one trial. Rates are per second; what was not measured is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialFigures {
    /// Begin of the window, nanoseconds of the monotonic clock.
    pub window_start_ns: u64,
    /// Length of the window, nanoseconds.
    pub window_ns: u64,
    /// Operations that began before the window or after it: they count nowhere.
    pub outside: u64,
    /// Operations of the window by how they ended.
    pub outcomes: PerOutcome<u64>,
    /// Operations granted the lock within the window that did their work.
    pub grants: u64,
    /// Grants per second.
    pub throughput: f64,
    /// Operations offered in the window.
    pub offered: u64,
    /// Operations granted within the service level; `None` without a service level.
    pub good: Option<u64>,
    /// Whether operations had a schedule.
    pub open_load: bool,
    /// Points of every latency by tag. Percentiles over trials come from the histograms; `max` and `clipped` from here.
    pub latencies: BTreeMap<String, Percentiles>,
    /// How hand-overs went.
    pub hand_overs: HandOvers,
    /// Jain's index of the grants per worker.
    pub jain: Option<f64>,
    /// Grants that passed over an operation which had called acquire earlier.
    pub overtakes: u64,
    /// The longest wait, nanoseconds.
    pub longest_wait_ns: Option<u64>,
    /// Where a wall second of the busiest key goes.
    pub time_split: Option<TimeSplit>,
    /// Grants per second that the busiest key could carry, and that it carried.
    pub ceiling: Option<(f64, f64)>,
    /// Commands of the lock's server.
    pub commands: Option<u64>,
    /// Bytes in and out of the lock's server.
    pub bytes: Option<u64>,
    /// CPU time of the lock's server, microseconds.
    pub server_cpu_us: Option<u64>,
    /// CPU time of all agents, microseconds.
    pub agent_cpu_us: Option<u64>,
    /// Why the load generator was saturated, one reason each.
    pub generator_saturated: Vec<String>,
    /// Whether the witness was saturated; `None` if nobody can tell.
    pub witness_saturated: Option<bool>,
    /// What was sold.
    pub sale: Option<Sale>,
    /// Every second of the window.
    pub series: TrialSeries,
    /// Slow logs by server.
    pub slowlog: BTreeMap<String, Vec<SlowCommand>>,
    /// Errors of locks and registers by class.
    pub errors: BTreeMap<String, u64>,
    /// Scripts loaded again because a server had forgotten them.
    pub scripts_reloaded: u64,
}
