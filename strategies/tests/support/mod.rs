//! Real servers and a small world around the catalogue, for the tests of this crate.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::cell::Cell;
use std::future::Future;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use strategies::lock::{
    AcquireRequest, Acquisition, Lease, LeasePolicy, LockClient, LockError, LockInstance, Mode,
};
use strategies::probe::{Probe, Silent};
use strategies::strategy::{Endpoints, Entry, InstanceSetup, RedisAddress};
use tempfile::TempDir;

/// Longer than anything here may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A private Redis on a free port of this host; gone when dropped.
pub(crate) struct RedisServer {
    pub(crate) port: u16,
    pub(crate) folder: TempDir,
    arguments: Vec<String>,
    child: Option<Child>,
}

impl RedisServer {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With further arguments of `redis-server`.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut server = Self {
            port,
            folder: tempfile::tempdir().unwrap(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            child: None,
        };
        server.restart();
        server
    }

    pub(crate) fn restart(&mut self) {
        self.stop();
        // The kernel ends the server if the test ends in a way that runs no destructor.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "redis-server", "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--port", &self.port.to_string(), "--dir"])
            .arg(self.folder.path())
            .args(&self.arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("setpriv not found: apt-get install util-linux");
        self.child = Some(child);
        let began = Instant::now();
        // Any answer will do: a server that wants a password is up as well.
        while !self.answers() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "redis-server not found: apt-get install redis-server");
            assert!(began.elapsed() < DEADLINE, "redis-server did not come up");
            std::thread::yield_now();
        }
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.as_ref().unwrap().id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn address(&self) -> RedisAddress {
        RedisAddress::new(self.url())
    }

    /// Asks the server over a connection of its own, which is closed before this returns.
    pub(crate) fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_ask(words).unwrap()
    }

    fn try_ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query(&mut connection)
    }

    fn answers(&self) -> bool {
        match self.try_ask::<String>(&["PING"]) {
            Ok(_) => true,
            Err(error) => error.code().is_some_and(|code| code != "LOADING"),
        }
    }

    pub(crate) fn exists(&self, key: &str) -> bool {
        self.ask(&["EXISTS", key])
    }

    /// Connections of others than the one that asks.
    pub(crate) fn connections(&self) -> usize {
        self.ask::<String>(&["CLIENT", "LIST"]).lines().count() - 1
    }

    /// Calls of each command since the last reset, such as `set=1 evalsha=1`, without those of the tests themselves.
    pub(crate) fn calls(&self) -> String {
        let info: String = self.ask(&["INFO", "commandstats"]);
        let mut calls: Vec<String> = info
            .lines()
            .filter_map(|line| line.strip_prefix("cmdstat_"))
            .filter(|line| {
                !["info", "config", "client", "ping"].iter().any(|own| line.starts_with(own))
            })
            .map(|line| {
                let (name, figures) = line.split_once(":calls=").unwrap();
                format!("{name}={}", figures.split(',').next().unwrap())
            })
            .collect();
        calls.sort();
        calls.join(" ")
    }

    pub(crate) fn forget_calls(&self) {
        self.ask::<()>(&["CONFIG", "RESETSTAT"]);
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Everything that any entry of the catalogue needs.
pub(crate) struct World {
    pub(crate) server: RedisServer,
    pub(crate) folder: TempDir,
    opened: Cell<u32>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            server: RedisServer::start(),
            folder: tempfile::tempdir().unwrap(),
            opened: Cell::new(0),
        }
    }

    pub(crate) fn endpoints(&self) -> Endpoints {
        Endpoints {
            redis: Some(self.server.address()),
            witness: Some(self.server.address()),
            folder: Some(self.folder.path().to_owned()),
        }
    }

    /// A new instance of `entry`.
    pub(crate) async fn instance(
        &self,
        entry: &Entry,
        options: &Value,
        probe: Rc<dyn Probe>,
    ) -> Box<dyn LockInstance> {
        self.opened.set(self.opened.get() + 1);
        open(entry, options, self.endpoints(), &format!("i{}", self.opened.get()), probe)
            .await
            .unwrap()
    }

    /// One worker in a new instance of `entry` with its defaults.
    pub(crate) async fn client(&self, entry: &Entry) -> Box<dyn LockClient> {
        self.client_with(entry, &Value::Null, Rc::new(Silent)).await
    }

    pub(crate) async fn client_with(
        &self,
        entry: &Entry,
        options: &Value,
        probe: Rc<dyn Probe>,
    ) -> Box<dyn LockClient> {
        self.instance(entry, options, probe).await.client(7).await.unwrap()
    }
}

pub(crate) async fn open(
    entry: &Entry,
    options: &Value,
    endpoints: Endpoints,
    identity: &str,
    probe: Rc<dyn Probe>,
) -> Result<Box<dyn LockInstance>, LockError> {
    let strategy = (entry.build)(options).unwrap();
    let setup = InstanceSetup { endpoints, identity: identity.into(), workers: 8, seed: 42 };
    strategy.open(&setup, probe).await
}

pub(crate) fn entry(name: &str) -> &'static Entry {
    strategies::catalog::find(name).unwrap()
}

/// An exclusive request with a fixed lease; times in milliseconds.
pub(crate) fn request(key: &str, patience: u64, lease: u64) -> AcquireRequest {
    AcquireRequest {
        key: key.into(),
        mode: Mode::Exclusive,
        patience: Duration::from_millis(patience),
        lease: LeasePolicy::Fixed(Duration::from_millis(lease)),
    }
}

pub(crate) fn granted(answer: Result<Acquisition, LockError>) -> Lease {
    match answer {
        Ok(Acquisition::Granted(lease)) => lease,
        other => panic!("expected a grant, got {other:?}"),
    }
}

pub(crate) fn is_denied(answer: &Result<Acquisition, LockError>) -> bool {
    matches!(answer, Ok(Acquisition::Denied))
}

/// Waits until `condition` holds, which it must before the deadline.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Runs on a current-thread runtime, as every instance does.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
