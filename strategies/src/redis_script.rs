//! A Lua script that is sent by its hash.

use redis::Cmd;

/// A script and its SHA-1, by which the server knows it once it is loaded.
#[derive(Debug, Clone)]
pub struct Script {
    source: &'static str,
    hash: String,
}

impl Script {
    /// A script from its source.
    pub fn new(source: &'static str) -> Self {
        Self { source, hash: redis::Script::new(source).get_hash().to_owned() }
    }

    /// `EVALSHA`: one round trip, an error beginning `NOSCRIPT` if the server does not know it.
    pub fn by_hash(&self, keys: &[&str], arguments: &[&str]) -> Cmd {
        command("EVALSHA", &self.hash, keys, arguments)
    }

    /// `EVAL`: always works, and makes the server know the script.
    pub fn by_source(&self, keys: &[&str], arguments: &[&str]) -> Cmd {
        command("EVAL", self.source, keys, arguments)
    }

    /// `SCRIPT LOAD`.
    pub fn load(&self) -> Cmd {
        let mut command = redis::cmd("SCRIPT");
        command.arg("LOAD").arg(self.source);
        command
    }
}

fn command(name: &'static str, script: &str, keys: &[&str], arguments: &[&str]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(keys.len()).arg(keys).arg(arguments);
    command
}
