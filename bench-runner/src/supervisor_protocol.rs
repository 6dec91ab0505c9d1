//! What the controller and its supervisor say to each other, as JSON lines: one reply to each request.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A line to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Start a server.
    Start(ServerCommand),
    /// Is this server still there?
    Status(u32),
    /// Kill this server and wait for its end.
    Stop(u32),
    /// A fault is about to be injected: remember how to undo it.
    Push(Undo),
    /// The fault pushed last was healed.
    Pop,
    /// Undo all faults, end all servers, remove their folders, and exit.
    End,
}

/// A server to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCommand {
    /// Its folder below the supervisor's private one, created empty; also its working directory.
    pub folder: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments; no secrets, every user of the machine can see them.
    pub arguments: Vec<String>,
    /// Where its output goes; appended to.
    pub log: PathBuf,
}

/// How to undo a fault, in a form that works without the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// Let a stopped process go on (SIGCONT).
    Resume(u32),
}

/// A line from the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The first line, unasked: it is there, and this is its private folder.
    Hello(PathBuf),
    /// The server was started and has this process id.
    Started(u32),
    /// `None` while the server runs; otherwise how it ended, in words.
    Status(Option<String>),
    /// Done.
    Done,
    /// Not done, and why.
    Failed(String),
}
