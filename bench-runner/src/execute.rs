//! The one straight path: folder, servers, trial after trial, verdicts, matrix, exit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::Value;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::judging::{self, Ledger, RUN_FILE};
use crate::limits;
use crate::plan::{Keep, Plan};
use crate::progress::{Display, Loudness};
use crate::run_directory::RunDirectory;
use crate::schedule::{Job, schedule};
use crate::signals::Signals;
use crate::terminal;
use crate::testbed::{Setup, Testbed};
use crate::trial::{self, Stage, Taken};

/// What is to be run, and how.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// What.
    pub plan: &'a Plan,
    /// The scenario as its author wrote it, without secrets.
    pub scenario: &'a str,
    /// Where runs are kept; the default folder if `None`.
    pub out: Option<&'a Path>,
    /// The run to finish, if not a new one.
    pub resume: Option<&'a Path>,
    /// Whether progress is shown.
    pub loudness: Loudness,
    /// The binary `lockbench`, for supervisor and agents.
    pub program: PathBuf,
}

/// Runs a plan and returns how it ended, with everything saved in the folder of the run.
pub async fn execute(order: Order<'_>, signals: Signals) -> Result<Exit, Failure> {
    limits::respect_ceilings(order.plan)?;
    limits::raise_open_files(order.plan)?;
    let directory = open(&order)?;
    let testbed = testbed(&order, &directory, signals.clone()).await?;
    let environment = Environment::of(&testbed).await?;
    let mut ledger = Ledger::new(order.plan, directory.journal(), &environment)?;
    directory.become_latest();
    let jobs = schedule(order.plan);
    let display = Display::new(order.loudness, jobs.len(), order.plan.duration());
    let mut stage = Stage {
        directory: &directory,
        testbed,
        program: order.program.clone(),
        signals,
        display,
        slo_response: order.plan.slo_response,
    };
    let stopped = carry_out(&mut stage, &order, &jobs, &mut ledger).await;
    stage.display.end();
    let interrupted = stage.signals.exit();
    stage.testbed.end().await?;
    conclude(&directory, &ledger, (stopped, interrupted))
}

fn open(order: &Order<'_>) -> Result<RunDirectory, Failure> {
    let plan = serde_json::to_value(order.plan).context("could not put the plan into JSON")?;
    if let Some(run) = order.resume {
        let directory = RunDirectory::resume(run)?;
        directory.must_have_plan(&plan)?;
        return Ok(directory);
    }
    let directory = RunDirectory::create(order.out, &order.plan.slug, &order.plan.prefix)?;
    directory.write("scenario.yaml", order.scenario.as_bytes())?;
    directory.write_json::<Value>("plan.json", &plan)?;
    Ok(directory)
}

async fn testbed(
    order: &Order<'_>,
    directory: &RunDirectory,
    mut signals: Signals,
) -> Result<Testbed, Failure> {
    let logs = directory.path().join("logs");
    std::fs::create_dir_all(&logs)
        .with_context(|| format!("could not create {}", logs.display()))?;
    let setup = Setup {
        plan: order.plan,
        program: &order.program,
        logs: &logs,
        prefix: &directory.journal().prefix,
        connections: limits::most_connections(order.plan),
    };
    tokio::select! {
        testbed = Testbed::start(setup) => testbed,
        exit = signals.stop() => Err(Failure { exit, error: anyhow!("interrupted before anything was measured") }),
    }
}

/// Every trial that has no result yet; the result is what ended it early, if anything did.
async fn carry_out<'a>(
    stage: &mut Stage<'_>,
    order: &Order<'a>,
    jobs: &[Job<'a>],
    ledger: &mut Ledger<'a>,
) -> Option<Failure> {
    let mut before = Duration::ZERO;
    for job in jobs {
        stage.display.begin(format!("{} trial {}", job.cell.head.id, job.trial), before);
        before = job.warmup + job.measure + crate::planning::OVERHEAD;
        if stage.signals.exit().is_some() {
            return None;
        }
        if let Err(failure) = one(stage, order, job, ledger).await {
            return Some(failure);
        }
    }
    None
}

async fn one<'a>(
    stage: &mut Stage<'_>,
    order: &Order<'a>,
    job: &Job<'a>,
    ledger: &mut Ledger<'a>,
) -> Result<(), Failure> {
    let folder = stage.directory.trial(&job.cell.head.id, job.trial);
    if let Some(judgement) = judging::finished(&folder)? {
        ledger.add(job.cell, &folder, judgement)?;
        return Ok(());
    }
    let Taken { facts, hopeless } = trial::run(stage, job).await?;
    let judgement = judging::judge_aside(&folder).await?;
    if !job.control {
        stage.display.judged(judging::violations(&judgement, job.cell));
    }
    if order.plan.keep == Keep::Violations {
        judging::drop_clean_histories(&folder, &facts, &judgement)?;
    }
    ledger.add(job.cell, &folder, judgement)?;
    ledger.save(&stage.directory.path().join(RUN_FILE))?;
    match hopeless {
        // With the disk full or a server gone, further trials would measure nothing.
        Some(why) => Err(Failure { exit: Exit::Partial, error: anyhow!("stopped: {why}") }),
        None => Ok(()),
    }
}

fn conclude(
    directory: &RunDirectory,
    ledger: &Ledger<'_>,
    (stopped, interrupted): (Option<Failure>, Option<Exit>),
) -> Result<Exit, Failure> {
    let whole = stopped.is_none() && interrupted.is_none();
    let mut exit = match ledger.close(&directory.path().join(RUN_FILE), whole) {
        Ok((run, exit)) => {
            judging::print(&run, directory.path())?;
            exit
        }
        // The disk is still full: what was finished is on it, and the last run.json is whole.
        Err(failure) if failure.is_disk_full() && stopped.is_some() => failure.exit,
        Err(failure) => return Err(failure),
    };
    if let Some(failure) = stopped {
        terminal::error(&failure.error);
        // What was measured before is worth keeping: then this is a run in part.
        let cut = failure.exit == Exit::Environment && ledger.measured();
        exit = exit.or(if cut { Exit::Partial } else { failure.exit });
    }
    Ok(interrupted.map_or(exit, |wish| exit.or(wish)))
}
