//! A1: two definite holds of one key intersect.

use crate::by_key::by_key;
use crate::checker::{Checker, History};
use crate::contention::contended;
use crate::event::{Event, flags};
use crate::hold::Hold;
use crate::tally::{EPSILON, Millis, Named, Tally, ended, granted};
use crate::verdict::{Finding, ViolationKind};

/// Sweeps the definite holds of each key and counts every pair of different operations that overlaps for more than a
/// microsecond, once.
///
/// For a mutex this decides linearizability: each definite hold is the shortest interval that the grant and the
/// release may have enclosed, and if any choice of instants is good, the shortest is. Shared holds do not exclude each
/// other; permits are not judged here. A caller that looks at its lease holds until its last passed check, and on to any
/// write after that: where the witness applied its write after it had answered a later holder, the two overlap as well.
/// *Exposures* are grants, with a definite hold longer than a microsecond, that
/// another operation wanted meanwhile.
pub(crate) struct MutualExclusion;

impl Checker for MutualExclusion {
    fn kind(&self) -> ViolationKind {
        ViolationKind::MutualExclusion
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        for (holds, waits) in by_key(history) {
            if holds.iter().all(|hold| hold.has(flags::SHARED | flags::PERMIT)) {
                continue;
            }
            let contended = contended(holds, waits);
            let exposed = holds.iter().zip(contended).filter(|&(hold, contended)| {
                contended && !hold.has(flags::PERMIT) && hold.end - hold.start > EPSILON
            });
            tally.expose(exposed.count() as u64);
            sweep(holds, &mut tally);
            late_writes(holds, &mut tally);
        }
        tally.conclude(history, "no contended grant")
    }
}

fn sweep(holds: &[Hold], tally: &mut Tally) {
    let mut active: Vec<&Hold> = Vec::new();
    for hold in holds.iter().filter(|hold| !hold.has(flags::PERMIT)) {
        active.retain(|earlier| earlier.end > hold.start.saturating_add(EPSILON));
        for earlier in &active {
            let to = earlier.end.min(hold.end);
            let excluded =
                earlier.op != hold.op && !(earlier.has(flags::SHARED) && hold.has(flags::SHARED));
            if excluded && to > hold.start.saturating_add(EPSILON) {
                let within = hold.start < earlier.valid_until.min(hold.valid_until);
                tally.overlap(within, || tell(earlier, hold, to));
            }
        }
        if hold.end - hold.start > EPSILON {
            active.push(hold);
        }
    }
}

/// Whether the two must not be at the same time.
const fn exclude(one: &Hold, other: &Hold) -> bool {
    let both = one.flags & other.flags;
    let either = one.flags | other.flags;
    one.op.0 != other.op.0 && both & flags::SHARED == 0 && either & flags::PERMIT == 0
}

/// Counts the callers that checked, and wrote after a later holder had been answered by the witness.
fn late_writes(holds: &[Hold], tally: &mut Tally) {
    for (place, hold) in holds.iter().enumerate() {
        if hold.wrote == 0 || !hold.has(flags::CHECKING_CALLER) {
            continue;
        }
        let last = hold.last_seen();
        for later in holds[place + 1..].iter().take_while(|later| later.start < last) {
            let acted_after = later.entered != 0 && later.entered < hold.wrote;
            let swept = hold.end.min(later.end) > later.start.saturating_add(EPSILON);
            if acted_after && !swept && exclude(hold, later) {
                let within = later.start < hold.valid_until.min(later.valid_until);
                tally.overlap(within, || tell_of_write(hold, later));
            }
        }
    }
}

fn tell_of_write(earlier: &Hold, later: &Hold) -> (String, Vec<Event>) {
    let what = format!(
        "{} wrote under key {} after {} had entered, granted {} after the former's last passed check",
        Named(earlier.op),
        later.key,
        Named(later.op),
        Millis(later.start.saturating_sub(earlier.end))
    );
    (what, vec![granted(earlier), granted(later), ended(earlier), ended(later)])
}

fn tell(earlier: &Hold, later: &Hold, to: u64) -> (String, Vec<Event>) {
    let lease = if later.start >= earlier.valid_until {
        let late = Millis(later.start - earlier.valid_until);
        format!("the lease of the former had ended {late} before the latter was granted")
    } else if later.start >= later.valid_until {
        "the lease of the latter had ended before it was granted".to_owned()
    } else {
        "both leases were good".to_owned()
    };
    let what = format!(
        "{} and {} held key {} together for {}; {lease}",
        Named(earlier.op),
        Named(later.op),
        later.key,
        Millis(to - later.start)
    );
    (what, vec![granted(earlier), granted(later), ended(earlier), ended(later)])
}
