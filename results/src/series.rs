//! What happened in every second of the window.

use crate::event::{Nanos, Outcome};
use crate::run::TrialSeries;
use crate::window::{SECOND, Window};

/// Counts per second, by when it happened; the warm-up is left out.
pub(crate) struct Series {
    window: Window,
    counts: TrialSeries,
}

impl Series {
    pub(crate) fn new(window: Window, trial: u32) -> Self {
        let seconds = usize::try_from(window.length().div_ceil(SECOND)).unwrap_or(0);
        let none = vec![0; seconds];
        let counts =
            TrialSeries { trial, granted: none.clone(), denied: none.clone(), other: none };
        Self { window, counts }
    }

    /// Counts an operation that was answered or ended at `at`.
    #[inline]
    pub(crate) fn count(&mut self, outcome: Outcome, at: Nanos) {
        if !self.window.holds(at) {
            return;
        }
        let second = (at - self.window.start) / SECOND;
        let column = match outcome {
            Outcome::Granted => &mut self.counts.granted,
            Outcome::Denied => &mut self.counts.denied,
            _ => &mut self.counts.other,
        };
        if let Some(count) = usize::try_from(second).ok().and_then(|second| column.get_mut(second))
        {
            *count += 1;
        }
    }

    pub(crate) fn finish(self) -> TrialSeries {
        self.counts
    }
}
