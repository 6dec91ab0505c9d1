//! A4: a release removed somebody else's grant.

use crate::by_key::by_key;
use crate::checker::{Checker, History};
use crate::contention::contended;
use crate::event::{Event, Released, flags};
use crate::hold::Hold;
use crate::tally::{Named, Tally, granted, released, reported};
use crate::verdict::{Finding, ViolationKind};

/// Convicts a release that reported a removal although its own grant had been replaced before it left.
///
/// If the request of a later grant was sent after ours had returned, and that grant returned before we called release,
/// then the lock service replaced our grant by the other in between: what our release removed was not ours. Both
/// instants were read on the callers' side of the request, so a slow network cannot make an innocent release guilty.
/// *Exposures* are contended exclusive grants whose release said whether it removed anything.
pub(crate) struct NonOwnerRelease;

impl Checker for NonOwnerRelease {
    fn kind(&self) -> ViolationKind {
        ViolationKind::NonOwnerRelease
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        for (holds, waits) in by_key(history) {
            let contended = contended(holds, waits);
            let exposed = holds.iter().zip(contended).filter(|&(hold, contended)| {
                contended
                    && is_exclusive(hold)
                    && (reported(hold, Released::Removed) || reported(hold, Released::NotHeld))
            });
            tally.expose(exposed.count() as u64);
            for (place, hold) in holds.iter().enumerate() {
                if let Some(successor) = replaced_by(hold, &holds[place + 1..]) {
                    tally.breach(1, || tell(hold, successor));
                }
            }
        }
        tally.conclude(history, "no release of a contended grant said what it did")
    }
}

const fn is_exclusive(hold: &Hold) -> bool {
    !hold.has(flags::SHARED | flags::PERMIT)
}

/// The grant among the `later` ones that replaced that of `hold` before its release left and reported a removal.
#[inline]
fn replaced_by<'a>(hold: &Hold, later: &'a [Hold]) -> Option<&'a Hold> {
    let called = hold.release_call()?;
    if !reported(hold, Released::Removed) || !is_exclusive(hold) {
        return None;
    }
    let meanwhile = later.iter().take_while(|other| other.start <= called);
    meanwhile.into_iter().find(|other| {
        other.request_sent() >= hold.start && other.op != hold.op && is_exclusive(other)
    })
}

fn tell(hold: &Hold, successor: &Hold) -> (String, Vec<Event>) {
    let what = format!(
        "the release of {} removed a grant of key {} that was not its own: {} had been granted in between",
        Named(hold.op),
        hold.key,
        Named(successor.op)
    );
    let mut evidence = vec![granted(hold), granted(successor)];
    evidence.extend(released(hold));
    (what, evidence)
}
