//! Redis (or Valkey) servers of our own: found, configured without anything implicit, started, waited for.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use strategies::clock::Moment;
use strategies::strategy::RedisAddress;
use tokio::time::sleep;

use crate::failure::Failure;
use crate::plan::Persistence;
use crate::redis_connection::{ask, connect};
use crate::server_info::Info;
use crate::supervisor_link::SupervisorLink;
use crate::supervisor_protocol::ServerCommand;

/// How long a server may take to answer its first PING.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// How often another port is tried when somebody was faster.
const ATTEMPTS: u32 = 5;

/// Programs that are a Redis server, in order of preference.
pub const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// What to type where none is there.
pub const REMEDY: &str = "install one: `apt-get install redis-server` (Debian, Ubuntu), `dnf install valkey` (Fedora), or `brew install redis` (macOS)";

/// A server to start.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// Its name in the scenario: `redis` or `witness`.
    pub name: &'a str,
    /// Whether it keeps its data.
    pub persistence: Persistence,
    /// Connections that it must take.
    pub clients: u64,
    /// Where its log goes.
    pub log: &'a Path,
}

/// A server that answers.
#[derive(Debug, Clone)]
pub struct ManagedRedis {
    /// Its process.
    pub pid: u32,
    /// Where it is.
    pub address: RedisAddress,
}

/// The first Redis server on PATH.
pub fn find() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    PROGRAMS
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            Failure::environment(anyhow!(
                "neither redis-server nor valkey-server is on PATH; {REMEDY}"
            ))
        })
}

/// Starts a server on a free loopback port and waits until it answers.
pub async fn start(link: &mut SupervisorLink, order: Order<'_>) -> Result<ManagedRedis, Failure> {
    let program = find()?;
    for attempt in 1..=ATTEMPTS {
        let port = free_port().map_err(Failure::environment)?;
        let command = ServerCommand {
            folder: format!("{}-{attempt}", order.name),
            program: program.clone(),
            arguments: arguments(order, port),
            log: order.log.to_owned(),
        };
        let pid = link.start_server(command).await.map_err(Failure::environment)?;
        let address = RedisAddress::new(format!("redis://127.0.0.1:{port}"));
        if wait_until_ready(link, pid, &address).await.map_err(Failure::environment)? {
            return Ok(ManagedRedis { pid, address });
        }
    }
    Err(Failure::environment(anyhow!(
        "could not start {} {ATTEMPTS} times in a row; its log is {}",
        program.display(),
        order.log.display()
    )))
}

fn arguments(order: Order<'_>, port: u16) -> Vec<String> {
    let (append_only, sync) = match order.persistence {
        Persistence::None => ("no", "everysec"),
        Persistence::AofEverysec => ("yes", "everysec"),
        Persistence::AofAlways => ("yes", "always"),
    };
    let port = port.to_string();
    let clients = order.clients.max(1_000).to_string();
    let pairs: [(&str, &str); 16] = [
        ("--port", &port),
        ("--bind", "127.0.0.1"),
        ("--protected-mode", "yes"),
        ("--daemonize", "no"),
        ("--dir", "."),
        ("--save", ""),
        ("--appendonly", append_only),
        ("--appendfsync", sync),
        ("--maxmemory", "0"),
        ("--maxmemory-policy", "noeviction"),
        ("--maxclients", &clients),
        ("--tcp-backlog", "511"),
        ("--timeout", "0"),
        ("--loglevel", "notice"),
        ("--slowlog-log-slower-than", "10000"),
        ("--slowlog-max-len", "128"),
    ];
    pairs.iter().flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]).collect()
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

/// `false` when the server ended by itself: somebody took its port first.
async fn wait_until_ready(
    link: &mut SupervisorLink,
    pid: u32,
    address: &RedisAddress,
) -> Result<bool> {
    let give_up = Moment::now() + READY_WITHIN;
    loop {
        if link.status(pid).await?.is_some() {
            return Ok(false);
        }
        if answering_process(address).await == Some(u64::from(pid)) {
            return Ok(true);
        }
        if Moment::now() > give_up {
            bail!("the server at {address} does not answer within {} s", READY_WITHIN.as_secs());
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Whoever answers must be ours, and not the one who was faster.
async fn answering_process(address: &RedisAddress) -> Option<u64> {
    let mut connection = connect(address).await.ok()?;
    let info: String = ask(&mut connection, &["INFO", "server"]).await.ok()?;
    Info::parse(&info).count("process_id")
}
