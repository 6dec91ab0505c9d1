//! Counts breaches and draws the verdict.

use std::fmt;

use crate::checker::{EVIDENCE_LIMIT, History};
use crate::event::{Event, EventKind, Nanos, OpId, Released, StepOutcome, flags};
use crate::hold::Hold;
use crate::verdict::{Finding, Verdict, Violation, ViolationKind};

/// Two instants closer than this, in nanoseconds, are not told apart: the clocks of two processors may differ by as much.
pub(crate) const EPSILON: Nanos = 1_000;

/// A finding while it is being made.
pub(crate) struct Tally(Finding);

impl Tally {
    pub(crate) fn new(kind: ViolationKind) -> Self {
        Self(Finding {
            kind,
            verdict: Verdict::Unknown,
            count: 0,
            within_lease: 0,
            past_lease: 0,
            exposures: 0,
            reason: None,
            violations: Vec::new(),
        })
    }

    /// Counts `exposures` more chances of a breach.
    pub(crate) const fn expose(&mut self, exposures: u64) {
        self.0.exposures += exposures;
    }

    /// Counts `count` breaches of one cause; `tell` puts it into words if there is room for it.
    pub(crate) fn breach(&mut self, count: u64, tell: impl FnOnce() -> (String, Vec<Event>)) {
        self.0.count += count;
        self.keep(None, tell);
    }

    /// Counts an overlap of two holds.
    #[inline]
    pub(crate) fn overlap(
        &mut self,
        within_lease: bool,
        tell: impl FnOnce() -> (String, Vec<Event>),
    ) {
        self.0.count += 1;
        self.0.within_lease += u64::from(within_lease);
        self.0.past_lease += u64::from(!within_lease);
        self.keep(Some(within_lease), tell);
    }

    fn keep(&mut self, within_lease: Option<bool>, tell: impl FnOnce() -> (String, Vec<Event>)) {
        if self.0.violations.len() < EVIDENCE_LIMIT {
            let (what, mut evidence) = tell();
            evidence.sort_by_key(|event| event.at);
            self.0.violations.push(Violation { kind: self.0.kind, within_lease, what, evidence });
        }
    }

    /// The finding; `vacuous` is why nobody can tell if there was no exposure.
    pub(crate) fn conclude(self, history: &History, vacuous: &str) -> Finding {
        if self.0.exposures == 0 {
            return self.undecided(history, vacuous);
        }
        self.decided(history, Verdict::Valid, None)
    }

    /// The finding where the history cannot decide, unless something is proved.
    pub(crate) fn undecided(self, history: &History, reason: &str) -> Finding {
        self.decided(history, Verdict::Unknown, Some(reason.to_owned()))
    }

    fn decided(self, history: &History, verdict: Verdict, reason: Option<String>) -> Finding {
        let (verdict, reason) = match &history.truncated {
            _ if self.0.count > 0 => (Verdict::Violated, None),
            Some(why) => (Verdict::Unknown, Some(format!("the history is not whole: {why}"))),
            None => (verdict, reason),
        };
        Finding { verdict, reason, ..self.0 }
    }
}

/// An operation as it is called in sentences.
pub(crate) struct Named(pub(crate) OpId);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} of worker {}", self.0.sequence(), self.0.worker())
    }
}

/// A duration as it is called in sentences.
pub(crate) struct Millis(pub(crate) Nanos);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ms", self.0 / 1_000_000, self.0 / 1_000 % 1_000)
    }
}

/// The event of the grant of `hold`.
pub(crate) fn granted(hold: &Hold) -> Event {
    let valid_until = if hold.valid_until == Nanos::MAX { 0 } else { hold.valid_until };
    event(hold, hold.start, EventKind::AcquireReturn).with(hold.request_sent(), valid_until)
}

/// The event that ended the definite hold: release called, the last passed check, or the last word.
pub(crate) fn ended(hold: &Hold) -> Event {
    let kind = match hold.release_call() {
        _ if hold.has(flags::CHECKING_CALLER) => EventKind::Check,
        Some(_) => EventKind::ReleaseCall,
        None => EventKind::Point,
    };
    event(hold, hold.end, kind)
}

/// The events of the release of `hold`, as far as they happened.
pub(crate) fn released(hold: &Hold) -> Vec<Event> {
    let called = hold.release_call().map(|at| event(hold, at, EventKind::ReleaseCall));
    let answered = hold
        .release_return()
        .map(|at| event(hold, at, EventKind::ReleaseReturn).with(u64::from(hold.release), 0));
    called.into_iter().chain(answered).collect()
}

/// The event of an acquire call.
pub(crate) fn called(op: OpId, key: u32, at: Nanos) -> Event {
    let outcome = StepOutcome::Ok;
    Event { at, op, key, kind: EventKind::AcquireCall, outcome, flags: 0, arg: 0, seq: 0 }
}

/// Whether the release of `hold` reported `released`.
#[inline]
pub(crate) const fn reported(hold: &Hold, released: Released) -> bool {
    hold.release == released as u8
}

fn event(hold: &Hold, at: Nanos, kind: EventKind) -> Event {
    let (op, key, flags) = (hold.op, hold.key, hold.flags);
    Event { at, op, key, kind, outcome: StepOutcome::Ok, flags, arg: 0, seq: 0 }
}

impl Event {
    const fn with(self, arg: u64, seq: u64) -> Self {
        Self { arg, seq, ..self }
    }
}
