//! How an exclusive lock goes from one holder to the next, and where the time of its key goes.

use crate::checker::Wait;
use crate::contention::latest_ends;
use crate::event::{Nanos, flags};
use crate::hold::Hold;
use crate::latency::Latencies;
use crate::run::{HandOvers, TimeSplit};
use crate::window::Window;

/// The hand-overs of one key.
#[derive(Debug, Default)]
pub(crate) struct KeyFlow {
    /// Grants within the window.
    pub(crate) grants: u64,
    /// How the lock went on.
    pub(crate) counts: HandOvers,
    /// Release sent to grant, where the next holder was already waiting.
    pub(crate) latencies: Option<Latencies>,
    /// Sum of the samples, nanoseconds.
    hand_over_sum: u128,
    /// Sum of the holds that began within the window, nanoseconds.
    hold_sum: u128,
    /// Nanoseconds of the window in which somebody held the key.
    work: Nanos,
    /// Nanoseconds of the window in which it was free and wanted.
    wanted: Nanos,
}

/// Follows one key. `holds` and `waits` are those of the key, in order; holds that are not exclusive are left out.
///
/// The lock goes on from the release that was sent last before the grant. A hold that was never released hands nothing
/// over, and a grant before that release is an overlap and no hand-over: nothing here is ever negative.
pub(crate) fn flow(holds: &[Hold], waits: &[Wait], window: Window) -> KeyFlow {
    let exclusive: Vec<&Hold> =
        holds.iter().filter(|hold| !hold.has(flags::SHARED | flags::PERMIT)).collect();
    let wanted = wanted_since(&exclusive);
    let ends = latest_ends(waits);
    let mut flow = KeyFlow::default();
    // When the lock was last given up, and whether by a release.
    let mut given_up: Option<(Nanos, bool)> = None;
    for (place, hold) in exclusive.iter().enumerate() {
        let over = hold.release_call().unwrap_or(hold.end).max(hold.end);
        flow.held(hold.start.max(given_up.map_or(0, |(at, _)| at)), over, hold, window);
        if let Some((free_from, released)) = given_up {
            let denied = waits.partition_point(|wait| wait.from <= free_from);
            let others = wanted.get(place + 1).is_some_and(|since| *since <= free_from)
                || denied > 0 && ends[denied - 1] > hold.start;
            if released || hold.start < free_from {
                flow.handed_over(free_from, hold, others, window);
            }
            flow.wanted += window.share(wanted[place].max(free_from), hold.start);
        }
        given_up = given_up.max(Some((over, hold.release_call().is_some())));
    }
    flow
}

/// For each hold: the earliest call of acquire among it and the later ones.
fn wanted_since(holds: &[&Hold]) -> Vec<Nanos> {
    let mut earliest = Nanos::MAX;
    let mut wanted: Vec<Nanos> = holds
        .iter()
        .rev()
        .map(|hold| {
            earliest = earliest.min(hold.wait_start());
            earliest
        })
        .collect();
    wanted.reverse();
    wanted
}

impl KeyFlow {
    fn held(&mut self, from: Nanos, to: Nanos, hold: &Hold, window: Window) {
        self.work += window.share(from, to);
        if window.holds(hold.start) {
            self.grants += 1;
            self.hold_sum += u128::from(to.saturating_sub(hold.start));
        }
    }

    fn handed_over(&mut self, free_from: Nanos, next: &Hold, others: bool, window: Window) {
        if !window.holds(next.start) {
            return;
        }
        let Some(latency) = next.start.checked_sub(free_from) else {
            self.counts.overlapped += 1;
            return;
        };
        if next.wait_start() <= free_from {
            self.counts.to_waiter += 1;
            self.hand_over_sum += u128::from(latency);
            self.latencies.get_or_insert_default().record(latency);
        } else if others {
            self.counts.barged += 1;
        } else {
            self.counts.idle += 1;
        }
    }

    /// Where a wall second of the key goes.
    pub(crate) fn time_split(&self, window: Window) -> TimeSplit {
        let share = |nanos: Nanos| nanos as f64 / window.length().max(1) as f64;
        let (work, hand_over) = (share(self.work), share(self.wanted));
        TimeSplit { work, hand_over, idle: (1.0 - work - hand_over).max(0.0) }
    }

    /// Grants per second that the key could carry, 1 / (mean hold + mean hand-over), and that it carried. `None` without
    /// a hand-over, or where holds overlapped: then the lock is not serial.
    pub(crate) fn ceiling(&self, window: Window) -> Option<(f64, f64)> {
        if self.counts.to_waiter == 0 || self.grants == 0 || self.counts.overlapped > 0 {
            return None;
        }
        let hold = self.hold_sum as f64 / self.grants as f64;
        let hand_over = self.hand_over_sum as f64 / self.counts.to_waiter as f64;
        let cycle = hold + hand_over;
        (cycle > 0.0).then(|| (1e9 / cycle, self.grants as f64 / window.seconds()))
    }
}
