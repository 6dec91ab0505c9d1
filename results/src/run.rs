//! The result of a run: `run.json`, the contract with machines.
//!
//! Durations are microseconds, rates per second, shares between 0 and 1. What was not measured is `null`, never 0.
//! Fields are added, never renamed; `docs/run.schema.json` is its JSON Schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cell::CellHead;
use crate::percentiles::Percentiles;
use crate::trial::SlowCommand;
use crate::verdict::{Verdict, ViolationKind};

pub use crate::per_outcome::{LatencyByOutcome, PerOutcome};

/// Version of `run.json` that this build writes and reads.
pub const FORMAT: u32 = 1;

/// Everything that a run found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Version of this file: 1.
    pub format: u32,
    /// Id of the run.
    pub run: String,
    /// Whether every control gave the right answer.
    pub trusted: bool,
    /// Whether something planned was not measured.
    pub partial: bool,
    /// What it was measured on.
    pub environment: Value,
    /// The scenario with every default.
    pub scenario: Value,
    /// One entry per point of the matrix.
    pub cells: Vec<CellResult>,
    /// One entry per control and workload.
    pub controls: Vec<ControlResult>,
    /// One entry per rule.
    pub gates: Vec<GateResult>,
    /// What every reader of the results should know.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What was measured at one point of the matrix, over all trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellResult {
    /// Which point.
    #[serde(flatten)]
    pub head: CellHead,
    /// The worst verdict of the counted kinds; `null` if nothing was run.
    pub verdict: Option<Verdict>,
    /// The kinds of violation that decide the verdict.
    #[serde(default)]
    pub counted: Vec<ViolationKind>,
    /// Every kind of violation; `null` for one that was not looked for.
    pub violations: BTreeMap<ViolationKind, Option<FindingSummary>>,
    /// Harm done to the register: violations of the damaging kinds, counted or not. `null` if none was looked for.
    pub damage: Option<u64>,
    /// How many trials the figures are made of.
    pub trials: u32,
    /// Operations of the windows by how they ended.
    pub outcomes: Option<PerOutcome<u64>>,
    /// Grants per second: operations that were granted the lock within the window and did their work.
    pub throughput: Option<Spread>,
    /// Share of the offered operations that were granted within the service level.
    pub goodput: Option<f64>,
    /// Operations per second that were offered: scheduled, or begun by a closed load.
    pub offered: Option<f64>,
    /// Intended start to release acknowledged. With a closed load this is the service time.
    pub response_us: Option<LatencyByOutcome>,
    /// Acquire called to granted or denied.
    pub wait_us: Option<LatencyByOutcome>,
    /// Granted to release sent.
    pub hold_us: Option<LatencyByOutcome>,
    /// Release sent to acknowledged.
    pub release_us: Option<LatencyByOutcome>,
    /// Intended start to released by the pacer; `null` for a closed load.
    pub pacer_lag_us: Option<Percentiles>,
    /// Released by the pacer to taken by a worker; `null` for a closed load.
    pub queue_us: Option<Percentiles>,
    /// Release sent by one holder to the grant of one that was already waiting.
    pub hand_over_us: Option<Percentiles>,
    /// How hand-overs went, in numbers.
    #[serde(default)]
    pub hand_overs: Option<HandOvers>,
    /// How the grants were shared out.
    pub fairness: Option<Fairness>,
    /// What a grant costs.
    pub cost: Option<Cost>,
    /// Fault begins to the next grant of a key that was held then.
    pub recovery_us: Option<Percentiles>,
    /// Lease lost on the server to the holder being told.
    pub loss_notice_us: Option<Percentiles>,
    /// Whether something else than the lock was the limit.
    pub saturated: Option<Saturation>,
    /// Where a wall second of the busiest key goes.
    #[serde(default)]
    pub time_split: Option<TimeSplit>,
    /// What one key can carry at most, and how near it came.
    #[serde(default)]
    pub ceiling: Option<SerialCeiling>,
    /// What the workload sold, if it sells.
    #[serde(default)]
    pub sale: Option<Sale>,
    /// Every second of every trial's window.
    #[serde(default)]
    pub series: Vec<TrialSeries>,
    /// The slowest commands of each server.
    #[serde(default)]
    pub slowlog: BTreeMap<String, Vec<SlowCommand>>,
    /// Errors of locks and registers by class, whole trials.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// What a reader of this cell should know.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl CellResult {
    /// A cell of which nothing was measured.
    pub fn empty(head: CellHead, counted: Vec<ViolationKind>) -> Self {
        Self {
            head,
            verdict: None,
            counted,
            violations: ViolationKind::ALL.into_iter().map(|kind| (kind, None)).collect(),
            damage: None,
            trials: 0,
            outcomes: None,
            throughput: None,
            goodput: None,
            offered: None,
            response_us: None,
            wait_us: None,
            hold_us: None,
            release_us: None,
            pacer_lag_us: None,
            queue_us: None,
            hand_over_us: None,
            hand_overs: None,
            fairness: None,
            cost: None,
            recovery_us: None,
            loss_notice_us: None,
            saturated: None,
            time_split: None,
            ceiling: None,
            sale: None,
            series: Vec::new(),
            slowlog: BTreeMap::new(),
            errors: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// What was found of `kind`; `None` if nobody looked.
    pub fn finding(&self, kind: ViolationKind) -> Option<&FindingSummary> {
        self.violations.get(&kind)?.as_ref()
    }

    /// Violations of the counted kinds together; `None` if none of them was looked for.
    pub fn violation_count(&self) -> Option<u64> {
        let counts: Vec<u64> =
            self.counted.iter().filter_map(|kind| Some(self.finding(*kind)?.count)).collect();
        (!counts.is_empty())
            .then(|| counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count)))
    }

    /// The chances that stand beside the number of violations: those of an overlap where it is counted, otherwise the
    /// fewest of any counted kind.
    pub fn exposures(&self) -> Option<u64> {
        let of = |kind: &ViolationKind| Some(self.finding(*kind)?.exposures);
        let counts_overlaps = self.counted.contains(&ViolationKind::MutualExclusion);
        let overlaps = counts_overlaps.then(|| of(&ViolationKind::MutualExclusion)).flatten();
        overlaps.or_else(|| self.counted.iter().filter_map(of).min())
    }
}

/// What was found of one kind of violation, over all trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingSummary {
    /// How often it was breached.
    pub count: u64,
    /// Of these, with both leases good (overlaps only).
    pub within_lease: u64,
    /// Of these, after a lease had ended (overlaps only).
    pub past_lease: u64,
    /// How often it could have been breached.
    pub exposures: u64,
    /// With 95 % confidence the share of exposures that are breaches is below this: 3 / exposures. Only where the
    /// verdict is `valid`, and only for exposures that are independent of each other.
    pub upper_bound: Option<f64>,
    /// The answer.
    pub verdict: Verdict,
    /// Why the verdict is `unknown`.
    #[serde(default)]
    pub reason: Option<String>,
    /// The first few breaches in words.
    #[serde(default)]
    pub examples: Vec<String>,
}

/// A figure of every trial, with its middle and its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// In the order of the trials.
    pub per_trial: Vec<f64>,
}

/// How hand-overs of exclusive keys went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandOvers {
    /// To an operation that was already waiting when the lock was released: the samples of `hand_over_us`.
    pub to_waiter: u64,
    /// To a newcomer although somebody was already waiting.
    pub barged: u64,
    /// To a newcomer while nobody waited.
    pub idle: u64,
    /// Grants before the release of the one before: no hand-over at all.
    pub overlapped: u64,
}

/// How the grants were shared out among the workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// Jain's index of the grants per worker: 1 is equal, 1/workers is one worker gets all. The lowest trial.
    pub jain: Option<f64>,
    /// Grants that passed over an operation which had called acquire earlier, all trials.
    pub overtakes: Option<u64>,
    /// The longest time from acquire called to an answer or the end of the run.
    pub longest_wait_us: Option<f64>,
}

/// What a grant costs, everything included that the window saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Commands that the lock's server executed.
    pub commands_per_grant: Option<f64>,
    /// Bytes in and out of the lock's server.
    pub bytes_per_grant: Option<f64>,
    /// CPU time of all agents.
    pub agent_cpu_us_per_grant: Option<f64>,
    /// CPU time of the lock's server.
    pub server_cpu_us_per_grant: Option<f64>,
}

/// Whether something else than the lock was the limit, in any trial; `null` where nobody can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Saturation {
    /// The agents could not keep up with the load.
    pub generator: Option<bool>,
    /// The witness used nine tenths of a core or more.
    pub witness: Option<bool>,
}

/// Where a wall second of the busiest key goes, as shares of 1 (mean of the trials).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSplit {
    /// Somebody held the lock, steps at the register included.
    pub work: f64,
    /// Free, and wanted.
    pub hand_over: f64,
    /// Free, and not wanted.
    pub idle: f64,
}

/// What the busiest key can carry at most: 1 / (mean hold + mean hand-over).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SerialCeiling {
    /// Grants per second that the key could carry (mean of the trials).
    pub per_second: f64,
    /// Grants per second that it carried.
    pub achieved: f64,
    /// Achieved / possible.
    pub efficiency: f64,
}

/// What was sold, over all trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sale {
    /// Distinct orders that the register holds.
    pub sold: u64,
    /// Stocks that were opened: items times rounds.
    pub rounds: u64,
    /// Operations per second that ended `granted` within the window.
    pub orders_per_second: Option<f64>,
    /// First look to sold out, median of the stocks that sold out.
    pub sell_out_us: Option<f64>,
    /// Buyers were turned away although so many pieces were never sold.
    pub undersold: u64,
    /// Orders that the register holds more than once.
    pub duplicates: u64,
}

/// What happened in every second of the window of one trial, by when it happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSeries {
    /// Which trial, from 1.
    pub trial: u32,
    /// Grants.
    pub granted: Vec<u64>,
    /// Denials.
    pub denied: Vec<u64>,
    /// Operations that ended in any other way.
    pub other: Vec<u64>,
}

/// What became of a control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlResult {
    /// Beside which workload.
    pub workload: String,
    /// Name of the control.
    pub control: String,
    /// What was found; `null` if it could not be run.
    pub verdict: Option<Verdict>,
    /// What had to be found.
    pub expected: Verdict,
    /// Why it gave the wrong answer, if it did.
    #[serde(default)]
    pub reason: Option<String>,
}

impl ControlResult {
    /// Whether it gave the right answer.
    pub fn right(&self) -> bool {
        self.verdict == Some(self.expected)
    }
}

/// What became of a rule. Only `pass` is green.
///
/// Ordered so that `max` merges: fail beats no-data beats pass.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// Every matching cell keeps it.
    Pass,
    /// Nobody can tell.
    NoData,
    /// A matching cell breaks it.
    Fail,
}

/// A rule and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// As its author wrote it.
    pub rule: String,
    /// The answer.
    pub outcome: GateOutcome,
    /// Ids of the cells that it was applied to.
    pub cells: Vec<String>,
    /// One line for each cell that does not pass.
    #[serde(default)]
    pub details: Vec<GateDetail>,
}

/// Why a cell does not pass a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateDetail {
    /// Id of the cell.
    pub cell: String,
    /// `fail` or `no-data`.
    pub outcome: GateOutcome,
    /// What was measured, in words.
    pub measured: String,
    /// What is allowed, in words.
    pub allowed: String,
}
