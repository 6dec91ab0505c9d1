//! What a gate can ask about: names, units, and where a result says it.

use crate::event::Outcome;
use crate::percentiles::{Percentile, Percentiles};
use crate::run::{CellResult, FindingSummary};
use crate::verdict::{Verdict, ViolationKind};

/// A quantity that a gate compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Violations of the kinds that count for the cell.
    Violations,
    /// Violations of one kind.
    Kind(ViolationKind),
    /// Harm done to the register.
    Damage,
    /// Grants per second, median of the trials.
    Throughput,
    /// Share of offered operations granted within the service level.
    Goodput,
    /// A point of a latency.
    Latency(Latency, Percentile),
    /// Commands of the lock's server per grant.
    CostCommands,
    /// Operations that ended with an error or unknown, as a share of all.
    ErrorShare,
}

/// A latency that a gate can ask about; those kept by outcome are those of granted operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// Intended start to release acknowledged.
    Response,
    /// Acquire called to granted.
    Wait,
    /// Granted to release sent.
    Hold,
    /// Release sent to acknowledged.
    Release,
    /// Intended start to released by the pacer.
    PacerLag,
    /// Released by the pacer to taken by a worker.
    Queue,
    /// Release sent to the grant of a waiter.
    HandOver,
    /// Fault begins to the next grant.
    Recovery,
    /// Lease lost to the holder being told.
    LossNotice,
}

impl Latency {
    /// Every latency.
    pub const ALL: [Self; 9] = [
        Self::Response,
        Self::Wait,
        Self::Hold,
        Self::Release,
        Self::PacerLag,
        Self::Queue,
        Self::HandOver,
        Self::Recovery,
        Self::LossNotice,
    ];

    /// The name used in gates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Wait => "wait",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::PacerLag => "pacer-lag",
            Self::Queue => "queue",
            Self::HandOver => "hand-over",
            Self::Recovery => "recovery",
            Self::LossNotice => "loss-notice",
        }
    }

    fn of(self, cell: &CellResult) -> Option<&Percentiles> {
        let by_outcome = match self {
            Self::Response => &cell.response_us,
            Self::Wait => &cell.wait_us,
            Self::Hold => &cell.hold_us,
            Self::Release => &cell.release_us,
            Self::PacerLag => return cell.pacer_lag_us.as_ref(),
            Self::Queue => return cell.queue_us.as_ref(),
            Self::HandOver => return cell.hand_over_us.as_ref(),
            Self::Recovery => return cell.recovery_us.as_ref(),
            Self::LossNotice => return cell.loss_notice_us.as_ref(),
        };
        by_outcome.as_ref()?.get(Outcome::Granted).as_ref()
    }
}

/// How values of a metric are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A whole number.
    Count,
    /// A number per second; `/s` may follow it.
    Rate,
    /// A number between 0 and 1, or a percentage.
    Share,
    /// A duration with its unit, kept in microseconds.
    Micros,
    /// A plain number.
    Number,
}

/// A name that gates understand, for `lockbench list gates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricEntry {
    /// As it is written.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
}

/// What gates can ask about. Besides these, the name of every kind of violation.
pub const METRICS: &[MetricEntry] = &[
    MetricEntry {
        name: "violations",
        summary: "violations of all kinds that count for the cell: violations == 0",
    },
    MetricEntry {
        name: "KIND",
        summary: "violations of one kind, such as mutual-exclusion or oversell: oversell == 0",
    },
    MetricEntry {
        name: "damage",
        summary: "harm done to the register, whatever the overlaps: damage == 0 where guard == cas",
    },
    MetricEntry {
        name: "throughput",
        summary: "grants per second, median of the trials: throughput >= 800/s",
    },
    MetricEntry {
        name: "goodput",
        summary: "share of offered operations granted within the slo: goodput >= 95%",
    },
    MetricEntry {
        name: "LATENCY.PERCENTILE",
        summary: "response, wait, hold, release (of granted operations), pacer-lag, queue, hand-over, recovery, \
                  loss-notice; p50, p90, p99, p999, max: response.p99 < 80ms",
    },
    MetricEntry {
        name: "recovery.max",
        summary: "fault begins to the next grant of a key that was held then: recovery.max <= 5s",
    },
    MetricEntry {
        name: "cost.commands",
        summary: "commands of the lock's server per grant: cost.commands <= 3",
    },
    MetricEntry {
        name: "error-share",
        summary: "operations that ended with an error or unknown, of all: error-share < 0.1%",
    },
];

impl Metric {
    /// The metric called `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "violations" => return Some(Self::Violations),
            "damage" => return Some(Self::Damage),
            "throughput" => return Some(Self::Throughput),
            "goodput" => return Some(Self::Goodput),
            "cost.commands" => return Some(Self::CostCommands),
            "error-share" => return Some(Self::ErrorShare),
            _ => {}
        }
        if let Some(kind) = ViolationKind::ALL.into_iter().find(|kind| kind.name() == name) {
            return Some(Self::Kind(kind));
        }
        let (latency, percentile) = name.split_once('.')?;
        let percentile = if percentile == "p99.9" { "p999" } else { percentile };
        Some(Self::Latency(
            Latency::ALL.into_iter().find(|known| known.name() == latency)?,
            Percentile::ALL.into_iter().find(|known| known.name() == percentile)?,
        ))
    }

    /// Every name that [`named`](Self::named) understands.
    pub fn names() -> Vec<String> {
        let single =
            ["violations", "damage", "throughput", "goodput", "cost.commands", "error-share"];
        let kinds = ViolationKind::ALL.into_iter().map(ViolationKind::name);
        let latencies = Latency::ALL.into_iter().flat_map(|latency| {
            Percentile::ALL
                .into_iter()
                .map(move |percentile| format!("{}.{}", latency.name(), percentile.name()))
        });
        single.into_iter().chain(kinds).map(str::to_owned).chain(latencies).collect()
    }

    /// How its values are written.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Violations | Self::Kind(_) | Self::Damage => Unit::Count,
            Self::Throughput => Unit::Rate,
            Self::Goodput | Self::ErrorShare => Unit::Share,
            Self::Latency(..) => Unit::Micros,
            Self::CostCommands => Unit::Number,
        }
    }

    /// What `cell` says; `None` if it was not measured.
    pub fn measure(self, cell: &CellResult) -> Option<f64> {
        match self {
            Self::Violations => cell.violation_count().map(|count| count as f64),
            Self::Kind(kind) => cell.finding(kind).map(|finding| finding.count as f64),
            Self::Damage => cell.damage.map(|damage| damage as f64),
            Self::Throughput => cell.throughput.as_ref().map(|spread| spread.median),
            Self::Goodput => cell.goodput,
            Self::Latency(latency, percentile) => latency.of(cell)?.at(percentile),
            Self::CostCommands => cell.cost?.commands_per_grant,
            Self::ErrorShare => {
                let outcomes = cell.outcomes?;
                let bad = outcomes.error.saturating_add(outcomes.unknown);
                (outcomes.total() > 0).then(|| bad as f64 / outcomes.total() as f64)
            }
        }
    }

    /// Whether the saturation of the load generator makes what was measured meaningless.
    pub const fn depends_on_generator(self) -> bool {
        matches!(self, Self::Latency(..))
    }

    /// Why what `cell` says is no more than a lower bound, if it is: a kind that the metric counts was not judged.
    pub fn doubt(self, cell: &CellResult) -> Option<String> {
        let undecided = self.kinds(cell).into_iter().find_map(|kind| match cell.finding(kind) {
            None if self == Self::Damage => None,
            None => Some(format!("{} was not looked for", kind.name())),
            Some(FindingSummary { verdict: Verdict::Unknown, reason, .. }) => Some(format!(
                "{} is unknown: {}",
                kind.name(),
                reason.as_deref().unwrap_or("the history cannot decide")
            )),
            Some(_) => None,
        });
        undecided.or_else(|| match self {
            Self::Violations if cell.counted.is_empty() => Some("no kind counts".to_owned()),
            _ => None,
        })
    }

    /// The chances that stand behind what `cell` says; `None` if there were none to count.
    pub fn exposures(self, cell: &CellResult) -> Option<u64> {
        match self {
            Self::Kind(_) | Self::Damage => {
                let of = |kind| Some(cell.finding(kind)?.exposures);
                self.kinds(cell).into_iter().filter_map(of).min()
            }
            _ => cell.exposures(),
        }
    }

    /// The kinds of violation that it counts.
    fn kinds(self, cell: &CellResult) -> Vec<ViolationKind> {
        match self {
            Self::Violations => cell.counted.clone(),
            Self::Kind(kind) => vec![kind],
            Self::Damage => {
                ViolationKind::ALL.into_iter().filter(|kind| kind.is_damage()).collect()
            }
            _ => Vec::new(),
        }
    }
}
