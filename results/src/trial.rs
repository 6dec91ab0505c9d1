//! What is known about one trial besides its histories: `trial.json`, written before anything is judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::event::Nanos;
use crate::verdict::ViolationKind;

/// The facts of a trial that the judge needs. A trial directory holds `trial.json` (this), `aftermath.json`
/// ([`Aftermath`](crate::checker::Aftermath)) and one `history-<instance>.lbh` (or `.jsonl`) per instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialFacts {
    /// Version of this file: 1.
    pub format: u32,
    /// Id of the run.
    pub run: String,
    /// Id of the cell.
    pub cell: String,
    /// Which repetition, from 1.
    pub trial: u32,
    /// Measuring begins: operations whose intended start is earlier are warm-up.
    pub window_start: Nanos,
    /// Measuring ends: operations whose intended start is later do not count.
    pub window_end: Nanos,
    /// Workers that load the cell.
    pub workers: u32,
    /// Distinct lock names.
    pub keys: u32,
    /// Whether the load has a schedule (`constant`); then operations have intended starts of their own.
    pub open_load: bool,
    /// Operations that the schedule wanted within the window; `None` for a closed load.
    pub scheduled: Option<u64>,
    /// What a response must not exceed to count as good; `None` if the scenario has no service level.
    pub slo_response_ns: Option<Nanos>,
    /// What to look for, and with which bounds.
    pub checks: Vec<Check>,
    /// The kinds that count as violations of this cell: all safety kinds that the guard does not excuse, and what the strategy claims.
    pub counted: Vec<ViolationKind>,
    /// One entry per agent.
    pub agents: Vec<AgentFacts>,
    /// Cost of the servers within the window, by backend name (`redis`, `witness`).
    pub servers: BTreeMap<String, ServerFacts>,
    /// Why the trial is not whole, if it is not (an agent lost, disk full, interrupted).
    pub partial: Option<String>,
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// Overlapping exclusive holds.
    MutualExclusion,
    /// A release that removed somebody else's grant.
    NonOwnerRelease,
    /// A grant whose lease had ended.
    GrantBornDead,
    /// A free lock with a waiter that nobody woke for longer than this.
    LostWakeUp {
        /// The strategy's own longest sleep, plus slack for the machine, in nanoseconds.
        bound_ns: Nanos,
    },
    /// A waiter passed over too often.
    Starvation,
    /// Objects left on the lock's server.
    Leak,
    /// More takings than things.
    Oversell,
    /// Takings that the register forgot.
    LostUpdate,
}

/// What one agent process reported and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentFacts {
    /// Its number, from 0.
    pub agent: u32,
    /// Files of its instances, relative to the trial directory.
    pub histories: Vec<String>,
    /// `None` if it ended as it should; otherwise how it ended, in words.
    pub lost: Option<String>,
    /// CPU time used within the window, in microseconds; `None` if it could not tell.
    pub cpu_us: Option<u64>,
    /// Operations it says it finished in the whole trial, for the conservation check; `None` if it died.
    pub finished: Option<u64>,
    /// Errors by class (`lost`, `refused`, `unreachable`, ...), whole trial.
    pub errors: BTreeMap<String, u64>,
    /// Scripts loaded again because a server had forgotten them.
    pub scripts_reloaded: u64,
}

/// What one server did within the window. `None` where the counter includes other people's traffic or cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerFacts {
    /// Commands executed.
    pub commands: Option<u64>,
    /// Bytes in and out.
    pub bytes: Option<u64>,
    /// CPU time in microseconds.
    pub cpu_us: Option<u64>,
    /// Entries of its slow log during the trial: microseconds and the command, arguments shortened.
    pub slowlog: Option<Vec<SlowCommand>>,
}

/// One entry of a slow log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowCommand {
    /// Execution time on the server in microseconds.
    pub micros: u64,
    /// The command, shortened.
    pub command: String,
}
