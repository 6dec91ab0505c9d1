//! What the judge may say, and the kinds of violation it knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// Three-valued: a violation is proved, none was seen, or nobody can tell.
///
/// Ordered so that `max` merges: violated beats unknown beats valid.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No violation in a complete history with enough exposures.
    Valid,
    /// The history cannot decide; the finding says why.
    Unknown,
    /// At least one violation is proved.
    Violated,
}

/// A kind of violation (the codes A1 to A20 are those of `docs/correctness.md`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// A1: two definite holds of one key intersect.
    MutualExclusion,
    /// A2: a write was applied after a later grant's.
    StaleWriteAccepted,
    /// A3: a later grant carries no higher token.
    TokenNotMonotonic,
    /// A4: a release removed somebody else's grant.
    NonOwnerRelease,
    /// A5: a lost lease was used without notice.
    LossUnnoticed,
    /// A6: something of a lock outlived its users.
    Leak,
    /// A7: more sold than there was.
    Oversell,
    /// A8: an acknowledged change is gone.
    LostUpdate,
    /// A9: rebuilt more than once.
    DuplicateRebuild,
    /// A10: admitted more than the rule allows.
    OverAdmission,
    /// A11: served out of order.
    FifoInversion,
    /// A12: a writer beside somebody else.
    ReaderWriterOverlap,
    /// A13: more holders than permits.
    PermitOverIssue,
    /// A14: passed over too often.
    Starvation,
    /// A15: a job ran twice.
    DoubleRun,
    /// A16: a grant that nobody believes in.
    PhantomHold,
    /// A17: a release that reported what it did not do.
    FalseRelease,
    /// A18: free, wanted, and nobody woken.
    LostWakeUp,
    /// A19: owned on two servers at once.
    SplitGrant,
    /// A20: the lease had ended before it was handed out.
    GrantBornDead,
}

/// What kind of promise a violation breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Nothing bad happens: always counted.
    Safety,
    /// Something good happens in the end: counted where the strategy claims it.
    Liveness,
    /// The lock is honest and tidy: counted where the strategy claims it.
    Hygiene,
}

impl ViolationKind {
    /// Every kind, in the order of its code.
    pub const ALL: [Self; 20] = [
        Self::MutualExclusion,
        Self::StaleWriteAccepted,
        Self::TokenNotMonotonic,
        Self::NonOwnerRelease,
        Self::LossUnnoticed,
        Self::Leak,
        Self::Oversell,
        Self::LostUpdate,
        Self::DuplicateRebuild,
        Self::OverAdmission,
        Self::FifoInversion,
        Self::ReaderWriterOverlap,
        Self::PermitOverIssue,
        Self::Starvation,
        Self::DoubleRun,
        Self::PhantomHold,
        Self::FalseRelease,
        Self::LostWakeUp,
        Self::SplitGrant,
        Self::GrantBornDead,
    ];

    /// The name used in YAML, gates, reports and run.json.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MutualExclusion => "mutual-exclusion",
            Self::StaleWriteAccepted => "stale-write-accepted",
            Self::TokenNotMonotonic => "token-not-monotonic",
            Self::NonOwnerRelease => "non-owner-release",
            Self::LossUnnoticed => "loss-unnoticed",
            Self::Leak => "leak",
            Self::Oversell => "oversell",
            Self::LostUpdate => "lost-update",
            Self::DuplicateRebuild => "duplicate-rebuild",
            Self::OverAdmission => "over-admission",
            Self::FifoInversion => "fifo-inversion",
            Self::ReaderWriterOverlap => "reader-writer-overlap",
            Self::PermitOverIssue => "permit-over-issue",
            Self::Starvation => "starvation",
            Self::DoubleRun => "double-run",
            Self::PhantomHold => "phantom-hold",
            Self::FalseRelease => "false-release",
            Self::LostWakeUp => "lost-wake-up",
            Self::SplitGrant => "split-grant",
            Self::GrantBornDead => "grant-born-dead",
        }
    }

    /// What a violation of this kind breaks.
    pub const fn promise(self) -> Promise {
        match self {
            Self::MutualExclusion
            | Self::StaleWriteAccepted
            | Self::TokenNotMonotonic
            | Self::NonOwnerRelease
            | Self::Oversell
            | Self::LostUpdate
            | Self::DuplicateRebuild
            | Self::OverAdmission
            | Self::ReaderWriterOverlap
            | Self::PermitOverIssue
            | Self::DoubleRun
            | Self::SplitGrant
            | Self::GrantBornDead => Promise::Safety,
            Self::Leak | Self::Starvation | Self::LostWakeUp => Promise::Liveness,
            Self::LossUnnoticed | Self::FifoInversion | Self::PhantomHold | Self::FalseRelease => {
                Promise::Hygiene
            }
        }
    }

    /// Whether a violation of this kind is harm done to the register, rather than to the lock.
    pub const fn is_damage(self) -> bool {
        matches!(
            self,
            Self::StaleWriteAccepted
                | Self::Oversell
                | Self::LostUpdate
                | Self::DuplicateRebuild
                | Self::OverAdmission
                | Self::DoubleRun
        )
    }
}

/// One proved breach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// What was breached.
    pub kind: ViolationKind,
    /// For overlaps: both holders rightly believed in their lease at the same instant.
    pub within_lease: Option<bool>,
    /// One sentence for a human, with names and figures.
    pub what: String,
    /// The events that prove it, in order of time; a few at most.
    pub evidence: Vec<Event>,
}

/// What one checker found in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked for.
    pub kind: ViolationKind,
    /// The answer.
    pub verdict: Verdict,
    /// How often it was breached.
    pub count: u64,
    /// Of these, with both leases good (overlaps only; 0 elsewhere).
    pub within_lease: u64,
    /// Of these, after a lease had ended (overlaps only; 0 elsewhere).
    pub past_lease: u64,
    /// How often it could have been breached.
    pub exposures: u64,
    /// Why the verdict is `unknown`, in words.
    pub reason: Option<String>,
    /// The first few breaches.
    pub violations: Vec<Violation>,
}
