//! A7: more sold than there was.

use std::collections::HashSet;

use crate::checker::{Checker, History, Pool};
use crate::event::OpId;
use crate::tally::{Tally, ended, granted};
use crate::verdict::{Finding, ViolationKind};

/// How many of the takers that came too late are shown.
const SHOWN: usize = 2;

/// Compares the distinct takings of each pool with what there was; the same operation twice is one taking.
/// *Exposures* are the takings of pools that were exhausted: nothing can be oversold before.
pub(crate) struct Oversell;

impl Checker for Oversell {
    fn kind(&self) -> ViolationKind {
        ViolationKind::Oversell
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        let Some(pools) = &history.aftermath.pools else {
            return tally.undecided(history, "the register could not be read");
        };
        for pool in pools {
            let takings = distinct(pool);
            let initial = usize::try_from(pool.initial).unwrap_or(0);
            if pool.exhausted || takings.len() >= initial {
                tally.expose(takings.len() as u64);
            }
            let Some(excess) = takings.get(initial..).filter(|excess| !excess.is_empty()) else {
                continue;
            };
            tally.breach(excess.len() as u64, || {
                let what = format!(
                    "{}: {} taken of {} that there were",
                    pool.name,
                    takings.len(),
                    initial
                );
                let late = history.holds.iter().filter(|hold| excess.contains(&hold.op));
                let evidence = late.take(SHOWN).flat_map(|hold| [granted(hold), ended(hold)]);
                (what, evidence.collect())
            });
        }
        tally.conclude(history, "stock never sold out")
    }
}

/// The takings of `pool`, each once, in order of their first appearance.
fn distinct(pool: &Pool) -> Vec<OpId> {
    let mut seen = HashSet::with_capacity(pool.takings.len());
    pool.takings.iter().copied().filter(|op| seen.insert(*op)).collect()
}
