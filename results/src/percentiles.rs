//! A few points of a distribution of latencies, as results show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Percentiles of one latency.
///
/// # Shape and units
///
/// Microseconds. A percentile is `null` where fewer than one sample is expected beyond it: `p50` needs 2 samples,
/// `p90` 10, `p99` 100, `p999` 1000. `max` is exact. Samples above 120 s are counted in `clipped`; a percentile that
/// falls among them is given as 120 s and means "at least".
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Number of samples.
    pub count: u64,
    /// Half of the samples are at most this.
    pub p50: Option<f64>,
    /// 90 % of the samples are at most this.
    pub p90: Option<f64>,
    /// 99 % of the samples are at most this.
    pub p99: Option<f64>,
    /// 99.9 % of the samples are at most this.
    pub p999: Option<f64>,
    /// The largest sample, exactly.
    pub max: Option<f64>,
    /// Samples above 120 s.
    #[serde(default)]
    pub clipped: u64,
}

/// Which point of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    /// The median.
    P50,
    /// 90 %.
    P90,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// The largest.
    Max,
}

impl Percentile {
    /// Every point.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::Max];

    /// The name used in gates and run.json.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p999",
            Self::Max => "max",
        }
    }

    /// How many samples it needs to mean anything: one is expected beyond it.
    pub const fn samples_needed(self) -> u64 {
        match self {
            Self::P50 => 2,
            Self::P90 => 10,
            Self::P99 => 100,
            Self::P999 => 1_000,
            Self::Max => 1,
        }
    }
}

impl Percentiles {
    /// The value at `percentile`, microseconds; `None` if there are not enough samples.
    pub const fn at(&self, percentile: Percentile) -> Option<f64> {
        match percentile {
            Percentile::P50 => self.p50,
            Percentile::P90 => self.p90,
            Percentile::P99 => self.p99,
            Percentile::P999 => self.p999,
            Percentile::Max => self.max,
        }
    }
}
