//! The parts of a history that belong to one lock key.

use crate::checker::{History, Wait};
use crate::hold::Hold;

/// The holds and waits of each key that was ever granted, in order of the keys.
pub(crate) fn by_key(history: &History) -> impl Iterator<Item = (&[Hold], &[Wait])> {
    history.holds.chunk_by(|a, b| a.key == b.key).map(|holds| {
        let key = holds.first().map_or(0, |hold| hold.key);
        let from = history.waits.partition_point(|wait| wait.key < key);
        let to = history.waits.partition_point(|wait| wait.key <= key);
        (holds, &history.waits[from..to])
    })
}
