//! Figures in words.

use crate::percentiles::{Percentile, Percentiles};
use crate::run::{CellResult, FindingSummary, GateOutcome, Spread};
use crate::verdict::Verdict;

/// What was not measured.
pub(crate) const NO_DATA: &str = "no data";
/// What makes no sense.
pub(crate) const DASH: &str = "–";
/// A percentile without enough samples.
pub(crate) const FEW: &str = "few";
/// Latencies are kept up to this, microseconds.
const LONGEST_US: f64 = 120e6;

/// A duration in microseconds, with its unit.
pub(crate) fn duration(micros: f64) -> String {
    match micros {
        us if us >= LONGEST_US => format!("{:.0}s", us / 1e6),
        us if us >= 999_500.0 => format!("{:.2}s", us / 1e6),
        us if us >= 99_950.0 => format!("{:.0}ms", us / 1e3),
        us if us >= 9_995.0 => format!("{:.1}ms", us / 1e3),
        us if us >= 999.5 => format!("{:.2}ms", us / 1e3),
        us => format!("{us:.0}µs"),
    }
}

/// A point of a latency.
pub(crate) fn point(latency: Option<&Percentiles>, percentile: Percentile) -> String {
    let Some(latency) = latency.filter(|latency| latency.count > 0) else {
        return NO_DATA.to_owned();
    };
    match latency.at(percentile) {
        None => FEW.to_owned(),
        Some(micros) if latency.clipped > 0 && micros >= LONGEST_US => "≥120s".to_owned(),
        Some(micros) => duration(micros),
    }
}

/// A number, with as many digits as are worth reading.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e7 => format!("{:.2}M", value / 1e6),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A share of 1 as a percentage.
pub(crate) fn percentage(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p == 0.0 || p >= 10.0 => format!("{p:.1}%"),
        p if p >= 0.01 => format!("{p:.2}%"),
        p if p >= 1e-4 => format!("{p:.4}%"),
        p => format!("{p:.0e}%"),
    }
}

/// A figure with its spread over the trials.
pub(crate) fn spread(spread: &Spread) -> Vec<String> {
    let mut lines = vec![number(spread.median)];
    if spread.per_trial.len() > 1 {
        lines.push(format!("[{}..{}]", number(spread.min), number(spread.max)));
    }
    lines
}

/// Violations of the kinds that count, beside their chances.
pub(crate) fn violations(cell: &CellResult) -> Vec<String> {
    let Some(count) = cell.violation_count() else { return vec![NO_DATA.to_owned()] };
    let Some(exposures) = cell.exposures() else { return vec![count.to_string()] };
    let mut lines = vec![format!("{count} / {exposures}")];
    if count == 0 && cell.verdict == Some(Verdict::Valid) && exposures > 0 {
        lines.push(format!("(<{})", percentage((3.0 / exposures as f64).min(1.0))));
    }
    lines
}

/// What was found of one kind, for a footnote.
pub(crate) fn finding(finding: &FindingSummary) -> String {
    let mut words = format!("{} of {} exposures", finding.count, finding.exposures);
    if finding.within_lease > 0 || finding.past_lease > 0 {
        let (within, past) = (finding.within_lease, finding.past_lease);
        words += &[
            ", ",
            &within.to_string(),
            " within both leases, ",
            &past.to_string(),
            " past a lease",
        ]
        .concat();
    }
    if let Some(reason) = &finding.reason {
        words += ": ";
        words += reason;
    }
    words
}

/// A verdict.
pub(crate) const fn verdict(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Valid) => "valid",
        Some(Verdict::Unknown) => "unknown",
        Some(Verdict::Violated) => "VIOLATED",
        None => NO_DATA,
    }
}

/// The answer of a gate.
pub(crate) const fn gate(outcome: GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Pass => "pass",
        GateOutcome::Fail => "FAIL",
        GateOutcome::NoData => "NO DATA",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let shown: Vec<String> =
            [0.0, 812.4, 999.6, 1_234.0, 12_345.0, 123_456.0, 1_234_567.0, 130e6]
                .into_iter()
                .map(duration)
                .collect();
        assert_eq!(shown, ["0µs", "812µs", "1.00ms", "1.23ms", "12.3ms", "123ms", "1.23s", "130s"]);
    }

    #[test]
    fn a_missing_point_says_why() {
        assert_eq!(point(None, Percentile::P99), "no data");
        let few = Percentiles { count: 5, p50: Some(3.0), ..Percentiles::default() };
        assert_eq!(point(Some(&few), Percentile::P99), "few");
        let long = Percentiles { count: 5, clipped: 4, p50: Some(120e6), ..Percentiles::default() };
        assert_eq!(point(Some(&long), Percentile::P50), "≥120s");
    }

    #[test]
    fn tiny_shares_are_not_rounded_to_nothing() {
        assert_eq!(percentage(0.0024), "0.24%");
        assert_eq!(percentage(3e-7), "3e-5%");
        assert_eq!(percentage(0.0), "0.0%");
    }
}
