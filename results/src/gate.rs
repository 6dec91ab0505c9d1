//! A rule over the results of a run.

use crate::metric::{Metric, Unit};
use crate::rule::{self, Comparison, Rule};
use crate::run::{CellResult, GateDetail, GateOutcome, GateResult};

pub use crate::metric::{METRICS, MetricEntry};
pub use crate::rule::GateError;

/// A rule, as written and as understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    text: String,
    rule: Rule,
}

impl Gate {
    /// Reads a rule such as `response.p99 < 80ms where load == constant and exposures >= 1000`.
    ///
    /// # Errors
    ///
    /// [`GateError`], with the byte offset of what is not understood.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        Ok(Self { text: text.to_owned(), rule: rule::parse(text)? })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it can apply to `head`: all its conditions on names hold.
    pub fn matches(&self, head: &crate::cell::CellHead) -> bool {
        self.rule.conditions.iter().all(|condition| condition.matches(head))
    }

    /// Applies the rule to every cell that its conditions name. Cells that make no sense are left out.
    ///
    /// # Outcome
    ///
    /// `fail` if any cell breaks the rule; otherwise `no-data` if any cell cannot answer, or if there is no cell;
    /// otherwise `pass`. A cell cannot answer where the quantity was not measured, where a kind of violation that would
    /// have to be counted is unknown, where there were fewer exposures than the rule asks for, and for latencies
    /// where the load generator was saturated.
    pub fn evaluate(&self, cells: &[CellResult]) -> GateResult {
        let matching: Vec<&CellResult> =
            cells.iter().filter(|cell| cell.head.applicable && self.matches(&cell.head)).collect();
        let details: Vec<GateDetail> =
            matching.iter().filter_map(|cell| self.complaint(cell)).collect();
        let outcome = if matching.is_empty() {
            GateOutcome::NoData
        } else {
            details.iter().map(|detail| detail.outcome).max().unwrap_or(GateOutcome::Pass)
        };
        GateResult {
            rule: self.text.clone(),
            outcome,
            cells: matching.iter().map(|cell| cell.head.id.clone()).collect(),
            details,
        }
    }

    /// Why `cell` does not pass; `None` if it does.
    fn complaint(&self, cell: &CellResult) -> Option<GateDetail> {
        let (outcome, measured) = self.judge(cell)?;
        let Rule { metric, comparison, value, .. } = self.rule;
        let allowed = format!("{} {}", comparison.symbol(), shown(metric, value));
        Some(GateDetail { cell: cell.head.id.clone(), outcome, measured, allowed })
    }

    fn judge(&self, cell: &CellResult) -> Option<(GateOutcome, String)> {
        let metric = self.rule.metric;
        let no_data = |why: String| Some((GateOutcome::NoData, why));
        let Some(measured) = metric.measure(cell).filter(|measured| measured.is_finite()) else {
            return no_data("not measured".to_owned());
        };
        let generator = cell.saturated.and_then(|saturated| saturated.generator);
        if metric.depends_on_generator() && generator == Some(true) {
            let shown = shown(metric, measured);
            return no_data(format!("{shown}, but the load generator was saturated"));
        }
        let doubt = metric.doubt(cell);
        if !self.rule.comparison.holds(measured, self.rule.value) {
            return Some(match doubt {
                Some(why) if self.more_might_pass(measured) => (GateOutcome::NoData, why),
                _ => (GateOutcome::Fail, shown(metric, measured)),
            });
        }
        if let Some(why) = doubt {
            return no_data(why);
        }
        let least = self.rule.exposures_min?;
        let exposures = metric.exposures(cell).unwrap_or(0);
        (exposures < least)
            .then(|| (GateOutcome::NoData, format!("{exposures} exposures of at least {least}")))
    }

    /// Whether a count that may be higher than `measured` could still keep the rule.
    fn more_might_pass(&self, measured: f64) -> bool {
        match self.rule.comparison {
            Comparison::Below | Comparison::AtMost => false,
            Comparison::Equal | Comparison::AtLeast | Comparison::Above => {
                measured <= self.rule.value
            }
        }
    }
}

/// A value of `metric` for a human.
fn shown(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Count => format!("{value:.0}"),
        Unit::Rate => format!("{value:.1}/s"),
        Unit::Share => format!("{:.3}%", value * 100.0),
        Unit::Number => format!("{value:.2}"),
        Unit::Micros if value >= 1e6 => format!("{:.3}s", value / 1e6),
        Unit::Micros if value >= 1e3 => format!("{:.2}ms", value / 1e3),
        Unit::Micros => format!("{value:.0}us"),
    }
}

#[cfg(test)]
mod tests;
