//! What a strategy tells that no return value can.

use std::time::Duration;

use async_trait::async_trait;

/// A named place in the code of a strategy or a caller, where a crash or a pause shows what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// Between SETNX and EXPIRE.
    AfterSetnx,
    /// Between the GET that compares the owner and the DEL.
    BetweenGetAndDel,
    /// The grant is here, the caller has not begun.
    AfterGrant,
    /// The caller looked at its lease and is about to write.
    BeforeWrite,
    /// The work is done, release not yet sent.
    BeforeRelease,
}

impl Point {
    /// Every point.
    pub const ALL: [Self; 5] = [
        Self::AfterSetnx,
        Self::BetweenGetAndDel,
        Self::AfterGrant,
        Self::BeforeWrite,
        Self::BeforeRelease,
    ];

    /// The name used in scenarios and histories.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfterSetnx => "after-setnx",
            Self::BetweenGetAndDel => "between-get-and-del",
            Self::AfterGrant => "after-grant",
            Self::BeforeWrite => "before-write",
            Self::BeforeRelease => "before-release",
        }
    }
}

/// Listens to a strategy. Outside lockbench every method does nothing.
#[async_trait(?Send)]
pub trait Probe {
    /// A named point was reached; the probe may pause or crash the process here.
    async fn point(&self, _point: Point) {}

    /// A connection had to be waited for.
    fn pool_wait(&self, _waited: Duration) {}

    /// The waiter got this place in the lock's own queue.
    fn enqueued(&self, _place: u64) {}

    /// A renewal was answered; `false` if the lock was not ours any more.
    fn renewed(&self, _ours: bool) {}

    /// A script had to be loaded again because the server did not know it.
    fn script_reloaded(&self) {}
}

/// A probe that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

#[async_trait(?Send)]
impl Probe for Silent {}
