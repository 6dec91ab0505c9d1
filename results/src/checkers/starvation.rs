//! A14: passed over too often.

use crate::by_key::by_key;
use crate::checker::{Checker, History, Wait};
use crate::event::{Event, Nanos, OpId};
use crate::hold::Hold;
use crate::tally::{Millis, Named, Tally, called, granted};
use crate::verdict::{Finding, ViolationKind};

/// No waiter counts as passed over too often before so many later arrivals were served first.
const BYPASSES_MIN: u64 = 100;
/// Nor before so many per worker.
const BYPASSES_PER_WORKER: u64 = 10;
/// A key is judged only with so many grants per worker.
const GRANTS_PER_WORKER: u64 = 20;

/// Counts, for each operation that waited, the grants of the key that went to operations which had called acquire
/// later. More than `max(100, 10 x workers)` is starvation. *Exposures* are the waits of keys with at least
/// `20 x workers` grants; other keys are not judged.
pub(crate) struct Starvation;

/// A wait during which many grants went to others.
struct Suspect {
    op: OpId,
    from: Nanos,
    to: Nanos,
    /// How many grants of the key came before its wait was over.
    grants: usize,
    bypasses: u64,
}

impl Checker for Starvation {
    fn kind(&self) -> ViolationKind {
        ViolationKind::Starvation
    }

    fn check(&self, history: &History) -> Finding {
        let mut tally = Tally::new(self.kind());
        let workers = u64::from(history.workers.max(1));
        let limit = BYPASSES_MIN.max(BYPASSES_PER_WORKER * workers);
        for (holds, waits) in by_key(history) {
            if (holds.len() as u64) < GRANTS_PER_WORKER * workers {
                continue;
            }
            tally.expose((holds.len() + waits.len()) as u64);
            let mut suspects = suspects(holds, waits, limit);
            count_bypasses(holds, &mut suspects);
            suspects.retain(|suspect| suspect.bypasses > limit);
            suspects.sort_by_key(|suspect| (suspect.from, suspect.op));
            for suspect in &suspects {
                tally.breach(1, || tell(holds, suspect));
            }
        }
        tally.conclude(history, &format!("no key with {} grants", GRANTS_PER_WORKER * workers))
    }
}

/// The waits during which more than `limit` grants came: only they can have been passed over so often.
fn suspects(holds: &[Hold], waits: &[Wait], limit: u64) -> Vec<Suspect> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut suspects = Vec::new();
    for (grants, hold) in holds.iter().enumerate().skip(limit.saturating_add(1)) {
        let from = hold.wait_start();
        if holds[grants - limit - 1].start > from {
            suspects.push(Suspect { op: hold.op, from, to: hold.start, grants, bypasses: 0 });
        }
    }
    for wait in waits {
        let before = holds.partition_point(|hold| hold.start <= wait.from);
        let grants = holds.partition_point(|hold| hold.start < wait.to);
        if grants.saturating_sub(before) > limit {
            let (op, from, to) = (wait.op, wait.from, wait.to);
            suspects.push(Suspect { op, from, to, grants, bypasses: 0 });
        }
    }
    suspects
}

/// Counts for each suspect the grants before its own that went to later arrivals, in O((n + s) log n).
fn count_bypasses(holds: &[Hold], suspects: &mut [Suspect]) {
    if suspects.is_empty() {
        return;
    }
    let mut latest_first: Vec<usize> = (0..holds.len()).collect();
    latest_first.sort_by_key(|&place| std::cmp::Reverse(holds[place].wait_start()));
    suspects.sort_by_key(|suspect| std::cmp::Reverse(suspect.from));
    let mut counts = Counts(vec![0; holds.len() + 1]);
    let mut arrivals = latest_first.into_iter().peekable();
    for suspect in suspects {
        while let Some(place) = arrivals.next_if(|&place| holds[place].wait_start() > suspect.from)
        {
            counts.add(place);
        }
        suspect.bypasses = counts.before(suspect.grants);
    }
}

/// How many of the places before a place are marked, after P. Fenwick (1994).
struct Counts(Vec<u64>);

impl Counts {
    fn add(&mut self, place: usize) {
        let mut node = place + 1;
        while node < self.0.len() {
            self.0[node] += 1;
            node += node & node.wrapping_neg();
        }
    }

    fn before(&self, place: usize) -> u64 {
        let (mut node, mut sum) = (place, 0);
        while node > 0 {
            sum += self.0[node];
            node -= node & node.wrapping_neg();
        }
        sum
    }
}

fn tell(holds: &[Hold], suspect: &Suspect) -> (String, Vec<Event>) {
    let what = format!(
        "{} waited {} for key {} while {} operations that had come later were served",
        Named(suspect.op),
        Millis(suspect.to - suspect.from),
        holds[0].key,
        suspect.bypasses
    );
    let mut evidence = vec![called(suspect.op, holds[0].key, suspect.from)];
    evidence.push(granted(&holds[suspect.grants - 1]));
    evidence.extend(holds.get(suspect.grants).filter(|hold| hold.op == suspect.op).map(granted));
    (what, evidence)
}
