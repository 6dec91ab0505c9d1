//! Figures kept apart by how operations ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Outcome;
use crate::percentiles::Percentiles;

/// One value for each way in which an operation can end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct PerOutcome<T> {
    /// The lock was granted and the work done.
    pub granted: T,
    /// The lock was not granted in time.
    pub denied: T,
    /// The workload turned the operation away.
    pub refused: T,
    /// It certainly had no effect.
    pub error: T,
    /// It may have had an effect.
    pub unknown: T,
    /// The run ended first.
    pub cancelled: T,
}

/// A latency, apart for each outcome; `null` for an outcome without samples.
pub type LatencyByOutcome = PerOutcome<Option<Percentiles>>;

impl<T> PerOutcome<T> {
    /// One value per outcome.
    pub fn build(mut value: impl FnMut(Outcome) -> T) -> Self {
        Self {
            granted: value(Outcome::Granted),
            denied: value(Outcome::Denied),
            refused: value(Outcome::Refused),
            error: value(Outcome::Error),
            unknown: value(Outcome::Unknown),
            cancelled: value(Outcome::Cancelled),
        }
    }

    /// The value of `outcome`.
    pub const fn get(&self, outcome: Outcome) -> &T {
        match outcome {
            Outcome::Granted => &self.granted,
            Outcome::Denied => &self.denied,
            Outcome::Refused => &self.refused,
            Outcome::Error => &self.error,
            Outcome::Unknown => &self.unknown,
            Outcome::Cancelled => &self.cancelled,
        }
    }

    /// The value of `outcome`, to change it.
    pub const fn get_mut(&mut self, outcome: Outcome) -> &mut T {
        match outcome {
            Outcome::Granted => &mut self.granted,
            Outcome::Denied => &mut self.denied,
            Outcome::Refused => &mut self.refused,
            Outcome::Error => &mut self.error,
            Outcome::Unknown => &mut self.unknown,
            Outcome::Cancelled => &mut self.cancelled,
        }
    }
}

impl PerOutcome<u64> {
    /// All of them together.
    pub fn total(&self) -> u64 {
        Outcome::ALL.iter().fold(0, |sum, outcome| sum.saturating_add(*self.get(*outcome)))
    }
}
