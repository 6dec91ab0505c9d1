//! The machine that a run was measured on: recorded with every result, never judged.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::Serialize;
use strategies::clock::Moment;

use crate::server_info::ServerInfo;
use crate::testbed::Testbed;

/// Rounds of the clock check between two cores.
const ROUNDS: u32 = 2_000;

/// What a run was measured on. `None` where it cannot be read.
#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    /// Version of lockbench.
    pub lockbench: &'static str,
    /// Operating system and version of its kernel.
    pub kernel: Option<String>,
    /// Model of the processor.
    pub cpu_model: Option<String>,
    /// Cores that we may use.
    pub cpu_count: Option<usize>,
    /// Load average over one minute before the run.
    pub load_before: Option<f64>,
    /// Memory of the machine in kibibytes.
    pub memory_kib: Option<u64>,
    /// Identity of this boot: times of one boot can be compared.
    pub boot_id: Option<String>,
    /// Soft and hard limit of open files.
    pub open_files: Option<(u64, u64)>,
    /// How far the monotonic clock steps back from one core to another, nanoseconds; overlaps shorter than that prove nothing.
    pub clock_step_back_ns: Option<u64>,
    /// Whether generator and servers share the cores of one machine.
    pub shared_cores: bool,
    /// How controller and agents speak to servers.
    pub transport: Transport,
    /// Every server of the run.
    pub servers: BTreeMap<String, ServerInfo>,
    /// Processes that the controller started for the whole run.
    pub processes: BTreeMap<String, u32>,
    /// Things that a reader of the results should know.
    pub warnings: Vec<String>,
}

/// Options of all connections to servers that the strategies do not set themselves.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Transport {
    /// Where the servers are reached.
    pub protocol: &'static str,
    /// Strategies store their own (`nodelay`, `connections`) under the options of each cell.
    pub options: &'static str,
}

impl Environment {
    /// The machine and the servers of `testbed`, read on another thread so that signals are heard meanwhile.
    pub async fn of(testbed: &Testbed) -> Result<Self> {
        let (servers, processes) = (testbed.server_infos(), testbed.pids().clone());
        let looking = tokio::task::spawn_blocking(|| Self::observe(servers));
        let environment = looking.await.context("could not look at this machine")?;
        Ok(Self { processes, ..environment })
    }

    /// Reads the machine, and adds what is known about the servers.
    pub fn observe(servers: BTreeMap<String, ServerInfo>) -> Self {
        let warnings = servers.values().flat_map(|server| server.warnings.clone()).collect();
        Self {
            lockbench: env!("CARGO_PKG_VERSION"),
            kernel: kernel(),
            cpu_model: cpu_model(),
            cpu_count: thread::available_parallelism().ok().map(usize::from),
            load_before: load(),
            memory_kib: memory_kib(),
            boot_id: read("/proc/sys/kernel/random/boot_id"),
            open_files: crate::limits::open_files().ok(),
            clock_step_back_ns: clock_step_back(),
            shared_cores: servers.values().any(|server| server.same_host),
            transport: Transport { protocol: "tcp", options: "with each cell's strategy options" },
            servers,
            processes: BTreeMap::new(),
            warnings,
        }
    }
}

/// One line of a file of the kernel.
fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn kernel() -> Option<String> {
    Some(format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease")?))
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn cpu_model() -> Option<String> {
    field("/proc/cpuinfo", "model name")
}

fn memory_kib() -> Option<u64> {
    field("/proc/meminfo", "MemTotal")?.split(' ').next()?.parse().ok()
}

fn load() -> Option<f64> {
    read("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

/// Two threads on two cores hand a time back and forth; each must see a later one than it was handed.
///
/// `None` with one core, or where threads cannot be pinned.
pub fn clock_step_back() -> Option<u64> {
    if thread::available_parallelism().ok()?.get() < 2 {
        return None;
    }
    // Even times are written by the first thread, odd ones by the second.
    let ball = AtomicU64::new(1);
    thread::scope(|scope| {
        let second = scope.spawn(|| play(&ball, 1));
        let first = scope.spawn(|| play(&ball, 0));
        Some(first.join().ok()??.max(second.join().ok()??))
    })
}

fn play(ball: &AtomicU64, side: u64) -> Option<u64> {
    let pinned = pin(usize::try_from(side).ok()?);
    let mut worst = 0;
    for _ in 0..ROUNDS {
        let mut seen = ball.load(Ordering::Acquire);
        while seen & 1 == side {
            std::hint::spin_loop();
            thread::yield_now();
            seen = ball.load(Ordering::Acquire);
        }
        let now = Moment::now().0;
        worst = worst.max((seen & !1).saturating_sub(now));
        ball.store((now & !1) | side, Ordering::Release);
    }
    pinned.then_some(worst)
}

/// The threads end after the check, so nothing has to be put back.
fn pin(core: usize) -> bool {
    let mut cores = CpuSet::new();
    cores.set(core).is_ok() && sched_setaffinity(Pid::from_raw(0), &cores).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let environment = Environment::observe(BTreeMap::new());
        assert!(environment.kernel.is_some());
        assert!(environment.cpu_count.is_some());
        assert!(environment.clock_step_back_ns.is_none_or(|step| step < 1_000_000));
    }

    #[test]
    fn the_clock_check_leaves_this_thread_unpinned() {
        let before = thread::available_parallelism().unwrap();
        clock_step_back();
        assert_eq!(thread::available_parallelism().unwrap(), before);
    }
}
