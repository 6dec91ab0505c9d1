//! One Redis server of a run, ours or somebody's: what is read from it and what is cleared on it.

use std::time::Duration;

use anyhow::{Context, Result};
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, Value};
use results::checker::Leftover;
use results::trial::{ServerFacts, SlowCommand};
use strategies::clock::Moment;
use strategies::strategy::RedisAddress;
use tokio::time::sleep;

use crate::redis_connection::{ask, connect};
use crate::server_info::{Info, ServerInfo};

/// Names that go into one command at most.
const BATCH: usize = 500;

/// Characters of a slow command that are kept.
const SLOW_COMMAND_CHARS: usize = 120;

/// How often expiring objects are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A server that answers.
#[derive(Debug)]
pub struct RedisServer {
    /// `redis` or `witness`.
    pub name: &'static str,
    /// Where it is.
    pub address: RedisAddress,
    /// What it said about itself.
    pub info: ServerInfo,
    connection: MultiplexedConnection,
}

/// Counters of a server of ours at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    commands: u64,
    bytes: u64,
    cpu_us: Option<u64>,
}

/// Which objects on the server belong to the locks of a trial.
#[derive(Debug, Clone, Copy)]
pub struct LockObjects<'a> {
    /// Their common prefix.
    pub prefix: &'a str,
    /// All names that they can have.
    pub names: &'a [String],
}

impl RedisServer {
    /// A server that passed the preflight.
    pub const fn new(
        name: &'static str,
        address: RedisAddress,
        info: ServerInfo,
        connection: MultiplexedConnection,
    ) -> Self {
        Self { name, address, info, connection }
    }

    async fn ask<T: FromRedisValue>(&mut self, command: &[&str]) -> Result<T> {
        let answer = ask(&mut self.connection, command).await;
        let answer = match answer {
            Err(error) if error.is_unrecoverable_error() => {
                if let Ok(connection) = connect(&self.address).await {
                    self.connection = connection;
                }
                ask(&mut self.connection, command).await
            }
            other => other,
        };
        answer.with_context(|| format!("{} at {} failed", self.name, self.address))
    }

    /// Whether it answers.
    pub async fn answers(&mut self) -> bool {
        self.ask::<Value>(&["PING"]).await.is_ok()
    }

    /// Empties a server of ours and its slow log; somebody's loses nothing.
    pub async fn refresh(&mut self) -> Result<()> {
        if self.info.managed {
            self.ask::<()>(&["FLUSHALL"]).await?;
            self.ask::<()>(&["SLOWLOG", "RESET"]).await?;
        }
        Ok(())
    }

    /// How many of `names` exist.
    pub async fn count(&mut self, names: &[String]) -> Result<u64> {
        self.over("EXISTS", names).await
    }

    /// Deletes exactly `names`.
    pub async fn delete(&mut self, names: &[String]) -> Result<u64> {
        self.over("DEL", names).await
    }

    async fn over(&mut self, verb: &str, names: &[String]) -> Result<u64> {
        let mut sum = 0;
        for batch in names.chunks(BATCH) {
            let mut command = vec![verb];
            command.extend(batch.iter().map(String::as_str));
            sum += self.ask::<u64>(&command).await?;
        }
        Ok(sum)
    }

    /// The counters of a server of ours; `None` for somebody's, because others use it too.
    pub async fn counters(&mut self) -> Option<Counters> {
        if !self.info.managed {
            return None;
        }
        let info = Info::parse(&self.ask::<String>(&["INFO", "everything"]).await.ok()?);
        let cpu = info.micros("used_cpu_sys").zip(info.micros("used_cpu_user"));
        Some(Counters {
            commands: info.count("total_commands_processed")?,
            bytes: info.count("total_net_input_bytes")? + info.count("total_net_output_bytes")?,
            cpu_us: cpu.map(|(system, user)| system + user),
        })
    }

    /// What it did between two looks, and its slow log.
    pub async fn facts(
        &mut self,
        before: Option<Counters>,
        after: Option<Counters>,
    ) -> ServerFacts {
        let slowlog = if self.info.managed { self.slow_log().await.ok() } else { None };
        let Some((before, after)) = before.zip(after) else {
            return ServerFacts { slowlog, ..ServerFacts::default() };
        };
        ServerFacts {
            // The first look itself falls between the two.
            commands: after.commands.checked_sub(before.commands + 1),
            bytes: after.bytes.checked_sub(before.bytes),
            cpu_us: after.cpu_us.zip(before.cpu_us).and_then(|(a, b)| a.checked_sub(b)),
            slowlog,
        }
    }

    async fn slow_log(&mut self) -> Result<Vec<SlowCommand>> {
        let entries: Vec<Vec<Value>> = self.ask(&["SLOWLOG", "GET", "128"]).await?;
        Ok(entries.into_iter().filter_map(slow_command).collect())
    }

    /// Objects of locks that are still there once everything that ends by itself within `patience` has ended.
    ///
    /// A server of ours is searched by prefix; of somebody's only the exact names are looked at.
    pub async fn leftovers(
        &mut self,
        objects: LockObjects<'_>,
        patience: Duration,
    ) -> Result<Vec<Leftover>> {
        let give_up = Moment::now() + patience;
        loop {
            let found = self.look(objects).await?;
            let expiring = found.iter().any(|object| object.expires_in_ms.is_some());
            if !expiring || Moment::now() >= give_up {
                return Ok(found);
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn look(&mut self, objects: LockObjects<'_>) -> Result<Vec<Leftover>> {
        let scanned;
        let names = if self.info.managed {
            scanned = self.scan(objects.prefix).await?;
            &scanned
        } else {
            objects.names
        };
        let mut found = Vec::new();
        for name in names {
            let remaining: i64 = self.ask(&["PTTL", name]).await?;
            // -2: not there (any more); -1: there for ever.
            if remaining >= -1 {
                let short = name.strip_prefix(objects.prefix).unwrap_or(name);
                found.push(Leftover {
                    name: short.trim_start_matches(':').to_owned(),
                    expires_in_ms: u64::try_from(remaining).ok(),
                });
            }
        }
        Ok(found)
    }

    async fn scan(&mut self, prefix: &str) -> Result<Vec<String>> {
        let pattern = format!("{}*", escape(prefix));
        let mut names = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let command = ["SCAN", &cursor, "MATCH", &pattern, "COUNT", "1000"];
            let (next, mut page): (String, Vec<String>) = self.ask(&command).await?;
            names.append(&mut page);
            cursor = next;
            if cursor == "0" {
                names.sort_unstable();
                names.dedup();
                return Ok(names);
            }
        }
    }
}

fn slow_command(entry: Vec<Value>) -> Option<SlowCommand> {
    let mut fields = entry.into_iter().skip(2);
    let micros = u64::from_redis_value(fields.next()?).ok()?;
    let words = Vec::<String>::from_redis_value(fields.next()?).ok()?;
    let command = words.join(" ").chars().take(SLOW_COMMAND_CHARS).collect();
    Some(SlowCommand { micros, command })
}

/// A prefix as a pattern that matches itself alone.
fn escape(prefix: &str) -> String {
    prefix.chars().fold(String::new(), |mut escaped, letter| {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
        escaped
    })
}
