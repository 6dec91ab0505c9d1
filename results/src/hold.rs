//! The interval in which one operation certainly held its lock.

use crate::event::{Nanos, OpId};

/// One granted lock, reduced to what the checkers need: at most 64 bytes, because there are millions.
///
/// `start..end` is the *definite* hold of `docs/correctness.md`: acquire returned, to release called,
/// the last passed check (a caller that checks), or the last recorded event (a process that died).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Whose.
    pub op: OpId,
    /// Acquire called.
    pub wait_start: Nanos,
    /// When the request that won was sent.
    pub request_sent: Nanos,
    /// Acquire returned.
    pub start: Nanos,
    /// End of the definite hold.
    pub end: Nanos,
    /// Until when the lease is good; `u64::MAX` for one without end.
    pub valid_until: Nanos,
    /// Fencing token, 0 if none.
    pub token: u64,
    /// Index of the lock key.
    pub key: u32,
    /// Bits of [`flags`](crate::event::flags).
    pub flags: u16,
    /// A [`Released`](crate::event::Released) code, or 255 if the release failed or never returned.
    pub release: u8,
}
