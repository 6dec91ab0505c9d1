//! The supervisor on its own: nothing that it started outlives it or its controller.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use bench_runner::supervisor_protocol::{Reply, Request, ServerCommand, Undo};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{alive, eventually, free_port, lockbench, within};

const SOON: Duration = Duration::from_secs(2);

struct Supervisor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Supervisor {
    fn start() -> Self {
        let mut child = lockbench()
            .arg("supervisor")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut supervisor = Self { child, input, output, folder: PathBuf::new() };
        let Reply::Hello(folder) = supervisor.reply() else { panic!("no greeting") };
        supervisor.folder = folder;
        supervisor
    }

    fn reply(&mut self) -> Reply {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, request: &Request) -> Reply {
        let line = format!("{}\n", serde_json::to_string(request).unwrap());
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.reply()
    }

    fn redis(&mut self) -> u32 {
        let command = ServerCommand {
            folder: "redis".into(),
            program: "redis-server".into(),
            arguments: ["--port", &free_port().to_string(), "--save", ""]
                .iter()
                .map(|word| (*word).to_owned())
                .collect(),
            log: self.folder.join("redis.log"),
        };
        let Reply::Started(pid) = self.ask(&Request::Start(command)) else {
            panic!("redis-server is missing: apt-get install redis-server");
        };
        assert!(alive(pid));
        pid
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

#[test]
fn it_ends_servers_and_itself_when_its_controller_is_gone() {
    let mut supervisor = Supervisor::start();
    let redis = supervisor.redis();
    assert!(supervisor.folder.exists());
    supervisor.input = None;
    within(SOON, "redis is gone", || !alive(redis));
    within(SOON, "the supervisor is gone", || supervisor.child.try_wait().unwrap().is_some());
    assert!(!supervisor.folder.exists());
}

#[test]
fn it_ends_everything_when_it_is_told_to() {
    let mut supervisor = Supervisor::start();
    let redis = supervisor.redis();
    assert_eq!(supervisor.ask(&Request::End), Reply::Done);
    assert!(!alive(redis));
    assert!(!supervisor.folder.exists());
    within(SOON, "the supervisor is gone", || supervisor.child.try_wait().unwrap().is_some());
}

#[test]
fn its_servers_die_with_it_even_when_it_is_killed() {
    let mut supervisor = Supervisor::start();
    let redis = supervisor.redis();
    send(supervisor.pid(), Signal::SIGKILL);
    within(SOON, "redis is gone", || !alive(redis));
    supervisor.child.wait().unwrap();
    std::fs::remove_dir_all(&supervisor.folder).unwrap();
}

#[test]
fn it_lives_in_a_session_of_its_own() {
    let supervisor = Supervisor::start();
    let session = nix::unistd::getsid(Some(Pid::from_raw(supervisor.pid().try_into().unwrap())));
    assert_eq!(u32::try_from(session.unwrap().as_raw()).unwrap(), supervisor.pid());
    drop(supervisor);
}

#[test]
fn it_tells_how_a_server_ended() {
    let mut supervisor = Supervisor::start();
    let redis = supervisor.redis();
    assert_eq!(supervisor.ask(&Request::Status(redis)), Reply::Status(None));
    send(redis, Signal::SIGKILL);
    eventually("the end is noticed", || {
        supervisor.ask(&Request::Status(redis))
            == Reply::Status(Some("was killed by SIGKILL".into()))
    });
}

#[test]
fn it_undoes_a_fault_that_nobody_healed() {
    let mut victim = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let mut supervisor = Supervisor::start();
    assert_eq!(supervisor.ask(&Request::Push(Undo::Resume(victim.id()))), Reply::Done);
    send(victim.id(), Signal::SIGSTOP);
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    };
    eventually("the victim is stopped", || state(victim.id()) == 'T');
    supervisor.input = None;
    within(SOON, "the victim goes on", || state(victim.id()) != 'T');
    victim.kill().unwrap();
    victim.wait().unwrap();
    supervisor.child.wait().unwrap();
}

#[test]
fn nonsense_is_answered_and_survived() {
    let mut supervisor = Supervisor::start();
    supervisor.input.as_mut().unwrap().write_all(b"what?\n").unwrap();
    assert!(matches!(supervisor.reply(), Reply::Failed(_)));
    assert!(matches!(supervisor.ask(&Request::Status(1)), Reply::Failed(_)));
    assert_eq!(supervisor.ask(&Request::End), Reply::Done);
}
