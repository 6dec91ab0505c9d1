//! The agent protocol: what the controller and an agent say to each other, as JSON lines on the agent's standard input and output.
//!
//! `docs/agent-protocol.md` describes it for agents written in other languages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{Clients, Load, Lock};

/// The first line to an agent: what it has to do. May carry credentials, so it never goes into a file or a command line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Assignment {
    /// Version of the protocol: 1.
    pub format: u32,
    /// Id of the run.
    pub run: String,
    /// Id of the cell.
    pub cell: String,
    /// Which repetition, from 1.
    pub trial: u32,
    /// Number of this agent, from 0.
    pub agent: u32,
    /// Who asks, over all agents.
    pub clients: Clients,
    /// Numbers of the instances that this agent carries. Worker `w` of instance `i` is worker `i * clients.workers + w` of the trial.
    pub instances: Vec<u32>,
    /// Name of the strategy.
    pub strategy: String,
    /// Its option block.
    pub strategy_options: Value,
    /// Name of the workload.
    pub workload: String,
    /// Its option block.
    pub workload_options: Value,
    /// When operations are due.
    pub load: Load,
    /// Name of the caller.
    pub caller: String,
    /// Name of the guard.
    pub guard: String,
    /// How the lock is asked for.
    pub lock: Lock,
    /// URL of the Redis under test, with credentials.
    pub redis: Option<String>,
    /// URL of the witness, with credentials.
    pub witness: Option<String>,
    /// A private folder for locks on this host, empty at the start and shared by the agents of the trial.
    pub folder: PathBuf,
    /// Prefix of every lock key of this trial; key `k` is `<lock_prefix>:<k>`.
    pub lock_prefix: String,
    /// Prefix of every register key of this trial.
    pub register_prefix: String,
    /// Seed of every random choice, the same for all agents of a cell's trial.
    pub seed: u64,
    /// Where histories go: `history-<instance>.lbh`.
    pub directory: PathBuf,
    /// From the start to the measured window, nanoseconds.
    pub warmup_ns: u64,
    /// Length of the measured window, nanoseconds.
    pub measure_ns: u64,
    /// How long after the window operations under way may still end, nanoseconds; then they are cancelled.
    pub drain_ns: u64,
}

/// A later line to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Begin at this point of `CLOCK_MONOTONIC`, nanoseconds.
    Start(u64),
    /// Stop: finish what is under way for at most one second, then report.
    Stop,
}

/// A line from an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Connected, scripts loaded, history files open.
    Ready,
    /// Sums since the start, four times a second.
    Progress(Progress),
    /// Everything has ended and is on disk.
    Done(Done),
    /// It cannot go on; the reason in words, without secrets.
    Failed(String),
}

/// Sums since the start of the trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Grants.
    pub granted: u64,
    /// Operations that ended, whatever their outcome.
    pub finished: u64,
    /// CPU time of the agent process so far, microseconds.
    pub cpu_us: u64,
}

/// What an agent says last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Files written, relative to the directory.
    pub histories: Vec<String>,
    /// Operations recorded, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// CPU time within the measured window, microseconds.
    pub cpu_us: u64,
    /// Errors of locks and registers by class.
    pub errors: BTreeMap<String, u64>,
    /// Scripts loaded again.
    pub scripts_reloaded: u64,
    /// Why recording stopped early, if it did (disk full).
    pub recording_stopped: Option<String>,
    /// Operations of the schedule within the window that fell to this agent; `None` for a closed load.
    pub scheduled: Option<u64>,
}
