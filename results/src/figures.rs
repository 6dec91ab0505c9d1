//! What was measured in a trial: how fast, how fair, at what cost.

use std::collections::BTreeMap;

use crate::by_key::by_key;
use crate::checker::History;
use crate::event::{Nanos, Outcome, StepOutcome};
use crate::fairness::{Shares, overtakes};
use crate::hand_over::{KeyFlow, flow};
use crate::latency::{LatencyKind, LatencySet, Tag};
use crate::operation::Operation;
use crate::run::PerOutcome;
use crate::sale::sale;
use crate::saturation;
use crate::series::Series;
use crate::trial::TrialFacts;
use crate::trial_result::TrialFigures;
use crate::window::{SECOND, Window};

/// The longest window that is read, seconds: a month.
const WINDOW_MAX: u64 = 31 * 24 * 3_600;
/// The backend whose costs are the costs of the lock.
const LOCK_SERVER: &str = "redis";

/// A trial whose facts make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FiguresError {
    /// The window ends before it begins, or is longer than anyone measures.
    #[error("the window of the trial lasts from {start} to {end}, expected up to a month")]
    Window {
        /// Its begin, nanoseconds.
        start: Nanos,
        /// Its end, nanoseconds.
        end: Nanos,
    },
}

/// Figures while operations come in.
pub struct Figures<'a> {
    facts: &'a TrialFacts,
    window: Window,
    outcomes: PerOutcome<u64>,
    outside: u64,
    grants: u64,
    good: u64,
    finished: u64,
    longest_wait: Option<Nanos>,
    shares: Shares,
    latencies: LatencySet,
    series: Series,
}

impl<'a> Figures<'a> {
    /// Figures of the trial that `facts` tell of.
    ///
    /// # Errors
    ///
    /// [`FiguresError`] if its window makes no sense.
    pub fn new(facts: &'a TrialFacts) -> Result<Self, FiguresError> {
        let window = Window { start: facts.window_start, end: facts.window_end };
        if window.length() == 0 || window.length() / SECOND > WINDOW_MAX {
            return Err(FiguresError::Window { start: window.start, end: window.end });
        }
        Ok(Self {
            facts,
            window,
            outcomes: PerOutcome::default(),
            outside: 0,
            grants: 0,
            good: 0,
            finished: 0,
            longest_wait: None,
            shares: Shares::default(),
            latencies: LatencySet::default(),
            series: Series::new(window, facts.trial),
        })
    }

    /// Takes one operation into account.
    ///
    /// Grants are counted by when they happened, because that is what the lock did in the window; everything else by the
    /// intended start, because that is what the window asked for.
    pub fn operation(&mut self, operation: &Operation) {
        self.finished += u64::from(operation.finished != 0);
        let answered = if operation.acquire_return == 0 {
            operation.finished
        } else {
            operation.acquire_return
        };
        self.series.count(operation.outcome, answered);
        if granted(operation) && self.window.holds(operation.acquire_return) {
            self.grants += 1;
            self.shares.count(operation.op.worker());
        }
        if !self.window.holds(operation.intended) {
            self.outside += 1;
            return;
        }
        *self.outcomes.get_mut(operation.outcome) += 1;
        self.wait(operation);
        self.record(operation);
    }

    fn wait(&mut self, operation: &Operation) {
        let until = operation.acquire_return.max(if operation.acquire_return == 0 {
            operation.finished
        } else {
            0
        });
        if let Some(wait) = between(operation.acquire_call, until) {
            self.longest_wait = self.longest_wait.max(Some(wait));
        }
    }

    fn record(&mut self, operation: &Operation) {
        let outcome = operation.outcome;
        let of = |kind| Tag::new(kind, outcome);
        if self.facts.open_load {
            self.add(of(LatencyKind::PacerLag), between(operation.intended, operation.released));
            self.add(of(LatencyKind::Queue), between(operation.released, operation.taken));
        }
        if operation.acquired != StepOutcome::Info {
            let wait = between(operation.acquire_call, operation.acquire_return);
            self.add(of(LatencyKind::Wait), wait);
        }
        if operation.acquired == StepOutcome::Ok {
            let hold = between(operation.acquire_return, operation.release_call);
            self.add(of(LatencyKind::Hold), hold);
            let release = between(operation.release_call, operation.release_return);
            self.add(of(LatencyKind::Release), release);
        }
        let end = if operation.release_return == 0 {
            operation.finished
        } else {
            operation.release_return
        };
        let response = between(operation.intended, end);
        self.add(of(LatencyKind::Response), response);
        let in_time = self.facts.slo_response_ns.zip(response).is_some_and(|(slo, at)| at <= slo);
        self.good += u64::from(in_time && granted(operation));
    }

    fn add(&mut self, tag: Tag, latency: Option<Nanos>) {
        if let Some(latency) = latency {
            self.latencies.record(tag, latency);
        }
    }

    /// Operations that ended, over the whole trial.
    pub const fn finished(&self) -> u64 {
        self.finished
    }

    /// The figures, and the histograms behind them.
    pub fn finish(mut self, history: &History) -> (TrialFigures, LatencySet) {
        let begun = self.outcomes.total();
        let flows = self.flows(history);
        let busiest = flows.iter().max_by_key(|flow| flow.grants).filter(|flow| flow.grants > 0);
        let mut figures = TrialFigures {
            window_start_ns: self.window.start,
            window_ns: self.window.length(),
            outside: self.outside,
            outcomes: self.outcomes,
            grants: self.grants,
            throughput: self.grants as f64 / self.window.seconds(),
            offered: self.facts.scheduled.unwrap_or(begun).max(begun),
            good: self.facts.slo_response_ns.map(|_| self.good),
            open_load: self.facts.open_load,
            jain: self.shares.jain(self.facts.workers),
            longest_wait_ns: self.longest_wait,
            time_split: busiest.map(|flow| flow.time_split(self.window)),
            ceiling: busiest.and_then(|flow| flow.ceiling(self.window)),
            sale: sale(&history.aftermath).map(|sale| crate::run::Sale {
                orders_per_second: Some(self.grants as f64 / self.window.seconds()),
                ..sale
            }),
            ..TrialFigures::default()
        };
        for flow in &flows {
            figures.add_hand_overs(flow);
            if let Some(latencies) = &flow.latencies {
                self.latencies.add(Tag::whole(LatencyKind::HandOver), latencies);
            }
        }
        figures.overtakes =
            by_key(history).map(|(holds, waits)| overtakes(holds, waits, self.window)).sum();
        figures.add_costs(self.facts);
        let lag = self.latencies.percentiles(Tag::whole(LatencyKind::PacerLag));
        figures.generator_saturated =
            saturation::generator(self.facts, self.window, begun, lag.as_ref());
        figures.witness_saturated = saturation::witness(self.facts, self.window);
        figures.latencies = self
            .latencies
            .iter()
            .map(|(tag, latencies)| (tag.to_string(), latencies.percentiles()))
            .collect();
        figures.series = self.series.finish();
        (figures, self.latencies)
    }

    fn flows(&self, history: &History) -> Vec<KeyFlow> {
        by_key(history).map(|(holds, waits)| flow(holds, waits, self.window)).collect()
    }
}

impl TrialFigures {
    fn add_hand_overs(&mut self, flow: &KeyFlow) {
        self.hand_overs.to_waiter += flow.counts.to_waiter;
        self.hand_overs.barged += flow.counts.barged;
        self.hand_overs.idle += flow.counts.idle;
        self.hand_overs.overlapped += flow.counts.overlapped;
    }

    fn add_costs(&mut self, facts: &TrialFacts) {
        if let Some(server) = facts.servers.get(LOCK_SERVER) {
            self.commands = server.commands;
            self.bytes = server.bytes;
            self.server_cpu_us = server.cpu_us;
        }
        let agents = facts.agents.iter().map(|agent| agent.cpu_us);
        self.agent_cpu_us = agents.reduce(|sum, cpu| Some(sum?.saturating_add(cpu?))).flatten();
        for (name, server) in &facts.servers {
            if let Some(slow) = server.slowlog.as_ref().filter(|slow| !slow.is_empty()) {
                self.slowlog.insert(name.clone(), slow.clone());
            }
        }
        for agent in &facts.agents {
            add_counts(&mut self.errors, &agent.errors);
            self.scripts_reloaded = self.scripts_reloaded.saturating_add(agent.scripts_reloaded);
        }
    }
}

/// Adds `more` to `counts`, name by name.
pub(crate) fn add_counts(counts: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (name, count) in more {
        let sum = counts.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
}

fn granted(operation: &Operation) -> bool {
    operation.acquired == StepOutcome::Ok && operation.outcome == Outcome::Granted
}

/// From one time to another; `None` if either did not happen. Times of one thread never run backwards.
fn between(from: Nanos, to: Nanos) -> Option<Nanos> {
    if from == 0 || to == 0 { None } else { Some(to.saturating_sub(from)) }
}

#[cfg(test)]
mod tests;
