//! A8: an acknowledged change is gone.

use std::collections::{BTreeMap, HashSet};

use crate::checker::{Checker, History, Pool};
use crate::event::{Event, OpId};
use crate::tally::{Named, Tally, ended, granted};
use crate::verdict::{Finding, ViolationKind};

/// How many of the forgotten operations are shown.
const SHOWN: usize = 2;

/// Looks at the pools of each key in two ways, and counts what shows more: the takings that the counter forgot (or
/// took for more than they were), and the takings that a caller was told had succeeded and that stand in no pool of
/// their key. *Exposures* are distinct takings.
pub(crate) struct LostUpdate;

impl Checker for LostUpdate {
    fn kind(&self) -> ViolationKind {
        ViolationKind::LostUpdate
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        let Some(pools) = &history.aftermath.pools else {
            return tally.undecided(history, "the register could not be read");
        };
        let mut by_key: BTreeMap<u32, Vec<&Pool>> = BTreeMap::new();
        for pool in pools {
            by_key.entry(pool.key).or_default().push(pool);
        }
        for pools in by_key.values() {
            judge(history, pools, &mut tally);
        }
        tally.conclude(history, "nothing was taken")
    }
}

/// Judges the pools of one key.
fn judge(history: &History, pools: &[&Pool], tally: &mut Tally) {
    let mut taken: HashSet<OpId> = HashSet::new();
    let mut miscounted = 0;
    let mut words = Vec::new();
    for pool in pools {
        let distinct: HashSet<OpId> = pool.takings.iter().copied().collect();
        let counted = pool.initial.saturating_sub(pool.remaining);
        let difference = counted.abs_diff(i64::try_from(distinct.len()).unwrap_or(i64::MAX));
        if difference > 0 {
            words.push(format!(
                "{}: the counter went from {} to {}, but {} were taken",
                pool.name,
                pool.initial,
                pool.remaining,
                distinct.len()
            ));
        }
        miscounted += difference;
        tally.expose(distinct.len() as u64);
        taken.extend(distinct);
    }
    let acknowledged = pools.iter().flat_map(|pool| &pool.acknowledged);
    let forgotten: Vec<OpId> = acknowledged.filter(|op| !taken.contains(op)).copied().collect();
    if let Some(first) = forgotten.first() {
        words.push(format!(
            "{} of the takings that callers were told had succeeded stand nowhere, the first that of {}",
            forgotten.len(),
            Named(*first)
        ));
    }
    // No taking was seen, and yet one was acknowledged: that was a chance to lose it.
    tally.expose(forgotten.len() as u64);
    let count = miscounted.max(forgotten.len() as u64);
    if count > 0 {
        tally.breach(count, || (words.join("; "), evidence(history, &forgotten)));
    }
}

fn evidence(history: &History, forgotten: &[OpId]) -> Vec<Event> {
    let forgotten = &forgotten[..forgotten.len().min(SHOWN)];
    let holds = history.holds.iter().filter(|hold| forgotten.contains(&hold.op));
    holds.take(SHOWN).flat_map(|hold| [granted(hold), ended(hold)]).collect()
}
