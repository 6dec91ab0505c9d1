//! A18: free, wanted, and nobody woken.

use crate::by_key::by_key;
use crate::checker::{Checker, History, Wait};
use crate::contention::latest_ends;
use crate::event::{Event, Nanos, OpId};
use crate::hold::Hold;
use crate::tally::{Millis, Named, Tally, called, granted, released};
use crate::verdict::{Finding, ViolationKind};

/// Looks for gaps in which a lock was certainly free while somebody waited for it, longer than the bound.
///
/// A lock is certainly free from when every earlier grant was given back (its release was answered; or, without an
/// answer, its lease and one more of the same length had run out), until a request was sent that a later grant
/// answers. Where an acquire ended without an answer, it may have left a grant behind that nobody believes in: such a
/// gap is not judged. *Exposures* are gaps that began with somebody waiting.
pub(crate) struct LostWakeUp {
    /// How long a waiter of a free lock may sleep, in nanoseconds.
    pub(crate) bound_ns: Nanos,
}

/// A time in which a lock was certainly free, and who waited longest meanwhile.
struct Gap {
    /// Place of the last hold before it.
    after: usize,
    waiter: OpId,
    from: Nanos,
    to: Nanos,
}

impl Checker for LostWakeUp {
    fn kind(&self) -> ViolationKind {
        ViolationKind::LostWakeUp
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        for (holds, waits) in by_key(history) {
            let mut gaps = self.gaps(holds, waits, &mut tally);
            gaps.reverse();
            for gap in gaps {
                tally.breach(1, || self.tell(holds, &gap));
            }
        }
        tally.conclude(history, "the lock was never free while somebody waited")
    }
}

impl LostWakeUp {
    /// The gaps of one key that were longer than the bound, the last first.
    fn gaps(&self, holds: &[Hold], waits: &[Wait], tally: &mut Tally) -> Vec<Gap> {
        let free = free_from(holds);
        let ends = latest_ends(waits);
        let ghosts: Vec<&Wait> = waits.iter().filter(|wait| wait.perhaps).collect();
        let mut gaps = Vec::new();
        // Of the grants after the gap: the first request, and who waited longest.
        let (mut sent, mut first) = (Nanos::MAX, (Nanos::MAX, OpId(0)));
        for (after, hold) in holds.iter().enumerate().rev() {
            let begin = free[after];
            if begin < sent && begin != Nanos::MAX {
                let waiting = waiting_at(begin, waits, &ends);
                tally.expose(u64::from(first.0 <= begin || waiting));
                let granted = Gap { after, waiter: first.1, from: first.0.max(begin), to: sent };
                let longest = longest_wait(begin, sent, waits, &ends);
                let denied = longest.map(|(waiter, from, to)| Gap { after, waiter, from, to });
                let gap = [Some(granted), denied].into_iter().flatten().max_by_key(Gap::length);
                let clear = |gap: &Gap| {
                    !ghosts.iter().any(|ghost| ghost.from < gap.to && ghost.to >= hold.start)
                };
                gaps.extend(gap.filter(|gap| gap.length() > self.bound_ns).filter(clear));
            }
            sent = sent.min(hold.request_sent());
            first = first.min((hold.wait_start(), hold.op));
        }
        gaps
    }

    fn tell(&self, holds: &[Hold], gap: &Gap) -> (String, Vec<Event>) {
        let before = &holds[gap.after];
        let what = format!(
            "key {} was free and {} waited for it for {}, longer than {}",
            before.key,
            Named(gap.waiter),
            Millis(gap.to - gap.from),
            Millis(self.bound_ns)
        );
        let mut evidence = released(before);
        evidence.push(called(gap.waiter, before.key, gap.from));
        evidence.extend(holds.get(gap.after + 1).map(granted));
        (what, evidence)
    }
}

impl Gap {
    const fn length(&self) -> Nanos {
        self.to.saturating_sub(self.from)
    }
}

/// For each of `holds`: from when it and all before it certainly were over; `Nanos::MAX` if that is not known.
fn free_from(holds: &[Hold]) -> Vec<Nanos> {
    let mut latest = 0;
    let over = holds.iter().map(|hold| {
        let lease = hold.valid_until.saturating_sub(hold.request_sent());
        let expired = || hold.end.saturating_add(lease).max(hold.valid_until);
        latest = latest.max(hold.release_return().unwrap_or_else(expired));
        latest
    });
    over.collect()
}

/// Whether one of `waits` was going on at `time`.
fn waiting_at(time: Nanos, waits: &[Wait], ends: &[Nanos]) -> bool {
    let begun = waits.partition_point(|wait| wait.from <= time);
    begun > 0 && ends[begun - 1] > time
}

/// Who of `waits` waited longest between `from` and `to`, and from when to when.
fn longest_wait(
    from: Nanos,
    to: Nanos,
    waits: &[Wait],
    ends: &[Nanos],
) -> Option<(OpId, Nanos, Nanos)> {
    let begun = waits.partition_point(|wait| wait.from < to);
    let overlapping = (0..begun).rev().take_while(|&place| ends[place] > from);
    let parts = overlapping.map(|place| &waits[place]).filter(|wait| wait.to > from);
    parts
        .map(|wait| (wait.op, wait.from.max(from), wait.to.min(to)))
        .max_by_key(|part| part.2 - part.1)
}
