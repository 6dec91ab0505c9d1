//! One trial: servers emptied, register laid out, agents started together, measured, and everything saved.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use results::checker::Aftermath;
use results::trial::{AgentFacts, TrialFacts};
use strategies::clock::Moment;
use strategies::strategy::{Entry, Strategy};
use workloads::workload::{RegisterSetup, Workload};

use crate::agents::{AgentEnd, Agents};
use crate::assignment::Assignment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plan::Load;
use crate::planning::sense::checks;
use crate::progress::Display;
use crate::redis_server::LockObjects;
use crate::run_directory::{RunDirectory, write_json};
use crate::schedule::Job;
use crate::signals::Signals;
use crate::testbed::{Attempt, Snapshot, Testbed};

/// How long agents may take to connect and to load their scripts.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// From the order to start until the start, so that every agent has read it.
const HEAD_START: Duration = Duration::from_millis(50);

/// What agents may take, after the last operation, to put everything on disk.
const GRACE: Duration = Duration::from_secs(1);

/// What agents may take to stop when the user wants to stop: a second to finish what is under way, and a bit.
const STOP_WITHIN: Duration = Duration::from_millis(1_300);

/// Longer than its lease nothing of a lock should be there, give or take this.
const LEFTOVER_MARGIN: Duration = Duration::from_secs(2);

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(250);

/// What every trial of a run works with.
#[derive(Debug)]
pub struct Stage<'a> {
    /// Where results go.
    pub directory: &'a RunDirectory,
    /// The servers.
    pub testbed: Testbed,
    /// The binary that carries load.
    pub program: PathBuf,
    /// What the user wants.
    pub signals: Signals,
    /// What the user sees.
    pub display: Display,
    /// What a response must not exceed to count as good.
    pub slo_response: Option<Duration>,
}

/// What a cell is made of, built from its names and options.
struct Parts {
    entry: &'static Entry,
    strategy: Box<dyn Strategy>,
    workload: Box<dyn Workload>,
}

/// Everything of a trial that has a name.
struct Names {
    folder: PathBuf,
    lock_folder: PathBuf,
    lock_prefix: String,
    register: RegisterSetup,
    keys: u32,
    objects: Vec<String>,
}

/// When a trial begins, measures, and must have ended.
#[derive(Debug, Clone, Copy)]
struct Timetable {
    start: Moment,
    window_start: Moment,
    window_end: Moment,
    deadline: Moment,
}

/// What was seen from outside while the agents ran.
struct Watched {
    before: Snapshot,
    after: Snapshot,
    interrupted: bool,
}

/// A trial that is saved and not judged yet.
#[derive(Debug)]
pub struct Taken {
    /// What is known about it.
    pub facts: TrialFacts,
    /// Why later trials would measure nothing (disk full, a server gone), if so.
    pub hopeless: Option<String>,
}

/// Carries out one trial and saves what there is to judge in its folder.
pub async fn run(stage: &mut Stage<'_>, job: &Job<'_>) -> Result<Taken, Failure> {
    let parts = Parts::of(job)?;
    let attempt = clear(stage, job)?;
    let names = Names::of(stage, job, &parts)?;
    stage.testbed.refresh().await?;
    stage.testbed.claim(parts.entry.needs, &names.objects, attempt).await?;
    parts.workload.prepare(&names.register).await.map_err(|error| {
        Failure::environment(anyhow!("could not lay out the register of {}: {error}", id(job)))
    })?;
    let assignments = assignments(stage, job, &names);
    let mut agents = Agents::spawn(&stage.program, &assignments, &names.folder).await?;
    ready(stage, job, &mut agents).await?;
    let timetable = Timetable::from_now(job);
    agents.start(timetable.start).await;
    let watched = watch(stage, &mut agents, timetable).await;
    let ends = agents.finish().await;
    let aftermath = aftermath(stage, job, &parts, (&names, &watched)).await;
    write_json(&names.folder.join("aftermath.json"), &aftermath)?;
    let hopeless = hopeless(stage, &ends).await;
    let facts = facts(stage, job, (&names, &watched), (timetable, ends, hopeless.as_deref())).await;
    write_json(&names.folder.join("trial.json"), &facts)?;
    stage.testbed.delete(parts.entry.needs, &names.objects).await;
    // What stays in the register harms nobody: its names are this trial's alone.
    let _ = parts.workload.clear(&names.register).await;
    Ok(Taken { facts, hopeless })
}

fn id(job: &Job<'_>) -> String {
    format!("{}, trial {}", job.cell.head.id, job.trial)
}

/// A trial folder without a result is what is left of an attempt that did not finish: it begins anew.
fn clear(stage: &Stage<'_>, job: &Job<'_>) -> Result<Attempt, Failure> {
    let folder = stage.directory.trial(&job.cell.head.id, job.trial);
    let attempt = if folder.exists() { Attempt::Another } else { Attempt::First };
    if attempt == Attempt::Another {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("could not clear {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)
        .with_context(|| format!("could not create {}", folder.display()))?;
    Ok(attempt)
}

impl Parts {
    fn of(job: &Job<'_>) -> Result<Self, Failure> {
        let (strategy, workload) = (&job.cell.strategy, &job.cell.workload);
        let missing = |name: &str| Failure::usage(anyhow!("{name} is in no catalogue"));
        let entry =
            strategies::catalog::find(&strategy.name).ok_or_else(|| missing(&strategy.name))?;
        let carried =
            workloads::catalog::find(&workload.name).ok_or_else(|| missing(&workload.name))?;
        Ok(Self {
            entry,
            strategy: (entry.build)(&strategy.options).map_err(Failure::usage)?,
            workload: (carried.build)(&workload.options).map_err(Failure::usage)?,
        })
    }
}

impl Names {
    fn of(stage: &Stage<'_>, job: &Job<'_>, parts: &Parts) -> Result<Self, Failure> {
        let prefix = format!("{}:{}:{}", stage.directory.journal().prefix, job.tag, job.trial);
        let lock_prefix = format!("{prefix}:lock");
        let keys = parts.workload.keys(job.cell.clients.total());
        let objects = (0..keys)
            .flat_map(|key| parts.strategy.objects(&format!("{lock_prefix}:{key}")))
            .collect();
        Ok(Self {
            folder: stage.directory.trial(&job.cell.head.id, job.trial),
            lock_folder: stage.testbed.folder(&format!("locks-{}-{}", job.tag, job.trial))?,
            register: RegisterSetup {
                witness: stage.testbed.witness().address.clone(),
                prefix: format!("{prefix}:register"),
            },
            lock_prefix,
            keys,
            objects,
        })
    }
}

fn assignments(stage: &Stage<'_>, job: &Job<'_>, names: &Names) -> Vec<Assignment> {
    let cell = job.cell;
    let agents = cell.clients.agents.clamp(1, cell.clients.instances.max(1));
    let redis = stage.testbed.redis().map(|server| server.address.reveal().to_owned());
    let one = |agent: u32| Assignment {
        format: 1,
        run: stage.directory.journal().run.clone(),
        cell: cell.head.id.clone(),
        trial: job.trial,
        agent,
        clients: cell.clients,
        instances: (0..cell.clients.instances).filter(|i| i % agents == agent).collect(),
        strategy: cell.strategy.name.clone(),
        strategy_options: cell.strategy.options.clone(),
        workload: cell.workload.name.clone(),
        workload_options: cell.workload.options.clone(),
        load: cell.load,
        caller: cell.caller.clone(),
        guard: cell.guard.clone(),
        lock: cell.lock,
        redis: redis.clone(),
        witness: Some(names.register.witness.reveal().to_owned()),
        folder: names.lock_folder.clone(),
        lock_prefix: names.lock_prefix.clone(),
        register_prefix: names.register.prefix.clone(),
        seed: job.seed,
        directory: names.folder.clone(),
        warmup_ns: nanos(job.warmup),
        measure_ns: nanos(job.measure),
        drain_ns: nanos(drain(job)),
    };
    (0..agents).map(one).collect()
}

/// Long enough for a caller that began to wait at the very end, short enough to end on time.
fn drain(job: &Job<'_>) -> Duration {
    job.cell.lock.patience.clamp(Duration::from_millis(200), Duration::from_secs(1))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

async fn ready(stage: &mut Stage<'_>, job: &Job<'_>, agents: &mut Agents) -> Result<(), Failure> {
    let exit = tokio::select! {
        ready = agents.ready(READY_WITHIN) => {
            return ready.with_context(|| id(job)).map_err(not_ready);
        }
        exit = stage.signals.stop() => exit,
    };
    Err(Failure { exit, error: anyhow!("{}: interrupted before it began", id(job)) })
}

/// An agent tells in words what it cannot do; a full disk is known by the words of the system.
fn not_ready(error: anyhow::Error) -> Failure {
    let full = std::io::Error::from(nix::errno::Errno::ENOSPC).to_string();
    let exit = if format!("{error:#}").contains(&full) { Exit::Partial } else { Exit::Environment };
    Failure { exit, error }
}

impl Timetable {
    fn from_now(job: &Job<'_>) -> Self {
        let start = Moment::now() + HEAD_START;
        let window_start = start + job.warmup;
        let window_end = window_start + job.measure;
        Self { start, window_start, window_end, deadline: window_end + drain(job) + GRACE }
    }
}

/// Looks on until all agents have ended or the deadline has passed; hands them the wish to stop.
async fn watch(stage: &mut Stage<'_>, agents: &mut Agents, timetable: Timetable) -> Watched {
    let (mut before, mut after) = (None, None);
    let mut interrupted = false;
    let mut deadline = timetable.deadline;
    while !agents.ended() && Moment::now() < deadline {
        let mut next = deadline.min(Moment::now() + TICK);
        for (mark, taken) in
            [(timetable.window_start, before.is_some()), (timetable.window_end, after.is_some())]
        {
            next = if taken { next } else { next.min(mark) };
        }
        tokio::select! {
            news = agents.news_until(next) => if let Some(news) = news {
                agents.note(news).await;
            },
            _ = stage.signals.stop(), if !interrupted => {
                interrupted = true;
                agents.stop().await;
                deadline = deadline.min(Moment::now() + STOP_WITHIN);
            }
        }
        let now = Moment::now();
        if before.is_none() && now >= timetable.window_start {
            before = Some(stage.testbed.snapshot().await);
        }
        if after.is_none() && now >= timetable.window_end {
            after = Some(stage.testbed.snapshot().await);
        }
        stage.display.show(agents.progress().granted, now.since(timetable.start));
    }
    Watched { before: before.unwrap_or_default(), after: after.unwrap_or_default(), interrupted }
}

async fn aftermath(
    stage: &mut Stage<'_>,
    job: &Job<'_>,
    parts: &Parts,
    (names, watched): (&Names, &Watched),
) -> Aftermath {
    // A register that cannot be read is not known: the judge says so.
    let pools = parts.workload.aftermath(&names.register).await.ok().flatten();
    let objects = LockObjects { prefix: &names.lock_prefix, names: &names.objects };
    let patience =
        if watched.interrupted { Duration::ZERO } else { job.cell.lock.lease + LEFTOVER_MARGIN };
    let found = stage.testbed.leftovers(parts.entry.needs, objects, patience).await;
    // There was no time to wait for what ends by itself.
    let leftovers = found.filter(|found| {
        !watched.interrupted || found.iter().all(|object| object.expires_in_ms.is_none())
    });
    Aftermath { pools, leftovers }
}

async fn facts(
    stage: &mut Stage<'_>,
    job: &Job<'_>,
    (names, watched): (&Names, &Watched),
    (timetable, ends, hopeless): (Timetable, Vec<AgentEnd>, Option<&str>),
) -> TrialFacts {
    let servers = stage.testbed.facts(&watched.before, &watched.after).await;
    let partial = partial(watched, &ends, hopeless);
    let scheduled = ends.iter().map(|end| end.scheduled.filter(|_| end.facts.lost.is_none()));
    let agents: Vec<AgentFacts> = ends.iter().map(|end| end.facts.clone()).collect();
    TrialFacts {
        format: 1,
        run: stage.directory.journal().run.clone(),
        cell: job.cell.head.id.clone(),
        trial: job.trial,
        window_start: timetable.window_start.0,
        window_end: timetable.window_end.0,
        workers: job.cell.clients.total(),
        keys: names.keys,
        open_load: matches!(job.cell.load, Load::Constant { .. }),
        scheduled: scheduled.sum(),
        slo_response_ns: stage.slo_response.map(nanos),
        checks: checks(job.cell),
        counted: job.cell.counted.clone(),
        agents,
        servers,
        partial,
    }
}

async fn hopeless(stage: &mut Stage<'_>, ends: &[AgentEnd]) -> Option<String> {
    let stopped = ends.iter().find_map(|end| {
        end.recording_stopped.as_ref().map(|why| format!("agent {}: {why}", end.facts.agent))
    });
    let silent = stage.testbed.silent().await;
    let gone = silent.first().map(|server| format!("{server} does not answer any more"));
    stopped.or(gone)
}

fn partial(watched: &Watched, ends: &[AgentEnd], hopeless: Option<&str>) -> Option<String> {
    let mut reasons: Vec<String> = hopeless.map(str::to_owned).into_iter().collect();
    if watched.interrupted {
        reasons.push("interrupted".to_owned());
    }
    for AgentEnd { facts, .. } in ends {
        reasons.extend(facts.lost.iter().map(|how| format!("agent {} {how}", facts.agent)));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
