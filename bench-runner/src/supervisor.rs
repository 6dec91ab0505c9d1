//! The process that owns managed servers and the undo stack of faults, and cleans up when the controller dies in whatever way.
//!
//! It lives in a session of its own, so that Ctrl-C does not reach it, and ends as soon as it is told to or its
//! standard input ends. Its servers are tied to it: even if it is killed, the kernel kills them.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, setsid};

use crate::exit::Exit;
use crate::supervisor_protocol::{Reply, Request, ServerCommand, Undo};
use crate::tether::tie;

/// The hidden command `lockbench supervisor`: serves standard input until it ends.
pub fn run() -> Exit {
    // Fails only for a process that leads its group already: one started by hand from a shell.
    let _ = setsid();
    match private_folder().and_then(|folder| serve(&mut Supervisor::new(folder))) {
        Ok(()) => Exit::Pass,
        Err(_) => Exit::Environment,
    }
}

fn serve(supervisor: &mut Supervisor) -> io::Result<()> {
    let mut output = io::stdout().lock();
    send(&mut output, &Reply::Hello(supervisor.folder.clone()))?;
    for line in io::stdin().lock().lines() {
        let request = match serde_json::from_str(&line?) {
            Ok(request) => request,
            Err(error) => {
                send(&mut output, &Reply::Failed(format!("not a request: {error}")))?;
                continue;
            }
        };
        if request == Request::End {
            supervisor.end();
            return send(&mut output, &Reply::Done);
        }
        let reply = supervisor.answer(request);
        send(&mut output, &reply)?;
    }
    Ok(())
}

fn send(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

fn private_folder() -> io::Result<PathBuf> {
    let name = format!("lockbench-{}-{:08x}", getpid(), rand::random::<u32>());
    let folder = std::env::temp_dir().join(name);
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Ends everything when dropped: also when a reply cannot be sent, or after a panic.
struct Supervisor {
    folder: PathBuf,
    servers: BTreeMap<u32, Child>,
    undo: Vec<Undo>,
}

impl Supervisor {
    const fn new(folder: PathBuf) -> Self {
        Self { folder, servers: BTreeMap::new(), undo: Vec::new() }
    }

    fn answer(&mut self, request: Request) -> Reply {
        let done = match request {
            Request::Start(command) => {
                return self.start(&command).map_or_else(|e| failed(&e), Reply::Started);
            }
            Request::Status(pid) => {
                return self.status(pid).map_or_else(|e| failed(&e), Reply::Status);
            }
            Request::Stop(pid) => self.stop(pid),
            Request::Push(undo) => {
                self.undo.push(undo);
                Ok(())
            }
            Request::Pop => {
                self.undo.pop();
                Ok(())
            }
            Request::End => {
                self.end();
                Ok(())
            }
        };
        done.map_or_else(|e| failed(&e), |()| Reply::Done)
    }

    fn start(&mut self, server: &ServerCommand) -> io::Result<u32> {
        let folder = self.folder.join(&server.folder);
        DirBuilder::new().mode(0o700).create(&folder)?;
        let log = File::options().create(true).append(true).open(&server.log)?;
        let mut command = Command::new(&server.program);
        command.args(&server.arguments).current_dir(&folder).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        tie(&mut command);
        let child = command.spawn()?;
        let pid = child.id();
        self.servers.insert(pid, child);
        Ok(pid)
    }

    fn status(&mut self, pid: u32) -> io::Result<Option<String>> {
        let server = self.servers.get_mut(&pid).ok_or_else(|| unknown(pid))?;
        Ok(server.try_wait()?.map(in_words))
    }

    fn stop(&mut self, pid: u32) -> io::Result<()> {
        let mut server = self.servers.remove(&pid).ok_or_else(|| unknown(pid))?;
        server.kill()?;
        server.wait().map(|_| ())
    }

    fn end(&mut self) {
        while let Some(Undo::Resume(pid)) = self.undo.pop() {
            resume(pid);
        }
        for server in self.servers.values_mut() {
            // Fails only for a server that has ended by itself.
            let _ = server.kill();
        }
        for (_, mut server) in std::mem::take(&mut self.servers) {
            // Killed above: there is nobody left to hear of an error.
            let _ = server.wait();
        }
        remove(&self.folder);
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end();
    }
}

fn resume(pid: u32) {
    if let Ok(pid) = i32::try_from(pid) {
        // Fails only for a process that is gone: then there is nothing to undo.
        let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
    }
}

fn remove(folder: &Path) {
    // Removed already, or not ours to remove any more: no one is left to be told.
    let _ = std::fs::remove_dir_all(folder);
}

fn failed(error: &io::Error) -> Reply {
    Reply::Failed(error.to_string())
}

fn unknown(pid: u32) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no server of ours has process id {pid}"))
}

/// How a process ended, in words.
pub(crate) fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal().and_then(|signal| Signal::try_from(signal).ok())) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}
