//! `lockbench doctor`: what this machine has and lacks, and how to get it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use bytesize::ByteSize;
use nix::sys::statvfs::statvfs;

use crate::environment::clock_step_back;
use crate::exit::Exit;
use crate::limits::open_files;
use crate::managed_redis::{self, REMEDY};
use crate::run_directory::DEFAULT_OUT;
use crate::terminal::print;

/// Disk that the quickstart's histories need.
const DISK_NEEDED: u64 = 2 << 30;

/// Open files that the quickstart needs.
const FILES_NEEDED: u64 = 512;

/// Longer steps back of the clock make overlaps hard to prove.
const CLOCK_BOUND_NS: u64 = 1_000;

/// Servers of later strategies: program, and what it is for.
const LATER: [(&str, &str); 3] =
    [("java", "ZooKeeper"), ("etcd", "etcd"), ("postgres", "PostgreSQL")];

/// One thing looked at.
struct Finding {
    state: State,
    what: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// As it should be.
    Good,
    /// Works, but a reader of results should know.
    Warning,
    /// The quickstart cannot run.
    Lacking,
    /// Not needed by this build.
    Later,
}

/// Says what this machine has and lacks: passes when the quickstart can run.
pub fn run() -> anyhow::Result<Exit> {
    let mut findings = vec![redis(), files(), disk(), cores(), clock()];
    findings.extend(later());
    let mut text = String::new();
    for finding in &findings {
        let mark = match finding.state {
            State::Good => "ok     ",
            State::Warning => "warning",
            State::Lacking => "lacking",
            State::Later => "later  ",
        };
        text.extend([mark, "  ", &finding.what, "\n"]);
    }
    let lacking = findings.iter().any(|finding| finding.state == State::Lacking);
    text.push_str(if lacking {
        "\nthe quickstart cannot run yet\n"
    } else {
        "\nthe quickstart can run: lockbench run scenarios/quickstart.yaml\n"
    });
    print(&text)?;
    Ok(if lacking { Exit::Environment } else { Exit::Pass })
}

impl Finding {
    fn new(state: State, what: impl Into<String>) -> Self {
        Self { state, what: what.into() }
    }
}

fn redis() -> Finding {
    let Ok(program) = managed_redis::find() else {
        return Finding::new(
            State::Lacking,
            format!("neither redis-server nor valkey-server is on PATH; {REMEDY}"),
        );
    };
    match version(&program) {
        Some(version) => Finding::new(State::Good, format!("{}: {version}", program.display())),
        None => Finding::new(
            State::Lacking,
            format!("{} does not tell its version; {REMEDY}", program.display()),
        ),
    }
}

fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn files() -> Finding {
    match open_files() {
        Ok((soft, hard)) if hard >= FILES_NEEDED => Finding::new(
            State::Good,
            format!("open files: {soft}, may be raised to {hard} (one or two per worker)"),
        ),
        Ok((_, hard)) => Finding::new(
            State::Lacking,
            format!(
                "open files: {hard} at most, {FILES_NEEDED} needed; `ulimit -Hn {FILES_NEEDED}` as root, or LimitNOFILE="
            ),
        ),
        Err(failure) => Finding::new(State::Warning, failure.to_string()),
    }
}

fn disk() -> Finding {
    let folder = if Path::new(DEFAULT_OUT).is_dir() { DEFAULT_OUT } else { "." };
    match statvfs(folder) {
        Ok(disk) => {
            let free = disk.blocks_available() * disk.fragment_size();
            let state = if free < DISK_NEEDED { State::Warning } else { State::Good };
            let shown = ByteSize(free).display().iec();
            Finding::new(
                state,
                format!(
                    "disk for runs: {shown} free (`lockbench plan` says what a scenario needs)"
                ),
            )
        }
        Err(error) => {
            Finding::new(State::Warning, format!("disk for runs: cannot be looked at: {error}"))
        }
    }
}

fn cores() -> Finding {
    match thread::available_parallelism().map(usize::from) {
        Ok(1) => Finding::new(
            State::Warning,
            "one core: servers and generator take turns, so latencies include waiting for it",
        ),
        Ok(cores) => Finding::new(
            State::Good,
            format!(
                "{cores} cores (servers and generator share them: compare within one run only)"
            ),
        ),
        Err(error) => Finding::new(State::Warning, format!("cores cannot be counted: {error}")),
    }
}

fn clock() -> Finding {
    match clock_step_back() {
        Some(step) if step > CLOCK_BOUND_NS => Finding::new(
            State::Warning,
            format!(
                "the monotonic clock steps back by {step} ns between cores: shorter overlaps prove nothing"
            ),
        ),
        Some(step) => Finding::new(
            State::Good,
            format!("one monotonic clock on all cores (largest step back: {step} ns)"),
        ),
        None => Finding::new(State::Good, "one monotonic clock (one core, or not pinned)"),
    }
}

fn later() -> Vec<Finding> {
    LATER
        .iter()
        .filter(|(program, _)| on_path(program).is_none())
        .map(|(program, purpose)| {
            Finding::new(
                State::Later,
                format!("{program} is not on PATH; no strategy of this build needs {purpose}"),
            )
        })
        .collect()
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
