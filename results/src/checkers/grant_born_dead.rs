//! A20: the lease had ended before it was handed out.

use crate::checker::{Checker, History};
use crate::tally::{Millis, Named, Tally, granted};
use crate::verdict::{Finding, ViolationKind};

/// Compares when acquire returned with until when the lease is good. *Exposures* are grants.
pub(crate) struct GrantBornDead;

impl Checker for GrantBornDead {
    fn kind(&self) -> ViolationKind {
        ViolationKind::GrantBornDead
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        tally.expose(history.holds.len() as u64);
        for hold in history.holds.iter().filter(|hold| hold.start >= hold.valid_until) {
            tally.breach(1, || {
                let what = format!(
                    "the lease of {} on key {} had ended {} before acquire returned",
                    Named(hold.op),
                    hold.key,
                    Millis(hold.start - hold.valid_until)
                );
                (what, vec![granted(hold)])
            });
        }
        tally.conclude(history, "no grant")
    }
}
