//! The one clock that leases are counted on.

use std::ops::Add;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A point on `CLOCK_MONOTONIC` of this host, in nanoseconds.
///
/// Unlike [`std::time::Instant`] it can be written down and compared with the points of other
/// processes of the same boot and time namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// A moment that never comes: the valid-until of a lease without end.
    pub const NEVER: Self = Self(u64::MAX);

    /// Reads the clock (about 25 ns through the vDSO).
    #[allow(clippy::missing_panics_doc, reason = "the clock always exists")]
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC always exists");
        Self(time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
    }

    /// How long after `earlier` this moment is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}
