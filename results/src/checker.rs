//! A checker is a pure function from a history to a finding.

use serde::{Deserialize, Serialize};

use crate::event::{Nanos, OpId};
use crate::hold::Hold;
use crate::verdict::{Finding, ViolationKind};

/// How many violations a finding carries in full; the others are only counted.
pub const EVIDENCE_LIMIT: usize = 5;

/// A wait for a lock that did not end in a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Whose.
    pub op: OpId,
    /// Index of the lock key.
    pub key: u32,
    /// Acquire called.
    pub from: Nanos,
    /// Acquire returned, or the last moment the worker is known to have waited.
    pub to: Nanos,
    /// Whether the answer of acquire is unknown: perhaps the lock was granted to somebody who does not know it.
    pub perhaps: bool,
}

/// Everything that the checkers of a trial may look at.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// All grants, sorted by key, then by start.
    pub holds: Vec<Hold>,
    /// All waits without a grant, sorted by key, then by begin.
    pub waits: Vec<Wait>,
    /// What was found after everything had come to rest.
    pub aftermath: Aftermath,
    /// Why the history is not whole, if it is not: then no verdict may be `valid`.
    pub truncated: Option<String>,
    /// Number of workers that could compete for a key.
    pub workers: u32,
}

/// The state of the register and of the lock service after quiescence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aftermath {
    /// Each pool of things that was drawn from; `None` if the register could not be read.
    pub pools: Option<Vec<Pool>>,
    /// Objects of the lock that were still there; `None` if nobody looked.
    pub leftovers: Option<Vec<Leftover>>,
}

/// A number of things drawn from under the lock: the stock of one item in one round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// For humans: `item 3, round 2`.
    pub name: String,
    /// Index of the lock key that protects it.
    pub key: u32,
    /// How many there were.
    pub initial: i64,
    /// What the register says is left.
    pub remaining: i64,
    /// Whether somebody was turned away because it seemed empty.
    pub exhausted: bool,
    /// Each taking that the register holds, in order, with repetitions as they are.
    pub takings: Vec<OpId>,
    /// Takings that callers were told had succeeded: operations with a write that the register confirmed (from the
    /// histories). Which pool a write went to is not recorded, so those of all pools of a key stand at its first.
    #[serde(default)]
    pub acknowledged: Vec<OpId>,
    /// First look to sold out, in nanoseconds of the witness's clock; `None` if it never sold out.
    pub sold_out_after: Option<Nanos>,
}

/// An object that a lock left behind on its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leftover {
    /// Its name on the server, without the run's prefix.
    pub name: String,
    /// Milliseconds until the server removes it by itself; `None` if it never will.
    pub expires_in_ms: Option<u64>,
}

/// Judges one kind of violation. Implementations are pure: no clock, no randomness, no input but the history.
pub trait Checker {
    /// What it looks for.
    fn kind(&self) -> ViolationKind;

    /// Judges `history`. A proved violation in a truncated history stays `violated`; anything else in one is `unknown`.
    fn check(&self, history: &History) -> Finding;
}
