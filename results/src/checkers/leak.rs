//! A6: something of a lock outlived its users.

use crate::checker::{Checker, History};
use crate::tally::Tally;
use crate::verdict::{Finding, ViolationKind};

/// Counts what was left on the lock's server after quiescence and will never go away by itself. *Exposures* are grants.
pub(crate) struct Leak;

impl Checker for Leak {
    fn kind(&self) -> ViolationKind {
        ViolationKind::Leak
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        tally.expose(history.holds.len() as u64);
        let Some(leftovers) = &history.aftermath.leftovers else {
            return tally.undecided(history, "nobody looked for what the lock left behind");
        };
        for leftover in leftovers.iter().filter(|leftover| leftover.expires_in_ms.is_none()) {
            let what = format!("`{}` was left on the server and never expires", leftover.name);
            tally.breach(1, || (what, Vec::new()));
        }
        tally.conclude(history, "no grant")
    }
}
