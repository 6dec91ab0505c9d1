//! An operation put together again from its events.

use crate::event::{Nanos, OpId, Outcome, Released, StepOutcome};

/// All times of one operation. Times that did not happen are 0.
///
/// Transient: the assembler hands out each operation once, when it is complete or the history ends.
/// What the checkers keep is the smaller [`Hold`](crate::hold::Hold).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Whose.
    pub op: OpId,
    /// Index of the lock key.
    pub key: u32,
    /// Bits of [`flags`](crate::event::flags).
    pub flags: u16,
    /// When the load wanted it to begin.
    pub intended: Nanos,
    /// When the pacer let it go.
    pub released: Nanos,
    /// When a worker took it.
    pub taken: Nanos,
    /// Acquire called; 0 if the workload turned the operation away before.
    pub acquire_call: Nanos,
    /// Acquire returned; 0 if it never did.
    pub acquire_return: Nanos,
    /// What acquire said; `Info` if it never returned.
    pub acquired: StepOutcome,
    /// When the request that won was sent (granted only).
    pub request_sent: Nanos,
    /// Until when the lease is good; `u64::MAX` for one without end (granted only).
    pub valid_until: Nanos,
    /// Fencing token, 0 if none.
    pub token: u64,
    /// Release called.
    pub release_call: Nanos,
    /// Release answered.
    pub release_return: Nanos,
    /// What release reported; `None` if it failed or never returned.
    pub release: Option<Released>,
    /// End of the interval in which the caller certainly held what it was granted; 0 without a grant.
    pub definite_end: Nanos,
    /// When the operation ended; 0 if its history stops before.
    pub finished: Nanos,
    /// How it ended; `Unknown` if its history stops before.
    pub outcome: Outcome,
}
