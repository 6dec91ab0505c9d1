//! An operation while its events come in, and the rule for where its hold ends.

use crate::event::{Event, EventKind, Nanos, OpId, Outcome, Released, StepOutcome, flags};
use crate::hold::Hold;
use crate::operation::Operation;

/// What is known so far about an operation that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct OpenOperation {
    operation: Operation,
    /// Where its hold is kept, once it has one.
    pub(crate) place: Option<usize>,
    /// The last recorded event, the finish apart.
    last: Nanos,
    /// The last check of the lease that found it good; 0 if none.
    passed: Nanos,
    /// The first lost signal; 0 if none.
    lost: Nanos,
    /// Sequence number of the witness's first answer; 0 if none.
    entered: u64,
    /// Sequence number of the last write that the register confirmed; 0 if none.
    wrote: u64,
    /// How long the lease was when it was granted.
    ttl: Nanos,
    /// When the last renewal went out; 0 if that is not known.
    renewing: Nanos,
    acknowledged: bool,
    closed: bool,
}

impl OpenOperation {
    /// An operation of which `event` is the first word.
    pub(crate) fn new(event: &Event) -> Self {
        let operation = Operation {
            op: event.op,
            key: event.key,
            flags: 0,
            intended: 0,
            released: 0,
            taken: 0,
            acquire_call: 0,
            acquire_return: 0,
            acquired: StepOutcome::Info,
            request_sent: 0,
            valid_until: 0,
            token: 0,
            release_call: 0,
            release_return: 0,
            release: None,
            definite_end: 0,
            finished: 0,
            outcome: Outcome::Unknown,
        };
        Self {
            operation,
            place: None,
            last: event.at,
            passed: 0,
            lost: 0,
            entered: 0,
            wrote: 0,
            ttl: 0,
            renewing: 0,
            acknowledged: false,
            closed: false,
        }
    }

    #[inline]
    pub(crate) const fn op(&self) -> OpId {
        self.operation.op
    }

    #[inline]
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the register confirmed a write.
    pub(crate) const fn acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// The last moment at which it is known to have waited, if it was granted nothing.
    pub(crate) fn waited_until(&self) -> Nanos {
        if self.operation.acquire_return == 0 { self.last } else { self.operation.acquire_return }
    }

    /// Takes in one event. True if it is the grant.
    #[inline]
    pub(crate) fn record(&mut self, event: &Event) -> bool {
        let operation = &mut self.operation;
        operation.flags |= event.flags;
        if event.kind != EventKind::Finish {
            self.last = self.last.max(event.at);
        }
        match event.kind {
            EventKind::Start => {
                operation.taken = event.at;
                operation.intended = event.arg;
                operation.released = event.seq;
            }
            EventKind::AcquireCall => operation.acquire_call = event.at,
            EventKind::AcquireReturn => return self.acquired(event),
            EventKind::Token => operation.token = event.arg,
            EventKind::Enter | EventKind::Read if self.entered == 0 => self.entered = event.seq,
            EventKind::Write if event.outcome == StepOutcome::Ok => {
                self.acknowledged = true;
                self.wrote = event.seq;
                if self.entered == 0 {
                    self.entered = event.seq;
                }
            }
            EventKind::Check if event.outcome == StepOutcome::Ok => self.passed = event.at,
            EventKind::LostSignal if self.lost == 0 => self.lost = event.at,
            EventKind::ReleaseCall => operation.release_call = event.at,
            EventKind::ReleaseReturn => {
                operation.release_return = event.at;
                if event.outcome == StepOutcome::Ok {
                    operation.release = Released::from_code(event.arg);
                }
            }
            EventKind::Finish => {
                operation.finished = event.at;
                operation.outcome = Outcome::from_code(event.arg).unwrap_or(Outcome::Unknown);
            }
            EventKind::Renew => self.renew(event),
            _ => {}
        }
        false
    }

    fn acquired(&mut self, event: &Event) -> bool {
        let operation = &mut self.operation;
        if operation.acquire_return != 0 {
            return false;
        }
        operation.acquire_return = event.at;
        operation.acquired = event.outcome;
        if event.outcome != StepOutcome::Ok {
            return false;
        }
        operation.request_sent = event.arg;
        operation.valid_until = if event.seq == 0 { Nanos::MAX } else { event.seq };
        self.ttl = operation.valid_until.saturating_sub(event.arg);
        true
    }

    /// A renewal makes the lease as long again, counted from when it went out, or from its answer (up to one round
    /// trip too late) where nobody said when it went out.
    fn renew(&mut self, event: &Event) {
        let operation = &mut self.operation;
        match event.outcome {
            StepOutcome::Info => self.renewing = event.at,
            StepOutcome::Fail => {}
            StepOutcome::Ok => {
                if operation.acquired != StepOutcome::Ok || operation.valid_until == Nanos::MAX {
                    return;
                }
                let sent = if self.renewing == 0 { event.at } else { self.renewing };
                let until = match event.arg {
                    0 => sent.saturating_add(self.ttl),
                    told => told,
                };
                operation.valid_until = operation.valid_until.max(until);
            }
        }
    }

    /// What is left of it for the checkers; `operation` is what closing it gave.
    pub(crate) fn hold(&self, operation: &Operation) -> Option<Hold> {
        let short = |seq: u64| u32::try_from(seq).unwrap_or(0);
        let mut hold = Hold::of(operation)?;
        (hold.entered, hold.wrote) = (short(self.entered), short(self.wrote));
        Some(hold)
    }

    /// Ends it, whether it was finished or not.
    pub(crate) fn close(&mut self) -> Operation {
        self.closed = true;
        self.operation.definite_end = self.definite_end();
        self.operation
    }

    /// Where the interval ends in which the caller certainly held what it was granted.
    ///
    /// A naive caller holds until it calls release; if it never does, until its last recorded event. A caller that
    /// looks at its lease holds no longer than its last passed check, and no longer than until it was told of the
    /// loss. If it wrote after that, the witness's sequence numbers tell; the time at which the answer was read does
    /// not, because the process may have been paused between sending the write and reading the answer.
    fn definite_end(&self) -> Nanos {
        let operation = &self.operation;
        if operation.acquired != StepOutcome::Ok || operation.acquire_return == 0 {
            return 0;
        }
        let start = operation.acquire_return;
        let called = if operation.release_call == 0 { self.last } else { operation.release_call };
        if operation.flags & flags::CHECKING_CALLER == 0 {
            return called.max(start);
        }
        let lost = if self.lost == 0 { Nanos::MAX } else { self.lost };
        self.passed.min(lost).min(called).max(start)
    }
}
