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
/// other; permits are not judged here. *Exposures* are grants, with a definite hold longer than a microsecond, that
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
