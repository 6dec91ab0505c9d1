//! Which grants somebody else wanted as well.

use crate::checker::Wait;
use crate::event::Nanos;
use crate::hold::Hold;

/// For each of `holds` (of one key, in order of their start): whether another operation tried to get the lock, or had
/// it, during the interval in which this one perhaps held it: from the request that won to the answer of the release.
pub(crate) fn contended(holds: &[Hold], waits: &[Wait]) -> Vec<bool> {
    let mut contended = vec![false; holds.len()];
    // A later hold began after this one did, so they met if the later one was wanted before this one was over.
    let mut wanted = Nanos::MAX;
    for (hold, contended) in holds.iter().zip(&mut contended).rev() {
        *contended = wanted < hold.last_seen();
        wanted = wanted.min(hold.wait_start());
    }
    let mut seen = 0;
    let ends = latest_ends(waits);
    for (hold, contended) in holds.iter().zip(&mut contended) {
        let sent = hold.request_sent();
        *contended |= seen > sent || {
            let before = waits.partition_point(|wait| wait.from < hold.last_seen());
            before > 0 && ends[before - 1] > sent
        };
        seen = seen.max(hold.last_seen());
    }
    contended
}

/// For each of `waits`, sorted by begin: the latest end among it and those before it.
pub(crate) fn latest_ends(waits: &[Wait]) -> Vec<Nanos> {
    let mut latest = 0;
    let ends = waits.iter().map(|wait| {
        latest = wait.to.max(latest);
        latest
    });
    ends.collect()
}
