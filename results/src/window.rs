//! The measured part of a trial.

use crate::event::Nanos;

/// Nanoseconds per second.
pub(crate) const SECOND: Nanos = 1_000_000_000;

/// From when to when a trial is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
}

impl Window {
    /// Whether `at` is inside; the end is not.
    #[inline]
    pub(crate) const fn holds(self, at: Nanos) -> bool {
        at >= self.start && at < self.end
    }

    /// Nanoseconds.
    pub(crate) const fn length(self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// Seconds.
    pub(crate) fn seconds(self) -> f64 {
        self.length() as f64 / SECOND as f64
    }

    /// The part of `from..to` that is inside, nanoseconds.
    pub(crate) fn share(self, from: Nanos, to: Nanos) -> Nanos {
        to.min(self.end).saturating_sub(from.max(self.start))
    }
}
