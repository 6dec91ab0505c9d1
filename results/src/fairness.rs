//! How grants are shared out among workers.

use std::collections::HashMap;

use crate::checker::Wait;
use crate::contention::latest_ends;
use crate::event::Nanos;
use crate::hold::Hold;
use crate::window::Window;

/// Grants per worker.
#[derive(Default)]
pub(crate) struct Shares(HashMap<u32, u64>);

impl Shares {
    #[inline]
    pub(crate) fn count(&mut self, worker: u32) {
        *self.0.entry(worker).or_default() += 1;
    }

    /// Jain's index over `workers`, those without a grant included: (Σx)² / (n Σx²). `None` without grants.
    pub(crate) fn jain(&self, workers: u32) -> Option<f64> {
        let sum: f64 = self.0.values().map(|grants| *grants as f64).sum();
        let squares: f64 = self.0.values().map(|grants| (*grants as f64).powi(2)).sum();
        let workers = f64::from(workers).max(self.0.len() as f64);
        (squares > 0.0).then(|| sum * sum / (workers * squares))
    }
}

/// Grants of one key within `window` that passed over at least one operation which had called acquire earlier and was
/// still waiting. `holds` and `waits` are those of the key, in order.
pub(crate) fn overtakes(holds: &[Hold], waits: &[Wait], window: Window) -> u64 {
    let ends = latest_ends(waits);
    let mut earliest_later = Nanos::MAX;
    let mut overtakes = 0;
    for hold in holds.iter().rev() {
        let before = waits.partition_point(|wait| wait.from < hold.wait_start());
        let passed_denied = before > 0 && ends[before - 1] > hold.start;
        let passed = earliest_later < hold.wait_start() || passed_denied;
        overtakes += u64::from(passed && window.holds(hold.start));
        earliest_later = earliest_later.min(hold.wait_start());
    }
    overtakes
}
