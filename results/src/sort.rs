//! Sorts holds by key, then by start.

use crate::hold::Hold;

/// Sorts `holds` by key, then by start.
pub(crate) fn by_key_and_start(holds: &mut [Hold]) {
    holds.sort_by_key(|hold| (hold.key, hold.start, hold.op));
}
