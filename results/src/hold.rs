//! The interval in which one operation certainly held its lock.

use crate::event::{Nanos, OpId, StepOutcome};
use crate::operation::Operation;

/// Nanoseconds per unit of the times that a hold keeps in 32 bits: they reach 73 minutes.
const UNIT: Nanos = 1024;

/// What [`Hold::release`] is if the release failed or never returned.
pub const NO_RELEASE: u8 = 255;

/// One granted lock, reduced to what the checkers need: at most 64 bytes, because there are millions.
///
/// `start..end` is the *definite* hold of `docs/correctness.md`: acquire returned, to release called,
/// the last passed check (a caller that checks), or the last recorded event (a process that died).
/// That a caller that checks wrote later than that shows in the order of the witness's sequence numbers, not here: when
/// an answer was read says nothing about when the write was applied.
/// The times behind methods are kept to about a microsecond, rounded to the side that accuses nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Whose.
    pub op: OpId,
    /// Acquire returned.
    pub start: Nanos,
    /// End of the definite hold.
    pub end: Nanos,
    /// Until when the lease is good, renewals included where they say so; `u64::MAX` for one without end.
    pub valid_until: Nanos,
    /// Index of the lock key.
    pub key: u32,
    /// `start` minus acquire called, rounded down.
    waited: u32,
    /// `start` minus request sent, rounded up; `u32::MAX` if it does not fit.
    asked: u32,
    /// Release called minus `end`, rounded down; `u32::MAX` if release was never called.
    ran_on: u32,
    /// Release answered minus `end`, rounded up; `u32::MAX` if it never was, failed, or does not fit.
    answered: u32,
    /// Sequence number of the witness's first answer under this lock; 0 if there is none, or none that fits.
    pub entered: u32,
    /// Sequence number of the last write that the register confirmed; 0 as above.
    pub wrote: u32,
    /// Bits of [`flags`](crate::event::flags).
    pub flags: u16,
    /// A [`Released`](crate::event::Released) code, or [`NO_RELEASE`].
    pub release: u8,
}

impl Hold {
    /// What is left of `operation`; `None` if it was granted nothing.
    pub fn of(operation: &Operation) -> Option<Self> {
        if operation.acquired != StepOutcome::Ok || operation.acquire_return == 0 {
            return None;
        }
        let (start, end) = (operation.acquire_return, operation.definite_end);
        let called = operation.release_call;
        let answered = if operation.release.is_some() { operation.release_return } else { 0 };
        Some(Self {
            op: operation.op,
            start,
            end,
            valid_until: operation.valid_until,
            entered: 0,
            wrote: 0,
            key: operation.key,
            waited: rounded_down(start.saturating_sub(operation.acquire_call)),
            asked: rounded_up(start.saturating_sub(operation.request_sent)),
            ran_on: if called == 0 { u32::MAX } else { rounded_down(called.saturating_sub(end)) },
            answered: if answered == 0 {
                u32::MAX
            } else {
                rounded_up(answered.saturating_sub(end))
            },
            flags: operation.flags,
            release: operation.release.map_or(NO_RELEASE, |released| released as u8),
        })
    }

    /// The place of a hold that has only begun.
    pub(crate) const fn placeholder(op: OpId, key: u32, start: Nanos) -> Self {
        Self {
            op,
            start,
            end: start,
            valid_until: Nanos::MAX,
            entered: 0,
            wrote: 0,
            key,
            waited: 0,
            asked: 0,
            ran_on: u32::MAX,
            answered: u32::MAX,
            flags: 0,
            release: NO_RELEASE,
        }
    }

    /// When acquire was called, or up to a microsecond later.
    #[inline]
    pub fn wait_start(&self) -> Nanos {
        self.start - Nanos::from(self.waited) * UNIT
    }

    /// When the request that won was sent, or up to a microsecond earlier.
    #[inline]
    pub fn request_sent(&self) -> Nanos {
        if self.asked == u32::MAX {
            return 0;
        }
        self.start.saturating_sub(Nanos::from(self.asked) * UNIT)
    }

    /// When release was called, or up to a microsecond earlier; `None` if it never was.
    #[inline]
    pub fn release_call(&self) -> Option<Nanos> {
        (self.ran_on != u32::MAX).then(|| self.end.saturating_add(Nanos::from(self.ran_on) * UNIT))
    }

    /// When release was answered, or up to a microsecond later; `None` if it never was or failed.
    #[inline]
    pub fn release_return(&self) -> Option<Nanos> {
        (self.answered != u32::MAX)
            .then(|| self.end.saturating_add(Nanos::from(self.answered) * UNIT))
    }

    /// The last moment at which the operation had to do with the lock, as far as is known.
    #[inline]
    pub fn last_seen(&self) -> Nanos {
        self.release_return().or(self.release_call()).unwrap_or(self.end)
    }

    /// Whether one of the given [`flags`](crate::event::flags) is set.
    #[inline]
    pub const fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

/// Units in `time`, at most what fits beside the mark.
fn rounded_down(time: Nanos) -> u32 {
    u32::try_from(time / UNIT).map_or(u32::MAX - 1, |units| units.min(u32::MAX - 1))
}

/// Units in `time`, or the mark if they do not fit.
fn rounded_up(time: Nanos) -> u32 {
    u32::try_from(time.div_ceil(UNIT)).unwrap_or(u32::MAX)
}
