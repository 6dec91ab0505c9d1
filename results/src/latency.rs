//! Latencies of operations, kept as histograms.

use std::collections::BTreeMap;
use std::fmt;

use hdrhistogram::Histogram;

use crate::event::{Nanos, Outcome};
use crate::percentiles::{Percentile, Percentiles};

/// The longest sample that is kept, nanoseconds: 120 s.
pub const LONGEST: Nanos = 120_000_000_000;
/// Shorter samples count as this, nanoseconds: 1 µs.
pub const SHORTEST: Nanos = 1_000;
/// Significant digits that are kept.
const DIGITS: u8 = 3;
const NANOS_PER_MICRO: f64 = 1e3;

/// Which stretch of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatencyKind {
    /// Intended start to released by the pacer: our own lateness.
    PacerLag,
    /// Released by the pacer to taken by a worker.
    Queue,
    /// Acquire called to granted or denied.
    Wait,
    /// Granted to release sent.
    Hold,
    /// Release sent to acknowledged.
    Release,
    /// Intended start to release acknowledged.
    Response,
    /// Release sent by one holder to the grant of one that was already waiting.
    HandOver,
}

impl LatencyKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::PacerLag,
        Self::Queue,
        Self::Wait,
        Self::Hold,
        Self::Release,
        Self::Response,
        Self::HandOver,
    ];

    /// The name used in tags of histograms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacerLag => "pacer-lag",
            Self::Queue => "queue",
            Self::Wait => "wait",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Response => "response",
            Self::HandOver => "hand-over",
        }
    }

    /// Whether it is kept apart for each outcome.
    pub const fn by_outcome(self) -> bool {
        matches!(self, Self::Wait | Self::Hold | Self::Release | Self::Response)
    }
}

/// What a histogram holds: a stretch, and the outcome of its operations where they are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// Which stretch.
    pub kind: LatencyKind,
    /// How the operations ended; `None` for a kind that is not kept apart.
    pub outcome: Option<Outcome>,
}

impl Tag {
    /// The tag of `kind` for operations that ended with `outcome`.
    pub fn new(kind: LatencyKind, outcome: Outcome) -> Self {
        Self { kind, outcome: kind.by_outcome().then_some(outcome) }
    }

    /// The tag of a kind that is not kept apart.
    pub const fn whole(kind: LatencyKind) -> Self {
        Self { kind, outcome: None }
    }

    /// The tag written as `text`, such as `response.granted`.
    pub fn named(text: &str) -> Option<Self> {
        let (kind, outcome) = match text.split_once('.') {
            Some((kind, outcome)) => (kind, Some(outcome)),
            None => (text, None),
        };
        let kind = LatencyKind::ALL.into_iter().find(|known| known.name() == kind)?;
        if kind.by_outcome() != outcome.is_some() {
            return None;
        }
        let known = |name| Outcome::ALL.into_iter().find(|known| known.name() == name);
        Some(Self { kind, outcome: outcome.map(|name| known(name).ok_or(())).transpose().ok()? })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        self.outcome.map_or(Ok(()), |outcome| write!(f, ".{}", outcome.name()))
    }
}

/// Latencies of one kind.
///
/// # Shape and units
///
/// Nanoseconds, kept to three significant digits between 1 µs and 120 s (about 200 kB, whatever the number of
/// samples). Shorter samples count as 1 µs. Longer ones are not squeezed in: they are counted in
/// [`clipped`](Self::clipped). The largest sample is kept exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    histogram: Histogram<u64>,
    clipped: u64,
    max: Option<Nanos>,
}

impl Latencies {
    /// No samples yet.
    pub fn new() -> Self {
        Self { histogram: histogram(), clipped: 0, max: None }
    }

    /// Latencies from what was saved; `None` if `histogram` does not fit into the bounds.
    pub fn from_saved(
        histogram: &Histogram<u64>,
        clipped: u64,
        max: Option<Nanos>,
    ) -> Option<Self> {
        let mut latencies = Self::new();
        latencies.histogram.add(histogram).ok()?;
        let seen = (!histogram.is_empty()).then(|| histogram.max());
        Some(Self { clipped, max: max.or(seen), ..latencies })
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.max = self.max.max(Some(latency));
        if latency > LONGEST || self.histogram.record(latency.max(SHORTEST)).is_err() {
            self.clipped += 1;
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.histogram, &other.histogram);
        self.clipped = self.clipped.saturating_add(other.clipped);
        self.max = self.max.max(other.max);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.len().saturating_add(self.clipped)
    }

    /// Number of samples above 120 s.
    pub const fn clipped(&self) -> u64 {
        self.clipped
    }

    /// The largest sample, exactly; `None` without samples.
    pub const fn max(&self) -> Option<Nanos> {
        self.max
    }

    /// The samples of at most 120 s.
    pub(crate) const fn kept(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// The points that results show.
    pub fn percentiles(&self) -> Percentiles {
        Percentiles {
            count: self.count(),
            p50: self.at(Percentile::P50, 0.5),
            p90: self.at(Percentile::P90, 0.9),
            p99: self.at(Percentile::P99, 0.99),
            p999: self.at(Percentile::P999, 0.999),
            max: self.max.map(micros),
            clipped: self.clipped,
        }
    }

    fn at(&self, percentile: Percentile, quantile: f64) -> Option<f64> {
        let (count, kept) = (self.count(), self.histogram.len());
        if count < percentile.samples_needed() {
            return None;
        }
        // The quantile among the kept samples that has the same rank as the wanted one among all.
        let among_kept = quantile * count as f64 / kept as f64;
        if kept == 0 || among_kept > 1.0 {
            return Some(micros(LONGEST));
        }
        // The upper end of the slot that it fell into may lie above everything that was seen.
        let value = self.histogram.value_at_quantile(among_kept).min(self.max.unwrap_or(LONGEST));
        Some(micros(value))
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(SHORTEST, LONGEST, DIGITS)
        .expect("the bounds are constants in range")
}

fn add(sum: &mut Histogram<u64>, more: &Histogram<u64>) {
    sum.add(more).expect("all latencies have the same bounds");
}

fn micros(nanos: Nanos) -> f64 {
    nanos as f64 / NANOS_PER_MICRO
}

/// All latencies of a trial or a cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LatencySet(BTreeMap<Tag, Latencies>);

impl LatencySet {
    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, tag: Tag, latency: Nanos) {
        self.0.entry(tag).or_default().record(latency);
    }

    /// Adds all samples of `latencies`.
    pub fn add(&mut self, tag: Tag, latencies: &Latencies) {
        self.0.entry(tag).or_default().merge(latencies);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (tag, latencies) in other.iter() {
            self.add(tag, latencies);
        }
    }

    /// The points of one of them; `None` without samples.
    pub fn percentiles(&self, tag: Tag) -> Option<Percentiles> {
        self.0.get(&tag).filter(|latencies| latencies.count() > 0).map(Latencies::percentiles)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Tag, &Latencies)> {
        self.0.iter().map(|(tag, latencies)| (*tag, latencies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = Nanos>) -> Percentiles {
        let mut latencies = Latencies::new();
        samples.into_iter().for_each(|sample| latencies.record(sample));
        latencies.percentiles()
    }

    #[test]
    fn a_percentile_without_samples_beyond_it_is_missing() {
        assert_eq!(of([]), Percentiles::default());
        let one = of([5_000]);
        assert_eq!((one.p50, one.max), (None, Some(5.0)));
        let fifty = of((1..=50).map(|n| n * 1_000_000));
        assert!(fifty.p90.is_some());
        assert_eq!((fifty.p99, fifty.p999), (None, None));
        assert!(of((1..=1_000).map(|n| n * 1_000_000)).p999.is_some());
    }

    #[test]
    fn percentiles_are_near_and_the_maximum_is_exact() {
        let p = of((1..=10_000).map(|n| n * 10_007));
        for (found, exact) in [(p.p50, 50_035.0), (p.p90, 90_063.0), (p.p99, 99_069.3)] {
            assert!((found.unwrap() / exact - 1.0).abs() < 2e-3, "{found:?} {exact}");
        }
        assert_eq!(p.max, Some(100_070.0));
    }

    #[test]
    fn what_is_too_long_is_counted_and_never_squeezed_in() {
        let p = of((0..90).map(|_| 2_000_000).chain((0..10).map(|_| 130 * 1_000_000_000)));
        assert_eq!((p.count, p.clipped), (100, 10));
        assert_eq!((p.p99, p.max), (Some(120e6), Some(130e6)));
        assert!(p.p50.unwrap() < 2_100.0);
        let all = of((0..10).map(|_| u64::MAX));
        assert_eq!((all.clipped, all.p50), (10, Some(120e6)));
    }

    #[test]
    fn tags_are_read_as_written() {
        for kind in LatencyKind::ALL {
            for outcome in Outcome::ALL {
                let tag = Tag::new(kind, outcome);
                assert_eq!(Tag::named(&tag.to_string()), Some(tag));
            }
        }
        for text in ["response", "queue.granted", "response.lost", "", "x"] {
            assert_eq!(Tag::named(text), None, "{text}");
        }
    }
}
