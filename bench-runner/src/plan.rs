//! The scenario validated and multiplied out: what will be run, without anything left to decide.

use std::time::Duration;

use results::cell::CellHead;
use results::verdict::ViolationKind;
use serde::Serialize;
use serde_json::Value;
use strategies::strategy::RedisAddress;

/// Everything a run needs. Holds no `Option` that means "decide later" and no string to parse.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The scenario's name as its author wrote it.
    pub name: String,
    /// The name as a path-safe, bounded slug.
    pub slug: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Prefix of every key on every server.
    pub prefix: String,
    /// Time before the measured window of each trial.
    pub warmup: Duration,
    /// The measured window of each trial.
    pub measure: Duration,
    /// Repetitions of each cell.
    pub trials: u32,
    /// What remains of histories after judging.
    pub keep: Keep,
    /// What a response must not exceed to count as goodput.
    pub slo_response: Option<Duration>,
    /// The cells of the matrix, in the order of the axes; those that make no sense included, with their reason.
    pub cells: Vec<Cell>,
    /// The controls: one set per workload, empty if the scenario turned them off.
    pub controls: Vec<Control>,
    /// Where the servers are.
    pub backends: Backends,
    /// The rules, as written.
    pub gates: Vec<String>,
    /// Warnings that every result of this run carries.
    pub warnings: Vec<String>,
    /// The scenario with every default, without secrets, as it goes into run.json.
    pub effective: Value,
}

/// What remains of the histories of a trial after it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Everything.
    All,
    /// Only those of trials with a violation.
    Violations,
}

/// One point of the matrix.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// How results name it.
    pub head: CellHead,
    /// The strategy and its options.
    pub strategy: Chosen,
    /// The workload and its options.
    pub workload: Chosen,
    /// When operations are due.
    pub load: Load,
    /// The caller, by name.
    pub caller: String,
    /// The guard, by name.
    pub guard: String,
    /// How the lock is asked for.
    pub lock: Lock,
    /// Who asks.
    pub clients: Clients,
    /// The kinds that count as violations of this cell.
    pub counted: Vec<ViolationKind>,
    /// History bytes foreseen per trial.
    pub history_bytes: u64,
}

/// A control: a cell with a known answer.
#[derive(Debug, Clone, Serialize)]
pub struct Control {
    /// What is run.
    pub cell: Cell,
    /// Whether it must be convicted.
    pub guilty: bool,
}

impl Control {
    /// Time before the measured window of a control.
    pub const WARMUP: Duration = Duration::ZERO;
    /// The measured window of a control.
    pub const MEASURE: Duration = Duration::from_secs(1);
    /// Repetitions of a control.
    pub const TRIALS: u32 = 1;
}

/// An entry of a catalogue with its option block as the scenario gave it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chosen {
    /// Name of the entry.
    pub name: String,
    /// Its option block; `null` if none was given.
    pub options: Value,
}

/// When operations are due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Each worker begins its next operation when the last one ended and `think` has passed.
    Closed {
        /// Time between two operations of a worker.
        think: Duration,
    },
    /// A schedule, whatever the answers: so many operations per second over all instances.
    Constant {
        /// Operations per second.
        rate: f64,
        /// How they are spread.
        arrivals: Arrivals,
    },
}

impl Load {
    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Constant { .. } => "constant",
        }
    }
}

/// How scheduled operations are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    Uniform,
    /// Independently of each other.
    Poisson,
}

/// How the lock is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Lock {
    /// Length of the lease.
    pub lease: Duration,
    /// Whether the client keeps it alive.
    pub renewed: bool,
    /// How long a caller waits.
    pub patience: Duration,
}

/// Who asks for the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Clients {
    /// Operating-system processes; instances are dealt out to them in turn.
    pub agents: u32,
    /// Application instances.
    pub instances: u32,
    /// Callers per instance.
    pub workers: u32,
}

impl Clients {
    /// Callers over all instances.
    pub const fn total(self) -> u32 {
        self.instances * self.workers
    }
}

/// Where the servers are.
#[derive(Debug, Clone, Serialize)]
pub struct Backends {
    /// The Redis under test; `None` if no cell needs it.
    pub redis: Option<RedisBackend>,
    /// The witness.
    pub witness: RedisBackend,
}

/// One Redis server: ours or somebody's.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedisBackend {
    /// Started and stopped by us, on a free loopback port.
    Managed {
        /// Whether it persists.
        persistence: Persistence,
    },
    /// Somebody's: nothing is flushed, scanned or reconfigured.
    Address {
        /// Where it is; printed without credentials.
        #[serde(serialize_with = "without_credentials")]
        address: RedisAddress,
        /// Whether faults may be injected into it.
        disposable: bool,
        /// The load that its owner allowed; always present unless on loopback.
        ceiling: Option<Ceiling>,
    },
}

fn without_credentials<S: serde::Serializer>(
    address: &RedisAddress,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(address)
}

/// How a managed Redis keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Not at all.
    None,
    /// Append-only file, synced every second.
    AofEverysec,
    /// Append-only file, synced at every write.
    AofAlways,
}

/// The load that the owner of a server allowed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ceiling {
    /// Operations per second over all agents.
    pub operations: f64,
    /// Connections over all agents.
    pub connections: u32,
}
