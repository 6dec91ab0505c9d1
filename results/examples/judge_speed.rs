//! Measures how fast a saved trial is judged: `cargo run --release -p results --example judge_speed [HOLDS] [KEYS]`.
//!
//! Writes four histories, seven records per hold, and puts them together and through every checker on one core.

#![allow(clippy::print_stdout, reason = "a measurement is there to be printed")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use results::assemble::assemble;
use results::checker::Aftermath;
use results::checkers::all_findings;
use results::event::{Event, EventKind, OpId, StepOutcome};
use results::history::{Header, Origin};
use results::history_writer::HistoryWriter;
use results::trial::{AgentFacts, Check, TrialFacts};

const FILES: u32 = 4;
const WORKERS_PER_FILE: u32 = 4;
/// From one grant of a key to the next, in nanoseconds.
const STEP: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let holds: u64 = arguments.next().map_or(Ok(5_000_000), |text| text.parse())?;
    let keys: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    let names = write(directory.path(), holds, keys)?;
    let facts = facts(names, keys);
    let checks = checks();
    let before = memory()?;
    let started = Instant::now();
    let mut operations = 0_u64;
    let history =
        assemble(directory.path(), &facts, Aftermath::default(), &mut |_| operations += 1)?;
    let assembled = started.elapsed();
    let bytes = memory()?.saturating_sub(before);
    let findings = all_findings(&checks, &history);
    let total = started.elapsed();
    let peak = memory()?.saturating_sub(before);
    println!("{operations} operations, {} holds of {keys} keys", history.holds.len());
    println!("assembled in {assembled:?}, judged in {:?}", total.saturating_sub(assembled));
    println!("{:.2} M holds/s", holds as f64 / total.as_secs_f64() / 1e6);
    println!(
        "{:.1} bytes per hold when put together, {:.1} with the checkers",
        bytes as f64 / holds as f64,
        peak as f64 / holds as f64
    );
    for finding in findings {
        println!(
            "{:<20} {:?}, {} of {}, {}",
            finding.kind.name(),
            finding.verdict,
            finding.count,
            finding.exposures,
            finding.reason.unwrap_or_default()
        );
    }
    Ok(())
}

/// The largest resident size so far, in bytes.
fn memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

fn checks() -> Vec<Check> {
    vec![
        Check::MutualExclusion,
        Check::NonOwnerRelease,
        Check::GrantBornDead,
        Check::LostWakeUp { bound_ns: 1_000_000_000 },
        Check::Starvation,
        Check::Leak,
        Check::Oversell,
        Check::LostUpdate,
    ]
}

/// Workers take turns on each key, and wait while others hold it.
fn write(directory: &Path, holds: u64, keys: u32) -> Result<Vec<String>, Box<dyn Error>> {
    let mut writers = Vec::new();
    let mut names = Vec::new();
    for instance in 0..FILES {
        let origin =
            Origin { run: "speed", cell: "speed", trial: 1, agent: 0, instance, strategy: "none" };
        let name = format!("history-{instance}.lbh");
        let header = Header::of_this_process(&origin)?;
        writers.push(HistoryWriter::create(&directory.join(&name), &header)?);
        names.push(name);
    }
    let workers = u64::from(FILES * WORKERS_PER_FILE);
    for hold in 0..holds {
        let worker = u32::try_from(hold % workers)?;
        let key = u32::try_from(hold % u64::from(keys))?;
        let writer = &mut writers[(worker % FILES) as usize];
        for event in operation(OpId::new(worker, hold / workers), key, (hold + 20) * STEP) {
            writer.push(event);
        }
    }
    for writer in writers {
        writer.finish()?;
    }
    Ok(names)
}

fn operation(op: OpId, key: u32, at: u64) -> [Event; 7] {
    let called = at - 3 * STEP;
    let event = |at, kind, arg, seq| {
        let outcome = StepOutcome::Ok;
        Event { at, op, key, kind, outcome, flags: 0, arg, seq }
    };
    [
        event(called, EventKind::Start, called, called),
        event(called, EventKind::AcquireCall, 0, 0),
        event(at, EventKind::AcquireReturn, at - STEP / 4, at + 10_000_000_000),
        event(at + STEP / 4, EventKind::Write, 1, 1),
        event(at + STEP / 2, EventKind::ReleaseCall, 0, 0),
        event(at + STEP / 2 + STEP / 8, EventKind::ReleaseReturn, 0, 0),
        event(at + STEP / 2 + STEP / 8, EventKind::Finish, 0, 0),
    ]
}

fn facts(histories: Vec<String>, keys: u32) -> TrialFacts {
    let agent = AgentFacts {
        agent: 0,
        histories,
        lost: None,
        cpu_us: None,
        finished: None,
        errors: BTreeMap::new(),
        scripts_reloaded: 0,
    };
    TrialFacts {
        format: 1,
        run: "speed".to_owned(),
        cell: "speed".to_owned(),
        trial: 1,
        window_start: 0,
        window_end: u64::MAX,
        workers: FILES * WORKERS_PER_FILE,
        keys,
        open_load: false,
        scheduled: None,
        slo_response_ns: None,
        checks: Vec::new(),
        counted: Vec::new(),
        agents: vec![agent],
        servers: BTreeMap::new(),
        partial: None,
    }
}
