//! The contract of a lock: acquire, extend, release, and the lease in between.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;

use crate::clock::Moment;

/// How a lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Alone.
    Exclusive,
    /// Together with other readers.
    Shared,
    /// As one of several.
    Permit,
}

/// How long a grant is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeasePolicy {
    /// For this long, whatever happens.
    Fixed(Duration),
    /// For this long after each renewal; the client renews while its process lives.
    Renewed(Duration),
}

impl LeasePolicy {
    /// The length of the lease, fixed or from one renewal to its end.
    pub const fn ttl(self) -> Duration {
        match self {
            Self::Fixed(ttl) | Self::Renewed(ttl) => ttl,
        }
    }
}

/// What is asked of a lock.
#[derive(Debug, Clone)]
pub struct AcquireRequest {
    /// Full name of the lock on its server, prefix included.
    pub key: Rc<str>,
    /// Exclusive, shared or one permit.
    pub mode: Mode,
    /// How long to wait for it; zero is one try.
    pub patience: Duration,
    /// How long the grant is to last.
    pub lease: LeasePolicy,
}

/// The answer to an acquire.
#[derive(Debug)]
pub enum Acquisition {
    /// The lock is ours.
    Granted(Lease),
    /// The lock is certainly not ours; patience ran out.
    Denied,
}

/// Proof of a grant. It cannot release on drop: releasing needs the network, so [`LockClient::release`] consumes it.
#[derive(Debug)]
#[must_use = "a dropped lease is a lock that stays taken until its lease ends"]
pub struct Lease {
    /// The key it stands for.
    pub key: Rc<str>,
    /// The value that marks the grant as ours on the server.
    pub owner: Rc<str>,
    /// Fencing token, where the lock has one.
    pub token: Option<u64>,
    /// When the request that won was sent.
    pub request_sent: Moment,
    /// Until when the grant is good, counted from *before* the request left: trust this, not the TTL.
    pub valid_until: Moment,
    lost: Rc<Cell<bool>>,
}

impl Lease {
    /// A lease on `key`, good for `ttl` after `request_sent`.
    pub fn new(key: Rc<str>, owner: Rc<str>, request_sent: Moment, ttl: Duration) -> Self {
        let valid_until = request_sent + ttl;
        Self { key, owner, token: None, request_sent, valid_until, lost: Rc::default() }
    }

    /// A lease that never ends.
    pub fn endless(key: Rc<str>, owner: Rc<str>, request_sent: Moment) -> Self {
        Self { valid_until: Moment::NEVER, ..Self::new(key, owner, request_sent, Duration::ZERO) }
    }

    /// Whether the client has learned that the lease is gone. Never true for clients that cannot learn it.
    pub fn lost(&self) -> bool {
        self.lost.get()
    }

    /// The flag behind [`Lease::lost`], for the renewal task that may raise it.
    pub fn lost_flag(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.lost)
    }
}

/// The answer to an extend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// The lease is good for the new length, and its valid-until moved.
    Extended,
    /// The lock was not ours any more.
    Gone,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The server removed a grant (ours, if the release checks the owner).
    Removed,
    /// There was nothing of ours to remove: the lease had ended.
    NotHeld,
    /// This lock has no way to tell.
    Unverified,
}

/// Whether an operation that failed may have had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Certainly not.
    NotApplied,
    /// Perhaps: the lock may be held.
    Unknown,
}

/// Why a lock operation could not be carried out. A denial is not an error.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// No request left this machine.
    #[error("could not reach {server}: {reason}")]
    Unreachable {
        /// Which server, without credentials.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// A request left and no answer came back in time, or the connection broke.
    #[error("no answer from {server}: {reason}")]
    Lost {
        /// Which server, without credentials.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// The server understood and refused: it had no effect.
    #[error("{server} refused: {reason}")]
    Refused {
        /// Which server, without credentials.
        server: String,
        /// The server's words.
        reason: String,
    },
    /// The server answered something that the protocol of this lock does not know.
    #[error("unexpected answer from {server}: {answer}")]
    Unexpected {
        /// Which server, without credentials.
        server: String,
        /// What it said, shortened.
        answer: String,
    },
    /// The strategy does not support what was asked.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl LockError {
    /// Whether the operation may have had an effect. When in doubt, `Unknown`.
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::Unreachable { .. } | Self::Refused { .. } | Self::Unsupported(_) => {
                Certainty::NotApplied
            }
            Self::Lost { .. } | Self::Unexpected { .. } => Certainty::Unknown,
        }
    }

    /// A short name of the class, for counting: `unreachable`, `lost`, `refused`, `unexpected`, `unsupported`.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Lost { .. } => "lost",
            Self::Refused { .. } => "refused",
            Self::Unexpected { .. } => "unexpected",
            Self::Unsupported(_) => "unsupported",
        }
    }
}

/// One caller of a lock (a "thread"). Locks are owned by callers.
#[async_trait(?Send)]
pub trait LockClient {
    /// Tries to take `request.key`, waiting at most `request.patience`.
    ///
    /// # Outcome
    ///
    /// | returned                      | the lock is                 |
    /// | ----------------------------- | --------------------------- |
    /// | `Ok(Granted(lease))`          | ours until `valid_until`    |
    /// | `Ok(Denied)`                  | someone else's              |
    /// | `Err`, certainty `NotApplied` | certainly not ours          |
    /// | `Err`, certainty `Unknown`    | perhaps ours, until its TTL |
    ///
    /// # Errors
    ///
    /// [`LockError::Unreachable`] when no request left this machine, [`LockError::Lost`] when one did and no
    /// answer came back in time.
    ///
    /// # Cancellation
    ///
    /// Dropping the future after its first poll is an `Unknown`: the key may stay taken for one TTL.
    async fn acquire(&mut self, request: &AcquireRequest) -> Result<Acquisition, LockError>;

    /// Makes `lease` last `ttl` from now; its `valid_until` moves only when the server agreed.
    async fn extend(&mut self, lease: &mut Lease, ttl: Duration) -> Result<Extension, LockError>;

    /// Gives the lock back.
    ///
    /// # Cancellation
    ///
    /// Dropping the future after its first poll leaves the lock released or not; its lease ends it.
    async fn release(&mut self, lease: Lease) -> Result<Release, LockError>;
}

/// What a real client library owns once per process: connections, subscriptions, watchdog, session.
///
/// Lives on one thread together with its clients.
#[async_trait(?Send)]
pub trait LockInstance {
    /// A caller of its own; `worker` is unique within the trial.
    async fn client(&mut self, worker: u32) -> Result<Box<dyn LockClient>, LockError>;

    /// Ends watchdogs, subscriptions, sessions and connections.
    async fn close(self: Box<Self>) -> Result<(), LockError>;
}
