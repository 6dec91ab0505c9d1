//! What a strategy is: an entry in the catalogue, its claims and needs, and how it opens.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::lock::{LeasePolicy, LockError, LockInstance};
use crate::probe::Probe;

/// A kind of server that a strategy needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BackendKind {
    /// One Redis (or Valkey) server.
    Redis,
    /// The witness itself.
    Witness,
    /// A folder on this host.
    Folder,
}

impl BackendKind {
    /// The name used in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Witness => "witness",
            Self::Folder => "folder",
        }
    }
}

/// What a strategy promises. Liveness and hygiene are judged only where they are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each promise stands on its own")]
pub struct Claims {
    /// It is a lock at all: `false` only for `no-lock` and `control-none`.
    pub mutual_exclusion: bool,
    /// Nothing is left behind for ever when a holder dies.
    pub no_leak: bool,
    /// Waiters are served in order.
    pub fifo: bool,
    /// Every waiter is served in the end.
    pub no_starvation: bool,
    /// A free lock wakes a waiter.
    pub wake_up: bool,
    /// Grants carry rising fencing tokens.
    pub tokens: bool,
}

/// What kind of thing a strategy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A lock that people choose.
    Lock,
    /// The business case without any lock (`no-lock`): needs the guard `cas` or `atomic`.
    NoLock,
    /// A control with a known answer.
    Control {
        /// Whether its histories must be found violated.
        guilty: bool,
    },
}

/// Where the servers of a trial are. Addresses carry credentials and print none.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    /// The Redis under test.
    pub redis: Option<RedisAddress>,
    /// The witness.
    pub witness: Option<RedisAddress>,
    /// A private folder on this host.
    pub folder: Option<PathBuf>,
}

/// The URL of a Redis server. `Debug` and `Display` show it without user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisAddress {
    url: String,
}

impl RedisAddress {
    /// An address from a `redis://` or `rediss://` URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into() }
    }

    /// The URL with its credentials: for connecting and for handing to our own processes, never for printing.
    pub fn reveal(&self) -> &str {
        &self.url
    }
}

impl std::fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((scheme, rest)) = self.url.split_once("://") else {
            return f.write_str("(not a URL)");
        };
        let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        let host = rest.split(['?', '#']).next().unwrap_or_default();
        write!(f, "{scheme}://{host}")
    }
}

impl std::fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// What one instance gets to open itself with.
#[derive(Debug, Clone)]
pub struct InstanceSetup {
    /// Where the servers are.
    pub endpoints: Endpoints,
    /// Unique among all instances of all runs; owner values are made of it.
    pub identity: Rc<str>,
    /// How many clients will be asked of it.
    pub workers: u32,
    /// For jitter; the same seed gives the same waits.
    pub seed: u64,
}

/// A lock algorithm, ready to be opened.
#[async_trait(?Send)]
pub trait Strategy {
    /// Opens one application instance on the current thread.
    async fn open(
        &self,
        setup: &InstanceSetup,
        probe: Rc<dyn Probe>,
    ) -> Result<Box<dyn LockInstance>, LockError>;

    /// Its options with every default filled in, as they are stored with each result.
    fn options(&self) -> Value;

    /// The names of all objects that a grant of `key` may leave on the server: what is deleted after a run, and nothing else.
    fn objects(&self, key: &str) -> Vec<String>;

    /// The longest time that a waiter of this lock may sleep although the lock is free, by its own rules; `None` if it has none.
    fn wake_bound(&self, lease: LeasePolicy) -> Option<Duration>;
}

/// A bad option: where in the block it stands, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// Path inside the option block, such as `retry.every`; empty for the block itself.
    pub path: String,
    /// What is wrong, in words for the author of the scenario.
    pub message: String,
}

/// An entry of the catalogue.
pub struct Entry {
    /// Kebab-case, unique, the name of its file.
    pub name: &'static str,
    /// One line, for `lockbench list`.
    pub summary: &'static str,
    /// For `lockbench explain` and the docs (Markdown): what it follows, what it does not promise.
    pub page: &'static str,
    /// Lock, no lock, or control.
    pub role: Role,
    /// What it promises.
    pub claims: Claims,
    /// Whether a renewed lease can be asked of it: its client renews, or its leases never end.
    pub renews: bool,
    /// Which servers it needs.
    pub needs: &'static [BackendKind],
    /// Whether it works only among callers of one process.
    pub one_process: bool,
    /// JSON Schema of its option block.
    pub schema: fn() -> Value,
    /// Makes it from its option block (`null` or an object); called when the plan is made.
    pub build: fn(&Value) -> Result<Box<dyn Strategy>, OptionError>,
}
