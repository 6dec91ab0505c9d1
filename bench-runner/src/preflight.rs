//! Looks at a server before anything is measured on it: can we reach it, may we use it, is it the right one?
//!
//! Whatever is wrong ends the run here, with the server named, the cause and the remedy, before any load.

use anyhow::anyhow;
use redis::aio::MultiplexedConnection;
use redis::{Client, ErrorKind, RedisError, ServerErrorKind, Value};
use strategies::strategy::RedisAddress;

use crate::failure::Failure;
use crate::redis_connection::{ConnectError, PATIENCE, ask, connect};
use crate::server_info::{Info, ServerInfo};

/// `SET key value NX PX milliseconds`, without which no lock of ours works, came with this version of Redis.
const OLDEST: (u64, u64, u64) = (2, 6, 12);

/// A server, and what the run means to do on it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its name in the scenario: `redis` or `witness`.
    pub name: &'a str,
    /// Where it is.
    pub address: &'a RedisAddress,
    /// A key that nobody else uses; it is gone afterwards.
    pub probe_key: &'a str,
    /// Commands that the run needs there, in upper case.
    pub commands: &'a [&'static str],
}

/// Connects to the server and makes sure that the run can use it.
pub async fn check(
    candidate: Candidate<'_>,
) -> Result<(MultiplexedConnection, ServerInfo), Failure> {
    let mut connection = connect(candidate.address)
        .await
        .map_err(|error| candidate.refuse(&candidate.no_connection(&error)))?;
    let (info, save) = candidate.info(&mut connection).await?;
    if let Some(info) = &info {
        candidate.look_at(info)?;
    }
    candidate.try_commands(&mut connection).await?;
    let mut server =
        info.map(|info| ServerInfo::from_info(&info, save.as_deref())).unwrap_or_default();
    server.warnings = server.precondition_warnings(candidate.name);
    if server.version.is_none() {
        server.warnings.push(format!(
            "{}: INFO is not allowed there: its version, role and persistence are not known",
            candidate.name
        ));
    }
    Ok((connection, server))
}

impl Candidate<'_> {
    fn refuse(&self, what: &str) -> Failure {
        Failure::environment(anyhow!("{} at {}: {what}", self.name, self.address))
    }

    fn no_connection(&self, error: &ConnectError) -> String {
        let error = match error {
            ConnectError::Refused(error) => error,
            ConnectError::Silent => {
                return format!(
                    "no answer within {} s; is a Redis server listening there, and does a firewall let us through?",
                    PATIENCE.as_secs()
                );
            }
        };
        if error.is_connection_refusal() {
            return "connection refused; start the server, or correct its address".to_owned();
        }
        match error.kind() {
            ErrorKind::InvalidClientConfig => {
                "not an address that lockbench understands; write redis://host:port or rediss://host:port".to_owned()
            }
            ErrorKind::Io if !error.is_connection_dropped() => format!(
                "cannot connect: {}; correct its address",
                self.without_secrets(&error.to_string())
            ),
            _ => self.answer(error),
        }
    }

    /// An error answer in words: cause and remedy.
    fn answer(&self, error: &RedisError) -> String {
        match error.code() {
            Some("NOAUTH") => "it wants a password (NOAUTH); put one into the address: redis://user:${PASSWORD}@host:port".to_owned(),
            Some("WRONGPASS") => "user or password are wrong (WRONGPASS); correct them in the address".to_owned(),
            Some("NOPERM") => format!("the user may not do this (NOPERM): {}; `lockbench plan --acl` prints what it needs", self.details(error)),
            Some("READONLY") => REPLICA.to_owned(),
            Some("MASTERDOWN") => "it is a replica that has lost its master (MASTERDOWN); give the address of a running master".to_owned(),
            Some("LOADING") => "it is still loading its data (LOADING); wait until it has, and run again".to_owned(),
            Some("CLUSTERDOWN" | "MOVED" | "ASK" | "CROSSSLOT") => CLUSTER.to_owned(),
            Some("DENIED") => "it is in protected mode and serves only its own host (DENIED); set a password there".to_owned(),
            Some(code @ ("OOM" | "MISCONF" | "NOREPLICAS")) => format!("it takes no writes now ({code}): {}; repair it first", self.details(error)),
            _ => self.unusual(error),
        }
    }

    fn unusual(&self, error: &RedisError) -> String {
        if error.is_timeout() {
            return self.no_connection(&ConnectError::Silent);
        }
        match error.kind() {
            ErrorKind::AuthenticationFailed => {
                "user or password are wrong; correct them in the address".to_owned()
            }
            ErrorKind::Server(ServerErrorKind::ResponseError) => {
                format!("it answered: {}; is it a Redis server that we may use?", self.details(error))
            }
            _ => "it does not speak the Redis protocol; correct the address (and use rediss:// only for TLS)".to_owned(),
        }
    }

    fn details(&self, error: &RedisError) -> String {
        self.without_secrets(error.detail().unwrap_or("no details"))
    }

    /// What a server says may echo what we sent.
    fn without_secrets(&self, text: &str) -> String {
        let Ok(client) = Client::open(self.address.reveal()) else {
            return "(not shown)".to_owned();
        };
        let settings = client.get_connection_info().redis_settings();
        [settings.password(), settings.username()]
            .into_iter()
            .flatten()
            .filter(|secret| !secret.is_empty())
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }

    /// INFO and the save points, each only where it is allowed.
    async fn info(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(Option<Info>, Option<String>), Failure> {
        let info = match ask::<String>(connection, &["INFO"]).await {
            Ok(text) => Some(Info::parse(&text)),
            Err(error) if error.code() == Some("NOPERM") => None,
            Err(error) => return Err(self.refuse(&self.answer(&error))),
        };
        // Not allowed on many servers: then it is not known whether the server saves.
        let save = ask::<Vec<String>>(connection, &["CONFIG", "GET", "save"]).await.ok();
        Ok((info, save.and_then(|pair| pair.into_iter().nth(1))))
    }

    fn look_at(&self, info: &Info) -> Result<(), Failure> {
        if info.flag("loading") {
            return Err(self.refuse(
                "it is still loading its data (LOADING); wait until it has, and run again",
            ));
        }
        if info.text("role") == Some("slave") {
            return Err(self.refuse(REPLICA));
        }
        if info.flag("cluster_enabled") {
            return Err(self.refuse(CLUSTER));
        }
        if info.text("redis_mode") == Some("sentinel") {
            return Err(
                self.refuse("it is a sentinel and holds no data; give the address of a master")
            );
        }
        let version = info.text("redis_version").unwrap_or_default();
        if version_of(version).is_some_and(|version| version < OLDEST) {
            return Err(self.refuse(&format!(
                "its version {version} is too old: locks need Redis 2.6.12 or newer"
            )));
        }
        Ok(())
    }

    /// Tries every command once on a key of our own; names all that are missing.
    async fn try_commands(&self, connection: &mut MultiplexedConnection) -> Result<(), Failure> {
        let mut missing = Vec::new();
        let mut keys = None;
        for command in self.commands {
            let words = sample(command, self.probe_key);
            let Err(error) = ask::<Value>(connection, &words).await else { continue };
            match error.code() {
                Some("NOPERM") if self.details(&error).contains("key") => {
                    keys = Some(self.details(&error));
                }
                Some("NOPERM") => missing.push(*command),
                // An unknown script, a wrong type: the command was understood and allowed.
                Some("NOSCRIPT" | "WRONGTYPE") => {}
                Some("ERR") if self.details(&error).contains("not an integer") => {}
                Some("ERR") if self.details(&error).contains("unknown command") => {
                    missing.push(*command);
                }
                _ => return Err(self.refuse(&self.answer(&error))),
            }
        }
        // Whatever of it is not there is gone already, or goes within a second.
        let _ = ask::<Value>(connection, &["DEL", self.probe_key]).await;
        if !missing.is_empty() {
            return Err(self.refuse(&format!(
                "the user may not run {}, which this run needs (NOPERM); `lockbench plan --acl` prints the smallest ACL",
                missing.join(", ")
            )));
        }
        if keys.is_some() {
            return Err(self.refuse(&format!(
                "the user may not touch the keys of this run, such as {} (NOPERM); `lockbench plan --acl` prints the smallest ACL",
                self.probe_key
            )));
        }
        Ok(())
    }
}

const REPLICA: &str =
    "it is a replica and takes no writes (READONLY, role slave); give the address of its master";

const CLUSTER: &str = "it runs in cluster mode (cluster-enabled yes); this build speaks to single servers: give the address of one without cluster mode";

/// A harmless use of `command` on `key`.
fn sample<'a>(command: &'static str, key: &'a str) -> Vec<&'a str> {
    match command {
        "SET" => vec!["SET", key, "probe", "PX", "1000"],
        "SETNX" => vec!["SETNX", key, "probe"],
        "EXPIRE" => vec!["EXPIRE", key, "1"],
        "PEXPIRE" => vec!["PEXPIRE", key, "1000"],
        "EVAL" => vec!["EVAL", "return 1", "1", key],
        "EVALSHA" => vec!["EVALSHA", "0000000000000000000000000000000000000000", "1", key],
        "SCRIPT" => vec!["SCRIPT", "LOAD", "return 1"],
        "INCR" => vec!["INCR", key],
        "PING" | "TIME" => vec![command],
        "RPUSH" | "SADD" | "SREM" => vec![command, key, "probe"],
        "LRANGE" => vec!["LRANGE", key, "0", "0"],
        "HSET" | "HSETNX" => vec![command, key, "field", "probe"],
        "PUBLISH" => vec!["PUBLISH", key, "probe"],
        single_key => vec![single_key, key],
    }
}

fn version_of(text: &str) -> Option<(u64, u64, u64)> {
    let mut parts = text.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_and_not_by_letter() {
        assert!(version_of("2.6.9") < Some(OLDEST));
        assert!(version_of("10.0.0") > Some(OLDEST));
        assert_eq!(version_of("next"), None);
    }

    #[test]
    fn what_a_server_echoes_is_printed_without_secrets() {
        let address = RedisAddress::new("redis://alice:canary@127.0.0.1:1");
        let candidate =
            Candidate { name: "redis", address: &address, probe_key: "k", commands: &[] };
        assert_eq!(candidate.without_secrets("no user alice with canary"), "no user *** with ***");
        assert!(!candidate.refuse("gone").to_string().contains("canary"));
    }
}
