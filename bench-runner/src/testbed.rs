//! The running servers of a run, and the controls over them.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use results::checker::Leftover;
use results::trial::ServerFacts;
use strategies::strategy::BackendKind;

use crate::failure::Failure;
use crate::managed_redis;
use crate::plan::{Plan, RedisBackend};
use crate::preflight::{self, Candidate};
use crate::redis_server::{Counters, LockObjects, RedisServer};
use crate::server_info::ServerInfo;
use crate::supervisor_link::SupervisorLink;

/// What every lock needs on the Redis under test, beside the commands of its own.
const LOCK_COMMANDS: &[&str] = &["SET", "GET", "DEL", "EXISTS", "PTTL", "EVALSHA", "SCRIPT"];

/// The strategy that locks in two steps, and what it needs in addition.
const TWO_STEPS: &str = "redis-setnx-expire";
const TWO_STEP_COMMANDS: &[&str] = &["SETNX", "EXPIRE", "PEXPIRE"];

/// What registers and the control on the witness need there, in scripts and outside.
const WITNESS_COMMANDS: &[&str] = &[
    "SET", "GET", "DEL", "EXISTS", "PTTL", "EVALSHA", "SCRIPT", "TIME", "INCR", "DECR", "HSET",
    "HSETNX", "RPUSH", "SADD", "SREM", "SCARD", "PEXPIRE",
];

/// The servers of a run. [`Testbed::end`] stops them; if it is dropped instead, the supervisor does.
#[derive(Debug)]
pub struct Testbed {
    link: SupervisorLink,
    redis: Option<RedisServer>,
    witness: RedisServer,
    pids: BTreeMap<String, u32>,
}

/// Counters of all servers at one moment, by name.
pub type Snapshot = BTreeMap<&'static str, Option<Counters>>;

/// How a testbed is begun.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// What will run on it.
    pub plan: &'a Plan,
    /// The binary `lockbench`, for the supervisor.
    pub program: &'a Path,
    /// Where logs of servers go.
    pub logs: &'a Path,
    /// Prefix of every key of the run.
    pub prefix: &'a str,
    /// Connections that each server must take.
    pub connections: u64,
}

impl Testbed {
    /// Starts our servers, looks at somebody's, and makes sure that the run can use them all.
    pub async fn start(setup: Setup<'_>) -> Result<Self, Failure> {
        let mut link = SupervisorLink::start(setup.program).await.map_err(Failure::environment)?;
        let mut pids = BTreeMap::new();
        pids.extend(link.pid().map(|pid| ("supervisor".to_owned(), pid)));
        let redis = match &setup.plan.backends.redis {
            Some(backend) => {
                let needs = Needs { name: "redis", commands: lock_commands(setup.plan) };
                Some(setup.server(&mut link, backend, needs, &mut pids).await?)
            }
            None => None,
        };
        let needs = Needs { name: "witness", commands: WITNESS_COMMANDS.to_vec() };
        let backend = &setup.plan.backends.witness;
        let witness = setup.server(&mut link, backend, needs, &mut pids).await?;
        Ok(Self { link, redis, witness, pids })
    }

    /// The Redis under test.
    pub const fn redis(&self) -> Option<&RedisServer> {
        self.redis.as_ref()
    }

    /// The witness.
    pub const fn witness(&self) -> &RedisServer {
        &self.witness
    }

    /// Processes that run for the whole run, by name.
    pub const fn pids(&self) -> &BTreeMap<String, u32> {
        &self.pids
    }

    /// What the servers said about themselves, by name.
    pub fn server_infos(&self) -> BTreeMap<String, ServerInfo> {
        let servers = self.redis.iter().chain([&self.witness]);
        servers.map(|server| (server.name.to_owned(), server.info.clone())).collect()
    }

    fn servers(&mut self) -> impl Iterator<Item = &mut RedisServer> {
        self.redis.iter_mut().chain([&mut self.witness])
    }

    /// Empties our servers before a trial, so that none begins with what another left.
    pub async fn refresh(&mut self) -> Result<(), Failure> {
        for server in self.servers() {
            server.refresh().await.map_err(Failure::environment)?;
        }
        Ok(())
    }

    /// Makes sure that the names of a trial are free on the lock's server.
    ///
    /// `again`: an earlier attempt at the same trial used the same names; then they are ours to delete.
    pub async fn claim(
        &mut self,
        needs: &[BackendKind],
        names: &[String],
        again: Attempt,
    ) -> Result<(), Failure> {
        let Some(server) = self.lock_server(needs) else { return Ok(()) };
        if again == Attempt::Another {
            server.delete(names).await.map_err(Failure::environment)?;
        }
        let taken = server.count(names).await.map_err(Failure::environment)?;
        if taken == 0 {
            return Ok(());
        }
        Err(Failure::environment(anyhow!(
            "{} at {}: {taken} of the names of this run exist there already, such as {}; they are not ours to delete: set another `prefix`",
            server.name,
            server.address,
            names.first().map_or("", String::as_str)
        )))
    }

    /// Counters of all servers now.
    pub async fn snapshot(&mut self) -> Snapshot {
        let mut snapshot = Snapshot::new();
        for server in self.servers() {
            snapshot.insert(server.name, server.counters().await);
        }
        snapshot
    }

    /// What the servers did between two snapshots, by name.
    pub async fn facts(
        &mut self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> BTreeMap<String, ServerFacts> {
        let mut facts = BTreeMap::new();
        for server in self.servers() {
            let look = |snapshot: &Snapshot| snapshot.get(server.name).copied().flatten();
            let (before, after) = (look(before), look(after));
            facts.insert(server.name.to_owned(), server.facts(before, after).await);
        }
        facts
    }

    /// What a lock left behind after everything ended, waiting for what ends by itself; `None` if its server cannot be asked.
    pub async fn leftovers(
        &mut self,
        needs: &[BackendKind],
        objects: LockObjects<'_>,
        patience: Duration,
    ) -> Option<Vec<Leftover>> {
        match self.lock_server(needs) {
            Some(server) => server.leftovers(objects, patience).await.ok(),
            // A lock within a process or a folder has no server to leave anything on.
            None => Some(Vec::new()),
        }
    }

    /// Deletes exactly these names of locks.
    pub async fn delete(&mut self, needs: &[BackendKind], names: &[String]) {
        if let Some(server) = self.lock_server(needs) {
            // A server that is gone keeps nothing that we could delete.
            let _ = server.delete(names).await;
        }
    }

    /// Which servers do not answer any more.
    pub async fn silent(&mut self) -> Vec<&'static str> {
        let mut silent = Vec::new();
        for server in self.servers() {
            if !server.answers().await {
                silent.push(server.name);
            }
        }
        silent
    }

    /// A new empty folder for locks on this host; gone with the testbed.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.link.folder().join(name);
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&folder);
        made.with_context(|| format!("could not create {}", folder.display()))?;
        Ok(folder)
    }

    /// Stops our servers and removes their folders.
    pub async fn end(self) -> Result<(), Failure> {
        self.link.end().await.map_err(Failure::environment)
    }

    fn lock_server(&mut self, needs: &[BackendKind]) -> Option<&mut RedisServer> {
        if needs.contains(&BackendKind::Redis) {
            self.redis.as_mut()
        } else if needs.contains(&BackendKind::Witness) {
            Some(&mut self.witness)
        } else {
            None
        }
    }
}

/// Whether a trial's names were used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Never.
    First,
    /// By an attempt that did not finish.
    Another,
}

struct Needs {
    name: &'static str,
    commands: Vec<&'static str>,
}

fn lock_commands(plan: &Plan) -> Vec<&'static str> {
    let two_steps = plan.cells.iter().any(|cell| cell.strategy.name == TWO_STEPS);
    let own = if two_steps { TWO_STEP_COMMANDS } else { &[] };
    [LOCK_COMMANDS, own].concat()
}

impl Setup<'_> {
    async fn server(
        &self,
        link: &mut SupervisorLink,
        backend: &RedisBackend,
        needs: Needs,
        pids: &mut BTreeMap<String, u32>,
    ) -> Result<RedisServer, Failure> {
        let (address, persistence) = match backend {
            RedisBackend::Managed { persistence } => {
                let log = self.logs.join(format!("{}.log", needs.name));
                let order = managed_redis::Order {
                    name: needs.name,
                    persistence: *persistence,
                    clients: self.connections,
                    log: &log,
                };
                let managed = managed_redis::start(link, order).await?;
                pids.insert(needs.name.to_owned(), managed.pid);
                (managed.address, Some(*persistence))
            }
            RedisBackend::Address { address, .. } => (address.clone(), None),
        };
        let probe_key = format!("{}:preflight", self.prefix);
        let candidate = Candidate {
            name: needs.name,
            address: &address,
            probe_key: &probe_key,
            commands: &needs.commands,
        };
        let (connection, mut info) = preflight::check(candidate).await?;
        info.managed = persistence.is_some();
        info.same_host = info.managed || on_loopback(&address.to_string());
        if info.managed {
            // Chosen by the scenario, and stored with it: no surprise to warn of.
            info.warnings.clear();
        } else {
            info.address = Some(address.to_string());
        }
        Ok(RedisServer::new(needs.name, address, info, connection))
    }
}

fn on_loopback(shown: &str) -> bool {
    let host = shown.split_once("://").map_or(shown, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}
