//! What the tests of the whole program share: real servers, scenarios, and a lockbench to run them with.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::disallowed_methods, reason = "waiting for a condition, with a deadline")]

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A real Redis server; killed when dropped.
pub(crate) struct Redis {
    child: Child,
    /// Where it listens.
    pub(crate) port: u16,
    /// Its private folder.
    pub(crate) folder: TempDir,
}

impl Redis {
    /// Starts one with these arguments beside port and folder, and waits until it takes connections.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, arguments)
    }

    /// The same in a folder that exists.
    pub(crate) fn start_in(folder: TempDir, arguments: &[&str]) -> Self {
        let port = free_port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no", "--dir", &folder.path().display().to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is missing: apt-get install redis-server");
        let server = Self { child, port, folder };
        eventually("redis takes connections", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        server
    }

    /// Its URL without user and password.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its URL with what stands before the `@`.
    pub(crate) fn url_as(&self, who: &str) -> String {
        format!("redis://{who}@127.0.0.1:{}", self.port)
    }

    /// Runs one command on it.
    pub(crate) fn ask<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        ask_as(&self.url(), command)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Runs one command on a server.
pub(crate) fn ask_as<T: redis::FromRedisValue>(url: &str, command: &[&str]) -> T {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let mut words = redis::cmd(command[0]);
    for word in &command[1..] {
        words.arg(*word);
    }
    words.query(&mut connection).unwrap()
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits for a condition.
pub(crate) fn eventually(what: &str, condition: impl FnMut() -> bool) {
    within(PATIENCE, what, condition);
}

/// Waits for a condition for so long.
pub(crate) fn within(patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let give_up = Instant::now() + patience;
    while !condition() {
        assert!(Instant::now() < give_up, "waited {patience:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A folder with a scenario and its runs.
pub(crate) struct Bench {
    /// The folder.
    pub(crate) folder: TempDir,
}

impl Bench {
    /// With this scenario.
    pub(crate) fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("scenario.yaml"), scenario).unwrap();
        Self { folder }
    }

    /// `lockbench run scenario.yaml`, with more arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Running {
        self.start(&mut lockbench(), arguments)
    }

    /// The same with a command that ends in `lockbench`.
    pub(crate) fn start(&self, command: &mut Command, arguments: &[&str]) -> Running {
        let errors = fs::File::create(self.folder.path().join("stderr")).unwrap();
        let output = fs::File::create(self.folder.path().join("stdout")).unwrap();
        let child = command
            .args(["run", "scenario.yaml"])
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap();
        Running { child, folder: self.folder.path().to_owned() }
    }

    /// The folder of the latest run.
    pub(crate) fn latest(&self) -> PathBuf {
        fs::canonicalize(self.folder.path().join("runs/latest")).unwrap()
    }

    /// run.json of the latest run.
    pub(crate) fn run_json(&self) -> Value {
        json(&self.latest().join("run.json"))
    }
}

/// The program under test.
pub(crate) fn lockbench() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lockbench"))
}

/// A JSON file.
pub(crate) fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A lockbench that runs; killed when dropped.
pub(crate) struct Running {
    /// The process.
    pub(crate) child: Child,
    folder: PathBuf,
}

/// A lockbench that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it complained about.
    pub(crate) stderr: String,
}

impl Running {
    /// Waits until it ends, at most this long.
    pub(crate) fn ends_within(mut self, patience: Duration) -> Ended {
        let mut status: Option<ExitStatus> = None;
        within(patience, "lockbench ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let read = |name: &str| {
            let mut bytes = Vec::new();
            fs::File::open(self.folder.join(name)).unwrap().read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        Ended { code: status.and_then(|status| status.code()), stdout, stderr }
    }

    /// Waits until it ends.
    pub(crate) fn ends(self) -> Ended {
        self.ends_within(Duration::from_mins(2))
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Processes below it now, by id, with the words of their command line.
    pub(crate) fn children(&self) -> Vec<(u32, Vec<String>)> {
        descendants(self.child.id())
    }

    /// Its agents now.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let agent = |(pid, words): (u32, Vec<String>)| {
            (words.get(1).map(String::as_str) == Some("agent")).then_some(pid)
        };
        self.children().into_iter().filter_map(agent).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes below `root`, with their command lines.
pub(crate) fn descendants(root: u32) -> Vec<(u32, Vec<String>)> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let parent = rest.split(' ').nth(1).and_then(|parent| parent.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut known = vec![root];
    let mut index = 0;
    while index < known.len() {
        let below = parents.iter().filter(|(_, parent)| *parent == known[index]);
        let below: Vec<u32> = below.map(|(pid, _)| *pid).collect();
        known.extend(below);
        index += 1;
    }
    known.into_iter().skip(1).map(|pid| (pid, command_line(pid))).collect()
}

/// The words of the command line of a process; empty when it is gone.
pub(crate) fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Whether a process is there (a zombie is not).
pub(crate) fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    })
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.extend(files(&entry.path()));
        } else if kind.is_file() {
            all.push(entry.path());
        }
    }
    all
}
