//! One fact about one operation, and the words that facts are told in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point on `CLOCK_MONOTONIC` of the host that recorded it, in nanoseconds.
///
/// Points of different hosts, boots or time namespaces must never be compared;
/// the header of a history says where its points come from.
pub type Nanos = u64;

/// An operation, unique within a trial: worker in the upper 24 bits, the worker's running number in the lower 40.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpId(pub u64);

impl OpId {
    /// The `sequence`-th operation of `worker`.
    pub const fn new(worker: u32, sequence: u64) -> Self {
        Self(((worker as u64) << 40) | (sequence & 0xff_ffff_ffff))
    }

    /// The worker, counted over the whole trial.
    pub const fn worker(self) -> u32 {
        (self.0 >> 40) as u32
    }

    /// The running number of the operation within its worker, from 0.
    pub const fn sequence(self) -> u64 {
        self.0 & 0xff_ffff_ffff
    }
}

/// What happened. The numbers are the on-disk codes and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum EventKind {
    /// A worker took the operation. `arg`: intended start; `seq`: when the pacer released it.
    Start = 1,
    /// Acquire is about to be called; read before any request is sent.
    AcquireCall = 2,
    /// Acquire returned. When granted, `arg`: when the request that won was sent; `seq`: valid-until (0 if the lease never ends).
    AcquireReturn = 3,
    /// The fencing token of the grant, in `arg`; only where the lock has tokens.
    Token = 4,
    /// The witness answered the entry into the section. `arg`: others present; `seq`: witness sequence number.
    Enter = 5,
    /// The register answered a read. `arg`: workload-specific; `seq`: witness sequence number.
    Read = 6,
    /// The register answered a write. `arg`: workload-specific; `seq`: witness sequence number. `Fail` is a write refused by the guard.
    Write = 7,
    /// The witness answered the way out of the section. `seq`: witness sequence number.
    Exit = 8,
    /// The caller looked at its lease and found it good (`Ok`) or gone (`Fail`).
    Check = 9,
    /// The lease told its holder that it was lost.
    LostSignal = 10,
    /// Release is about to be sent; read before any request is sent.
    ReleaseCall = 11,
    /// Release returned. `arg`: a [`Released`] code.
    ReleaseReturn = 12,
    /// The operation ended. `arg`: an [`Outcome`] code.
    Finish = 13,
    /// A renewal went out (`Info`) or was answered. `arg`: the new valid-until, 0 if the client does not tell.
    Renew = 14,
    /// The place in the lock's queue was acknowledged. `arg`: the place.
    Enqueued = 15,
    /// A fault began; written by the controller. `arg`: index of the fault.
    FaultBegin = 16,
    /// A fault was healed; written by the controller. `arg`: index of the fault.
    FaultEnd = 17,
    /// A process is proved dead. `arg`: index of the agent.
    Obituary = 18,
    /// Waited for a pooled connection; `arg`: nanoseconds.
    PoolWait = 19,
    /// A named point was passed; `arg`: index of the point.
    Point = 20,
}

impl EventKind {
    /// The kind behind an on-disk code, if this build knows it.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Start,
            2 => Self::AcquireCall,
            3 => Self::AcquireReturn,
            4 => Self::Token,
            5 => Self::Enter,
            6 => Self::Read,
            7 => Self::Write,
            8 => Self::Exit,
            9 => Self::Check,
            10 => Self::LostSignal,
            11 => Self::ReleaseCall,
            12 => Self::ReleaseReturn,
            13 => Self::Finish,
            14 => Self::Renew,
            15 => Self::Enqueued,
            16 => Self::FaultBegin,
            17 => Self::FaultEnd,
            18 => Self::Obituary,
            19 => Self::PoolWait,
            20 => Self::Point,
            _ => return None,
        })
    }
}

/// Whether a step happened, did not happen, or cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum StepOutcome {
    /// It happened.
    Ok = 0,
    /// It certainly did not happen.
    Fail = 1,
    /// Perhaps it happened.
    Info = 2,
}

impl StepOutcome {
    /// The outcome behind an on-disk code.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Ok,
            1 => Self::Fail,
            2 => Self::Info,
            _ => return None,
        })
    }
}

/// How one operation ended, seen by the user of the lock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Outcome {
    /// The lock was granted and the work done.
    Granted = 0,
    /// The lock was not granted in time.
    Denied = 1,
    /// The workload turned the operation away: sold out, over the limit.
    Refused = 2,
    /// It certainly had no effect.
    Error = 3,
    /// It may have had an effect.
    Unknown = 4,
    /// The run ended first.
    Cancelled = 5,
}

impl Outcome {
    /// Every outcome, in the order of the result contract.
    pub const ALL: [Self; 6] =
        [Self::Granted, Self::Denied, Self::Refused, Self::Error, Self::Unknown, Self::Cancelled];

    /// The name used in reports, run.json and tags of histograms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Refused => "refused",
            Self::Error => "error",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome behind an on-disk code.
    pub const fn from_code(code: u64) -> Option<Self> {
        Some(match code {
            0 => Self::Granted,
            1 => Self::Denied,
            2 => Self::Refused,
            3 => Self::Error,
            4 => Self::Unknown,
            5 => Self::Cancelled,
            _ => return None,
        })
    }
}

/// What a release reported to have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Released {
    /// The lock service removed a grant.
    Removed = 0,
    /// The lock service said that there was nothing of ours to remove.
    NotHeld = 1,
    /// The lock has no way to tell.
    Unverified = 2,
}

impl Released {
    /// The report behind an on-disk code.
    pub const fn from_code(code: u64) -> Option<Self> {
        Some(match code {
            0 => Self::Removed,
            1 => Self::NotHeld,
            2 => Self::Unverified,
            _ => return None,
        })
    }
}

/// One fact about one operation; 40 bytes on disk (see `docs/agent-protocol.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, read on the recording thread.
    pub at: Nanos,
    /// Whose.
    pub op: OpId,
    /// Index of the lock key within the trial.
    pub key: u32,
    /// What happened.
    pub kind: EventKind,
    /// Whether it happened.
    pub outcome: StepOutcome,
    /// Bits of [`flags`].
    #[serde(default)]
    pub flags: u16,
    /// Depends on the kind.
    #[serde(default)]
    pub arg: u64,
    /// Witness sequence number, or as the kind says; 0 if none.
    #[serde(default)]
    pub seq: u64,
}

/// Bits of [`Event::flags`].
pub mod flags {
    /// A shared (reader's) hold.
    pub const SHARED: u16 = 1;
    /// One of several permits.
    pub const PERMIT: u16 = 1 << 1;
    /// The caller looks at its lease (`deadline` or `lost-signal`): the hold is definite only until its last passed check.
    pub const CHECKING_CALLER: u16 = 1 << 2;
    /// The grant came after waiting; clear for one that got the lock on its first try.
    pub const WAITED: u16 = 1 << 3;
}
