//! One operation from its start to its end, whatever happens to it.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use results::event::{Event, EventKind, Outcome, StepOutcome};
use strategies::clock::Moment;

use crate::op::Op;
use crate::recorder::Recorder;
use crate::session::Session;
use crate::stop::Stop;
use crate::workload::Workload;

/// The signal that cancels operations, and the slot in which this worker waits for it.
#[derive(Debug, Clone, Copy)]
pub struct Cancel<'a> {
    /// The signal.
    pub stop: &'a Stop,
    /// This worker's slot.
    pub slot: u32,
}

/// Carries out `op` and records its start and its end.
///
/// # Cancellation
///
/// When `cancel` is raised, the operation is dropped where it stands, a lock that it holds is given back if that
/// takes no longer than half a second, and it ends as [`Outcome::Cancelled`]. When the future itself is dropped it
/// ends as cancelled too, and when the workload panics as [`Outcome::Unknown`]: each start has its end.
pub async fn perform(
    workload: &dyn Workload,
    op: &Op,
    session: &mut Session,
    cancel: Cancel<'_>,
) -> Outcome {
    let mut ending = Ending::begin(op, session.recorder());
    if let Some(outcome) = run(workload, op, session, cancel).await {
        ending.outcome = outcome;
    } else {
        // The outcome stays what it began as: cancelled.
        session.abandon(op).await;
    }
    ending.outcome
}

/// Records an operation that never got its turn.
pub fn cancelled(op: &Op, recorder: &Rc<Recorder>) {
    drop(Ending::begin(op, Rc::clone(recorder)));
}

/// `None` if it was cancelled.
async fn run(
    workload: &dyn Workload,
    op: &Op,
    session: &mut Session,
    cancel: Cancel<'_>,
) -> Option<Outcome> {
    let recorder = session.recorder();
    let mut operation = workload.operate(op, session);
    poll_fn(|cx| {
        recorder.set_current(Some((op.id, op.key)));
        let step = operation.as_mut().poll(cx);
        recorder.set_current(None);
        match step {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => cancel.stop.poll(cancel.slot, cx).map(|()| None),
        }
    })
    .await
}

/// Records the end of an operation when it goes away, however that comes about.
struct Ending<'a> {
    op: &'a Op,
    recorder: Rc<Recorder>,
    outcome: Outcome,
}

impl<'a> Ending<'a> {
    fn begin(op: &'a Op, recorder: Rc<Recorder>) -> Self {
        let ending = Self { op, recorder, outcome: Outcome::Cancelled };
        ending.record(op.taken, EventKind::Start, (op.intended, op.released));
        ending
    }

    fn record(&self, at: u64, kind: EventKind, (arg, seq): (u64, u64)) {
        let (op, key, outcome) = (self.op.id, self.op.key, StepOutcome::Ok);
        self.recorder.record(Event { at, op, key, kind, outcome, flags: 0, arg, seq });
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let outcome = if std::thread::panicking() { Outcome::Unknown } else { self.outcome };
        self.recorder.set_current(None);
        self.record(Moment::now().0, EventKind::Finish, (outcome as u64, 0));
    }
}
