//! The controller's side of its supervisor.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::supervisor_protocol::{Reply, Request, ServerCommand, Undo};

/// A supervisor that has not answered for this long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running supervisor. When dropped, its standard input closes and it cleans up by itself.
#[derive(Debug)]
pub struct SupervisorLink {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
}

impl SupervisorLink {
    /// Starts a supervisor: `program` is the binary `lockbench`.
    pub async fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("supervisor").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.stderr(Stdio::null()).spawn().context("could not start the supervisor")?;
        let input = child.stdin.take().context("the supervisor has no standard input")?;
        let output = child.stdout.take().context("the supervisor has no standard output")?;
        let output = BufReader::new(output).lines();
        let mut link = Self { child, input, output, folder: PathBuf::new() };
        match link.reply().await? {
            Reply::Hello(folder) => link.folder = folder,
            other => bail!("the supervisor began with {other:?} instead of a greeting"),
        }
        Ok(link)
    }

    /// Its private folder, which it removes when it ends.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Starts a server and returns its process id.
    pub async fn start_server(&mut self, command: ServerCommand) -> Result<u32> {
        let name = command.program.display().to_string();
        match self.ask(&Request::Start(command)).await? {
            Reply::Started(pid) => Ok(pid),
            other => bail!("could not start {name}: {other:?}"),
        }
    }

    /// `None` while a server runs; otherwise how it ended, in words.
    pub async fn status(&mut self, pid: u32) -> Result<Option<String>> {
        match self.ask(&Request::Status(pid)).await? {
            Reply::Status(status) => Ok(status),
            other => bail!("the supervisor cannot tell how process {pid} is: {other:?}"),
        }
    }

    /// Kills a server and waits for its end.
    pub async fn stop_server(&mut self, pid: u32) -> Result<()> {
        self.done(&Request::Stop(pid)).await
    }

    /// Notes how to undo a fault, before it is injected.
    pub async fn push(&mut self, undo: Undo) -> Result<()> {
        self.done(&Request::Push(undo)).await
    }

    /// Forgets the fault pushed last, after it was healed.
    pub async fn pop(&mut self) -> Result<()> {
        self.done(&Request::Pop).await
    }

    /// Has everything undone, ended and removed, and waits for it.
    pub async fn end(mut self) -> Result<()> {
        self.done(&Request::End).await?;
        timeout(PATIENCE, self.child.wait()).await.context("the supervisor does not end")??;
        Ok(())
    }

    async fn done(&mut self, request: &Request) -> Result<()> {
        match self.ask(request).await? {
            Reply::Done => Ok(()),
            other => bail!("the supervisor answered {other:?} to {request:?}"),
        }
    }

    async fn ask(&mut self, request: &Request) -> Result<Reply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.input.write_all(&line).await.context("the supervisor is gone")?;
        self.reply().await
    }

    async fn reply(&mut self) -> Result<Reply> {
        let line = timeout(PATIENCE, self.output.next_line())
            .await
            .context("the supervisor does not answer")?
            .context("could not read from the supervisor")?
            .context("the supervisor is gone")?;
        serde_json::from_str(&line).context("the supervisor's answer makes no sense")
    }
}
