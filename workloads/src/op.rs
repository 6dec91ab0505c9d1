//! One operation that is due.

use results::event::{Nanos, OpId};

/// One operation that is due, and now taken by a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Whose.
    pub id: OpId,
    /// Index of the lock key, bound to the arrival.
    pub key: u32,
    /// When the load wanted it to begin.
    pub intended: Nanos,
    /// When the pacer let it go.
    pub released: Nanos,
    /// When a worker took it.
    pub taken: Nanos,
}
