//! The agent processes of one trial: started, kept in step, stopped, and asked how it went.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use results::trial::AgentFacts;
use strategies::clock::Moment;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::assignment::{Assignment, Done, Order, Progress, Report};
use crate::supervisor::in_words;
use crate::tether::tie;

/// How long a process may take to be gone after it said its last word, or after SIGKILL.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// The agents of one trial. Dropping them kills those that still run.
#[derive(Debug)]
pub struct Agents {
    all: Vec<Agent>,
    news: UnboundedReceiver<News>,
    _readers: JoinSet<()>,
}

#[derive(Debug)]
struct Agent {
    /// Histories that it was to write.
    histories: Vec<String>,
    child: Child,
    input: ChildStdin,
    ready: bool,
    progress: Progress,
    done: Option<Done>,
    failed: Option<String>,
    /// How it ended, once it has.
    ended: Option<String>,
}

/// Something that an agent said or did.
#[derive(Debug)]
pub struct News {
    agent: usize,
    what: What,
}

#[derive(Debug)]
enum What {
    Said(Report),
    Nonsense(String),
    HungUp,
}

/// How one agent ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEnd {
    /// What the judge needs to know about it.
    pub facts: AgentFacts,
    /// Operations of the schedule that fell to it; `None` for a closed load, or if it was lost.
    pub scheduled: Option<u64>,
    /// Why it stopped recording, if it did.
    pub recording_stopped: Option<String>,
}

impl Agents {
    /// Starts one process per assignment: `program` is the binary `lockbench`; logs go to `directory`.
    pub async fn spawn(
        program: &Path,
        assignments: &[Assignment],
        directory: &Path,
    ) -> Result<Self> {
        let (sender, news) = unbounded_channel();
        let mut readers = JoinSet::new();
        let mut all = Vec::with_capacity(assignments.len());
        for (number, assignment) in assignments.iter().enumerate() {
            let log = File::create(directory.join(format!("agent-{number}.log")))
                .context("could not create the log of an agent")?;
            let (mut agent, output) = Agent::spawn(program, assignment, log)?;
            readers.spawn(read(number, output, sender.clone()));
            // An agent that is gone already is noticed at the barrier.
            let _ = agent.tell(assignment).await;
            all.push(agent);
        }
        Ok(Self { all, news, _readers: readers })
    }

    /// Process ids of those that run.
    pub fn pids(&self) -> Vec<u32> {
        self.all.iter().filter_map(|agent| agent.child.id()).collect()
    }

    /// Waits until all are ready; the error says in words who is not.
    pub async fn ready(&mut self, within: Duration) -> Result<()> {
        let give_up = Moment::now() + within;
        while let Some(late) = self.all.iter().position(|agent| !agent.ready) {
            if let Some((number, agent)) =
                self.all.iter().enumerate().find(|(_, agent)| agent.is_lost())
            {
                return Err(anyhow!("agent {number} is not ready: {}", agent.lost_in_words()));
            }
            match self.news_until(give_up).await {
                Some(news) => self.note(news).await,
                None => {
                    return Err(anyhow!("agent {late} is not ready after {} s", within.as_secs()));
                }
            }
        }
        Ok(())
    }

    /// Tells all to begin at `at`.
    pub async fn start(&mut self, at: Moment) {
        self.tell_all(Order::Start(at.0)).await;
    }

    /// Tells all to come to an end.
    pub async fn stop(&mut self) {
        self.tell_all(Order::Stop).await;
    }

    async fn tell_all(&mut self, order: Order) {
        for agent in &mut self.all {
            // One that is gone cannot be told, and is reported as lost.
            let _ = agent.tell(&order).await;
        }
    }

    /// The next thing that an agent says, or `None` at `deadline`. Nothing is lost when this is cancelled.
    pub async fn news_until(&mut self, deadline: Moment) -> Option<News> {
        // All readers are gone only when all agents have hung up.
        timeout(deadline.since(Moment::now()), self.news.recv()).await.ok().flatten()
    }

    /// Takes note of what an agent said.
    pub async fn note(&mut self, news: News) {
        let agent = &mut self.all[news.agent];
        match news.what {
            What::Said(Report::Ready) => agent.ready = true,
            What::Said(Report::Progress(progress)) => agent.progress = progress,
            What::Said(Report::Done(done)) => agent.done = Some(done),
            What::Said(Report::Failed(reason)) => agent.failed = Some(reason),
            What::Nonsense(line) => agent.failed = Some(format!("said `{line}`")),
            What::HungUp => agent.wait().await,
        }
    }

    /// Whether all have ended.
    pub fn ended(&self) -> bool {
        self.all.iter().all(|agent| agent.ended.is_some())
    }

    /// Sums over all agents so far.
    pub fn progress(&self) -> Progress {
        self.all.iter().fold(Progress::default(), |sum, agent| Progress {
            granted: sum.granted + agent.progress.granted,
            finished: sum.finished + agent.progress.finished,
            cpu_us: sum.cpu_us + agent.progress.cpu_us,
        })
    }

    /// Kills those that still run and tells how each ended.
    pub async fn finish(mut self) -> Vec<AgentEnd> {
        for agent in &mut self.all {
            if agent.ended.is_none() {
                agent.kill().await;
            }
        }
        // What they said before they ended may still be on its way.
        while let Ok(Some(news)) = timeout(Duration::from_millis(200), self.news.recv()).await {
            self.note(news).await;
        }
        (0..).zip(self.all).map(|(number, agent)| agent.end(number)).collect()
    }
}

impl Agent {
    fn spawn(program: &Path, assignment: &Assignment, log: File) -> Result<(Self, ChildStdout)> {
        let mut command = Command::new(program);
        command.arg("agent").process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        tie(command.as_std_mut());
        let mut child = command.spawn().context("could not start an agent")?;
        let input = child.stdin.take().context("an agent has no standard input")?;
        let output = child.stdout.take().context("an agent has no standard output")?;
        let histories = assignment.instances.iter();
        let agent = Self {
            histories: histories.map(|number| format!("history-{number}.lbh")).collect(),
            child,
            input,
            ready: false,
            progress: Progress::default(),
            done: None,
            failed: None,
            ended: None,
        };
        Ok((agent, output))
    }

    async fn tell<T: serde::Serialize>(&mut self, line: &T) -> Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        // A stopped agent does not read; its pipe holds every line we send but a huge assignment.
        timeout(GONE_WITHIN, self.input.write_all(&line)).await??;
        Ok(())
    }

    /// It closed its standard output: it is about to end, or it never will.
    async fn wait(&mut self) {
        match timeout(GONE_WITHIN, self.child.wait()).await {
            Ok(Ok(status)) => self.ended = Some(in_words(status)),
            Ok(Err(error)) => self.ended = Some(format!("cannot be waited for: {error}")),
            Err(_) => self.kill().await,
        }
    }

    async fn kill(&mut self) {
        // Fails only for one that has ended by itself; the wait below tells.
        let _ = self.child.start_kill();
        let words = match timeout(GONE_WITHIN, self.child.wait()).await {
            Ok(Ok(_)) if self.done.is_some() => "had to be killed after its report".to_owned(),
            Ok(Ok(_)) => "did not end in time and was killed".to_owned(),
            Ok(Err(error)) => format!("cannot be waited for: {error}"),
            Err(_) => "does not end although it was killed".to_owned(),
        };
        self.ended = Some(words);
    }

    const fn is_lost(&self) -> bool {
        self.failed.is_some() || (self.ended.is_some() && self.done.is_none())
    }

    fn lost_in_words(&self) -> String {
        match (&self.failed, &self.ended) {
            (Some(reason), _) => reason.clone(),
            (None, Some(ended)) => ended.clone(),
            (None, None) => "it is silent".to_owned(),
        }
    }

    fn end(self, number: u32) -> AgentEnd {
        let lost = self.is_lost().then(|| self.lost_in_words());
        let done = self.done.unwrap_or_default();
        let alive = lost.is_none();
        AgentEnd {
            facts: AgentFacts {
                agent: number,
                histories: if alive { done.histories } else { self.histories },
                lost,
                cpu_us: alive.then_some(done.cpu_us),
                finished: alive.then(|| done.outcomes.values().sum()),
                errors: if alive { done.errors } else { BTreeMap::new() },
                scripts_reloaded: done.scripts_reloaded,
            },
            scheduled: done.scheduled,
            recording_stopped: done.recording_stopped,
        }
    }
}

async fn read(agent: usize, output: ChildStdout, news: UnboundedSender<News>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let what = serde_json::from_str(&line)
            .map_or_else(|_| What::Nonsense(line.chars().take(80).collect()), What::Said);
        // Nobody listens any more only when the trial is over.
        let _ = news.send(News { agent, what });
    }
    let _ = news.send(News { agent, what: What::HungUp });
}
