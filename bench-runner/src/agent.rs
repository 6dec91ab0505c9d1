//! `lockbench agent`: one process that carries load. Reads its assignment and orders as JSON lines on standard
//! input and reports on standard output; `docs/agent-protocol.md` describes both for agents in other languages.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use results::event::Outcome;
use strategies::clock::Moment;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use workloads::recorder::Gauge;

use crate::assignment::{Assignment, Done, Order, Progress, Report};
use crate::driver::instance::{Ended, Instance, Wish};
use crate::exit::Exit;
use crate::terminal;

/// How long operations under way may still take after an order to stop.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// The version of the protocol that this agent speaks.
const FORMAT: u32 = 1;

/// Carries out the assignment on standard input, to the end.
pub fn run() -> Exit {
    let outcome = prepare().and_then(|(runtime, assignment)| {
        let done = runtime.block_on(carry(Arc::new(assignment)));
        // The thread that reads standard input may wait for a line that never comes.
        runtime.shutdown_background();
        say(&Report::Done(done?))
    });
    match outcome {
        Ok(()) => Exit::Pass,
        Err(error) => {
            // Whoever is gone cannot be told.
            let _ = say(&Report::Failed(format!("{error:#}")));
            terminal::error(&error);
            Exit::Environment
        }
    }
}

fn prepare() -> Result<(Runtime, Assignment)> {
    die_with_parent()?;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    // The line may carry credentials, so the error must not quote it.
    let assignment: Assignment = serde_json::from_str(&line)
        .map_err(|error| anyhow!("the first line is no assignment (column {})", error.column()))?;
    if assignment.format != FORMAT {
        return Err(anyhow!("format {} of the protocol, expected {FORMAT}", assignment.format));
    }
    Ok((runtime, assignment))
}

/// Nobody would stop an agent whose controller is dead.
#[cfg(target_os = "linux")]
fn die_with_parent() -> Result<()> {
    use nix::sys::{prctl::set_pdeathsig, signal::Signal};
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> Result<()> {
    Ok(())
}

/// What an instance's thread says to the agent.
enum News {
    Ready(Arc<Gauge>),
    Ended(Box<Ended>),
    Failed(anyhow::Error),
}

/// The agent while it works.
struct Agent {
    assignment: Arc<Assignment>,
    wish: watch::Sender<Wish>,
    gauges: Vec<Arc<Gauge>>,
    ended: Vec<Ended>,
    cpu: CpuWindow,
}

async fn carry(assignment: Arc<Assignment>) -> Result<Done> {
    // Ctrl-C in a terminal reaches us too, but stopping is the controller's business. The handler stays for good.
    drop(signal(SignalKind::interrupt())?);
    let mut orders = read_orders()?;
    let (sender, mut news) = unbounded_channel();
    let wish = watch::Sender::new(Wish::default());
    for &number in &assignment.instances {
        start_instance(&assignment, number, (sender.clone(), wish.subscribe()))?;
    }
    let mut agent = Agent {
        assignment,
        wish,
        gauges: Vec::new(),
        ended: Vec::new(),
        cpu: CpuWindow::default(),
    };
    let mut ticks = interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while agent.ended.len() < agent.assignment.instances.len() {
        tokio::select! {
            order = orders.recv() => agent.obey(order)?,
            Some(news) = news.recv() => agent.note(news)?,
            () = agent.cpu.due() => agent.cpu.sample()?,
            _ = ticks.tick(), if agent.wish.borrow().start.is_some() => {
                say(&Report::Progress(agent.progress()?))?;
            }
        }
    }
    agent.cpu.finish()?;
    Ok(agent.done())
}

impl Agent {
    /// Obeys an order; `None` stands for the end of standard input, which stops everything at once.
    fn obey(&mut self, order: Option<Result<Order>>) -> Result<()> {
        match order.transpose()? {
            Some(Order::Start(at)) => {
                let window = Moment(at) + Duration::from_nanos(self.assignment.warmup_ns);
                let end = window + Duration::from_nanos(self.assignment.measure_ns);
                self.cpu = CpuWindow { left: vec![end, window], samples: Vec::new() };
                self.wish.send_modify(|wish| wish.start = Some(Moment(at)));
            }
            Some(Order::Stop) => self.halt(Moment::now() + STOP_WITHIN),
            None => self.halt(Moment::now()),
        }
        Ok(())
    }

    fn halt(&self, at: Moment) {
        self.wish.send_if_modified(|wish| {
            let sooner = wish.halt.is_none_or(|halt| at < halt);
            if sooner {
                wish.halt = Some(at);
            }
            sooner
        });
    }

    fn note(&mut self, news: News) -> Result<()> {
        match news {
            News::Ready(gauge) => {
                self.gauges.push(gauge);
                if self.gauges.len() == self.assignment.instances.len() {
                    say(&Report::Ready)?;
                }
            }
            News::Ended(ended) => self.ended.push(*ended),
            News::Failed(error) => return Err(error),
        }
        Ok(())
    }

    fn progress(&self) -> Result<Progress> {
        Ok(Progress {
            granted: self.gauges.iter().map(|gauge| gauge.granted()).sum(),
            finished: self.gauges.iter().map(|gauge| gauge.finished()).sum(),
            cpu_us: cpu_us()?,
        })
    }

    fn done(&mut self) -> Done {
        self.ended.sort_by(|one, other| one.history.cmp(&other.history));
        let mut done = Done { cpu_us: self.cpu.used(), ..Done::default() };
        for ended in self.ended.drain(..) {
            add(&mut done, ended);
        }
        done
    }
}

/// Adds what an instance reported.
fn add(done: &mut Done, ended: Ended) {
    done.histories.push(ended.history);
    for (outcome, count) in Outcome::ALL.into_iter().zip(ended.tally.outcomes) {
        *done.outcomes.entry(name(outcome).to_owned()).or_default() += count;
    }
    for (class, count) in ended.tally.errors {
        *done.errors.entry(class.to_owned()).or_default() += count;
    }
    done.scripts_reloaded += ended.tally.scripts_reloaded;
    done.recording_stopped = done.recording_stopped.take().or(ended.recording_stopped);
    if let Some(scheduled) = ended.scheduled {
        *done.scheduled.get_or_insert(0) += scheduled;
    }
}

const fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Granted => "granted",
        Outcome::Denied => "denied",
        Outcome::Refused => "refused",
        Outcome::Error => "error",
        Outcome::Unknown => "unknown",
        Outcome::Cancelled => "cancelled",
    }
}

/// CPU time of this process at the begin and at the end of the window.
#[derive(Debug, Default)]
struct CpuWindow {
    /// Moments at which to look, the next one last.
    left: Vec<Moment>,
    samples: Vec<u64>,
}

impl CpuWindow {
    /// Waits for the next look; for ever if there is none.
    async fn due(&self) {
        match self.left.last() {
            Some(moment) => sleep_until(Instant::now() + moment.since(Moment::now())).await,
            None => std::future::pending().await,
        }
    }

    fn sample(&mut self) -> Result<()> {
        self.left.pop();
        self.samples.push(cpu_us()?);
        Ok(())
    }

    /// A window that was cut short ends now.
    fn finish(&mut self) -> Result<()> {
        if self.samples.len() == 1 {
            self.sample()?;
        }
        Ok(())
    }

    fn used(&self) -> u64 {
        match self.samples[..] {
            [begin, end] => end.saturating_sub(begin),
            _ => 0,
        }
    }
}

/// CPU time of this process so far, in microseconds.
fn cpu_us() -> Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let time = usage.user_time() + usage.system_time();
    let (seconds, micros) = (time.tv_sec().unsigned_abs(), time.tv_usec().unsigned_abs());
    Ok(seconds * 1_000_000 + micros)
}

fn say(report: &Report) -> Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush()).context("could not report")
}

/// Reads orders on a thread of their own, which may wait for ever; the channel ends with standard input.
fn read_orders() -> Result<UnboundedReceiver<Result<Order>>> {
    let (sender, orders) = unbounded_channel();
    std::thread::Builder::new().name("orders".into()).spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let order = serde_json::from_str(&line)
                .with_context(|| format!("`{line}` is no order, expected `start` or `stop`"));
            if sender.send(order).is_err() {
                return;
            }
        }
    })?;
    Ok(orders)
}

/// Gives an instance a thread of its own.
fn start_instance(
    assignment: &Arc<Assignment>,
    number: u32,
    (news, wish): (UnboundedSender<News>, watch::Receiver<Wish>),
) -> Result<()> {
    let assignment = Arc::clone(assignment);
    std::thread::Builder::new().name(format!("instance-{number}")).spawn(move || {
        let life = || live(&assignment, number, (&news, wish));
        let last = match catch_unwind(AssertUnwindSafe(life)) {
            Ok(Ok(ended)) => News::Ended(Box::new(ended)),
            Ok(Err(error)) => News::Failed(error.context(format!("instance {number}"))),
            Err(_) => News::Failed(anyhow!("instance {number} panicked")),
        };
        // The agent itself is gone only when the process ends.
        let _ = news.send(last);
    })?;
    Ok(())
}

fn live(
    assignment: &Assignment,
    number: u32,
    (news, wish): (&UnboundedSender<News>, watch::Receiver<Wish>),
) -> Result<Ended> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let instance = Box::pin(Instance::open(assignment, number)).await?;
        // The agent itself is gone only when the process ends.
        let _ = news.send(News::Ready(instance.gauge()));
        Box::pin(instance.run(assignment, wish)).await
    })
}
