//! One application instance: its connections, its workers, its history, on one thread.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use results::event::OpId;
use results::history::{Header, Origin};
use results::history_writer::HistoryWriter;
use strategies::clock::Moment;
use strategies::lock::{LeasePolicy, LockInstance};
use strategies::strategy::{Endpoints, InstanceSetup, RedisAddress};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workloads::caller::Caller;
use workloads::guard::Guard;
use workloads::keys::KeyPicker;
use workloads::listener::Listener;
use workloads::op::Op;
use workloads::perform::cancelled;
use workloads::recorder::{Gauge, Recorder, Tally};
use workloads::register::{Register, RegisterSetup};
use workloads::session::{Session, Surroundings, Terms};
use workloads::stop::Stop;
use workloads::timer::Timer;
use workloads::workload::Workload;

use crate::assignment::Assignment;
use crate::driver::pacer::pace;
use crate::driver::queue::{CAPACITY, Due, Queue};
use crate::driver::schedule::{Rhythm, Schedule, Share};
use crate::driver::worker::{self, Shift, Worker};
use crate::plan::Load;

/// How long an instance may take to close its connections.
const CLOSE: Duration = Duration::from_millis(500);

/// What the agent's controller wants; only ever grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
    /// When to begin, once known.
    pub start: Option<Moment>,
    /// When operations under way are cancelled, once it is to stop; nothing new begins from then on.
    pub halt: Option<Moment>,
}

/// What an instance says when all has ended.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// Name of its history, within the directory.
    pub history: String,
    /// Its sums.
    pub tally: Tally,
    /// Why recording stopped early, if it did.
    pub recording_stopped: Option<String>,
    /// Operations of the schedule within the window; `None` for a closed load.
    pub scheduled: Option<u64>,
}

/// One instance, connected and ready to begin.
pub struct Instance {
    number: u32,
    history: String,
    lock: Box<dyn LockInstance>,
    sessions: Vec<Session>,
    workload: Box<dyn Workload>,
    recorder: Rc<Recorder>,
    timer: Rc<Timer>,
}

impl Instance {
    /// Opens its history and connects it and all its workers.
    ///
    /// # Errors
    ///
    /// In words, without secrets: who cannot be reached, what cannot be written.
    pub async fn open(assignment: &Assignment, number: u32) -> Result<Self> {
        let history = format!("history-{number}.lbh");
        let recorder = Rc::new(Recorder::new(Box::new(writer(assignment, number, &history)?)));
        let probe = Rc::new(Listener::new(Rc::clone(&recorder)));
        let workload = workload(assignment)?;
        let timer = Timer::new().context("could not make a timer")?;
        let around = Surroundings {
            terms: Rc::new(terms(assignment, &*workload)?),
            recorder: Rc::clone(&recorder),
            register: register(assignment, &*workload).await?,
            probe: Rc::clone(&probe) as _,
            timer: Rc::clone(&timer),
        };
        let entry = strategies::catalog::find(&assignment.strategy)
            .ok_or_else(|| anyhow!("no strategy is called `{}`", assignment.strategy))?;
        let strategy = (entry.build)(&assignment.strategy_options)?;
        let mut lock = strategy.open(&setup(assignment, number), probe).await?;
        let mut sessions = Vec::with_capacity(assignment.clients.workers as usize);
        for slot in 0..assignment.clients.workers {
            let client = lock.client(first(assignment, number) + slot).await?;
            sessions.push(Session::new(client, around.clone()));
        }
        Ok(Self { number, history, lock, sessions, workload, recorder, timer })
    }

    /// Its sums, for other threads.
    pub fn gauge(&self) -> Arc<Gauge> {
        self.recorder.gauge()
    }

    /// Carries its part of the load and ends. Must run within a `LocalSet`.
    ///
    /// # Errors
    ///
    /// When a timer cannot be made; a worker that panics is counted as an error of class `panic`.
    pub async fn run(
        self,
        assignment: &Assignment,
        mut wish: watch::Receiver<Wish>,
    ) -> Result<Ended> {
        let Self { number, history, lock, sessions, workload, recorder, timer } = self;
        let mut scheduled = matches!(assignment.load, Load::Constant { .. }).then_some(0);
        if let Some(start) = begun(&mut wish).await {
            let plan = Timetable::of(assignment, start);
            let workers = assignment.clients.workers;
            let shift = Rc::new(Shift {
                keys: KeyPicker::new(
                    workload.pick(),
                    workload.keys(assignment.clients.total()),
                    assignment.seed,
                ),
                workload,
                // The last slot is the pacer's.
                closing: Stop::new(workers + 1),
                cancel: Stop::new(workers),
                timer,
                start,
                end: plan.end,
            });
            let crew = Crew { assignment, number, shift, recorder: Rc::clone(&recorder) };
            let counted = crew.work(sessions, plan, wish).await?;
            scheduled = scheduled.map(|_: u64| counted);
        }
        // The lock's own leases end what a hung connection leaves behind.
        if let Ok(Err(error)) = tokio::time::timeout(CLOSE, lock.close()).await {
            recorder.error(error.class());
        }
        let recording_stopped = recorder.finish();
        Ok(Ended { history, tally: recorder.tally(), recording_stopped, scheduled })
    }
}

/// Waits for the start; `None` if it is told to stop first.
async fn begun(wish: &mut watch::Receiver<Wish>) -> Option<Moment> {
    // The sender goes away only together with the agent.
    let wish = wish.wait_for(|wish| wish.start.is_some() || wish.halt.is_some()).await.ok()?;
    if wish.halt.is_some() { None } else { wish.start }
}

/// The moments of a trial.
#[derive(Debug, Clone, Copy)]
struct Timetable {
    start: Moment,
    /// The measured window begins.
    window: Moment,
    /// The measured window ends.
    end: Moment,
    /// What is still under way is cancelled.
    drained: Moment,
}

impl Timetable {
    fn of(assignment: &Assignment, start: Moment) -> Self {
        let window = start + Duration::from_nanos(assignment.warmup_ns);
        let end = window + Duration::from_nanos(assignment.measure_ns);
        let drained = end + Duration::from_nanos(assignment.drain_ns);
        Self { start, window, end, drained }
    }
}

/// The workers of an instance while they work.
struct Crew<'a> {
    assignment: &'a Assignment,
    number: u32,
    shift: Rc<Shift>,
    recorder: Rc<Recorder>,
}

impl Crew<'_> {
    /// Works until everything has ended; how many operations were due within the window.
    async fn work(
        &self,
        sessions: Vec<Session>,
        plan: Timetable,
        wish: watch::Receiver<Wish>,
    ) -> Result<u64> {
        let queue = Rc::new(Queue::new(CAPACITY));
        let mut workers = self.hire(sessions, &queue);
        let mut aside = JoinSet::new();
        aside.spawn_local(tick(Rc::clone(&self.shift), Rc::clone(&self.recorder)));
        aside.spawn_local(control(Rc::clone(&self.shift), plan.drained, wish));
        let mut turned_away = self.turned_away();
        let mut counted = 0;
        if let Some(schedule) = self.schedule(plan) {
            let counting = schedule.inspect(|arrival| {
                counted += u64::from(plan.start.0 + arrival.due >= plan.window.0);
            });
            tokio::select! {
                paced = pace(counting, plan.start, &queue, &mut turned_away) => paced?,
                () = self.shift.closing.wait(self.assignment.clients.workers) => queue.close(),
            }
        }
        while let Some(worker) = workers.join_next().await {
            if worker.is_err_and(|error| error.is_panic()) {
                self.recorder.error("panic");
            }
        }
        while let Some(due) = queue.pop() {
            turned_away(due);
        }
        drop(aside);
        Ok(counted)
    }

    fn hire(&self, sessions: Vec<Session>, queue: &Rc<Queue>) -> JoinSet<()> {
        let mut workers = JoinSet::new();
        let first = first(self.assignment, self.number);
        for (slot, session) in (0..).zip(sessions) {
            let worker = Worker { number: first + slot, slot, session };
            let shift = Rc::clone(&self.shift);
            match self.assignment.load {
                Load::Closed { think } => workers.spawn_local(worker::closed(worker, shift, think)),
                Load::Constant { .. } => {
                    workers.spawn_local(worker::open(worker, shift, Rc::clone(queue)))
                }
            };
        }
        workers
    }

    fn schedule(&self, plan: Timetable) -> Option<Schedule> {
        let Load::Constant { rate, arrivals } = self.assignment.load else { return None };
        let length = plan.end.0.saturating_sub(plan.start.0);
        let rhythm = Rhythm { rate, arrivals, seed: self.assignment.seed, length };
        let share = Share { instance: self.number, of: self.assignment.clients.instances };
        Some(Schedule::new(rhythm, share))
    }

    /// Records operations that no worker takes. They stand under a number of the instance's own after those of all
    /// workers, because a worker's own number may be busy with another operation.
    fn turned_away(&self) -> impl FnMut(Due) + '_ {
        let nobody = self.assignment.clients.total() + self.number;
        let mut sequence = 0;
        move |due| {
            let op = Op {
                id: OpId::new(nobody, sequence),
                key: self.shift.keys.pick(due.arrival, nobody),
                intended: due.intended,
                released: due.released,
                taken: Moment::now().0,
            };
            sequence += 1;
            cancelled(&op, &self.recorder);
        }
    }
}

/// Drives the timer. Without it nobody would wake any more, so everything ends if it fails.
async fn tick(shift: Rc<Shift>, recorder: Rc<Recorder>) {
    if Rc::clone(&shift.timer).drive().await.is_err() {
        recorder.error("timer");
        shift.closing.raise();
        shift.cancel.raise();
    }
}

/// Cancels what is under way when the time is up, or earlier when the controller says so.
async fn control(shift: Rc<Shift>, drained: Moment, mut wish: watch::Receiver<Wish>) {
    let halted = tokio::select! {
        () = shift.timer.sleep_until(drained) => None,
        wish = wish.wait_for(|wish| wish.halt.is_some()) => wish.ok().and_then(|wish| wish.halt),
    };
    shift.closing.raise();
    let mut deadline = halted.unwrap_or(drained);
    // A later wish may be more impatient.
    while Moment::now() < deadline {
        tokio::select! {
            () = shift.timer.sleep_until(deadline) => {}
            changed = wish.changed() => match changed {
                Ok(()) => deadline = wish.borrow().halt.map_or(deadline, |halt| halt.min(deadline)),
                Err(_) => break,
            },
        }
    }
    shift.cancel.raise();
}

/// Number of the first worker of an instance.
const fn first(assignment: &Assignment, instance: u32) -> u32 {
    instance * assignment.clients.workers
}

fn writer(assignment: &Assignment, instance: u32, name: &str) -> Result<HistoryWriter> {
    let header = Header::of_this_process(&Origin {
        run: &assignment.run,
        cell: &assignment.cell,
        trial: assignment.trial,
        agent: assignment.agent,
        instance,
        strategy: &assignment.strategy,
    })?;
    Ok(HistoryWriter::create(&assignment.directory.join(name), &header)?)
}

fn workload(assignment: &Assignment) -> Result<Box<dyn Workload>> {
    let entry = workloads::catalog::find(&assignment.workload)
        .ok_or_else(|| anyhow!("no workload is called `{}`", assignment.workload))?;
    Ok((entry.build)(&assignment.workload_options)?)
}

fn terms(assignment: &Assignment, workload: &dyn Workload) -> Result<Terms> {
    let caller = Caller::ALL.into_iter().find(|caller| caller.name() == assignment.caller);
    let guard = Guard::ALL.into_iter().find(|guard| guard.name() == assignment.guard);
    let lock = assignment.lock;
    let lease = if lock.renewed {
        LeasePolicy::Renewed(lock.lease)
    } else {
        LeasePolicy::Fixed(lock.lease)
    };
    Ok(Terms {
        caller: caller.ok_or_else(|| anyhow!("no caller is called `{}`", assignment.caller))?,
        guard: guard.ok_or_else(|| anyhow!("no guard is called `{}`", assignment.guard))?,
        patience: lock.patience,
        lease,
        locks: (0..workload.keys(assignment.clients.total()))
            .map(|key| Rc::from(format!("{}:{key}", assignment.lock_prefix)))
            .collect(),
    })
}

async fn register(assignment: &Assignment, workload: &dyn Workload) -> Result<Option<Register>> {
    if !workload.register() {
        return Ok(None);
    }
    let witness = assignment
        .witness
        .as_deref()
        .with_context(|| format!("{} needs a witness, and none is given", assignment.workload))?;
    let prefix = assignment.register_prefix.clone();
    let setup = RegisterSetup { witness: RedisAddress::new(witness), prefix };
    Ok(Some(Register::connect(&setup).await?))
}

fn setup(assignment: &Assignment, instance: u32) -> InstanceSetup {
    let mut hasher = DefaultHasher::new();
    (&assignment.run, &assignment.cell, assignment.trial, instance).hash(&mut hasher);
    let unique = hasher.finish();
    InstanceSetup {
        endpoints: Endpoints {
            redis: assignment.redis.as_deref().map(RedisAddress::new),
            witness: assignment.witness.as_deref().map(RedisAddress::new),
            folder: Some(assignment.folder.clone()),
        },
        identity: format!("{unique:016x}-{:x}-{instance}", std::process::id()).into(),
        workers: assignment.clients.workers,
        seed: assignment.seed ^ unique,
    }
}
