//! What a strategy tells through its probe, as events of the operation that it tells it for.

use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use results::event::{Event, EventKind, StepOutcome};
use strategies::clock::Moment;
use strategies::probe::Probe;

use crate::recorder::Recorder;

/// A probe that records. What is told outside any operation (by a watchdog's own task) has no operation to be
/// recorded for and is passed over.
#[derive(Debug)]
pub struct Listener {
    recorder: Rc<Recorder>,
}

impl Listener {
    /// A probe into `recorder`.
    pub fn new(recorder: Rc<Recorder>) -> Self {
        Self { recorder }
    }

    fn record(&self, kind: EventKind, outcome: StepOutcome, arg: u64) {
        let Some((op, key)) = self.recorder.current() else { return };
        let at = Moment::now().0;
        self.recorder.record(Event { at, op, key, kind, outcome, flags: 0, arg, seq: 0 });
    }
}

#[async_trait(?Send)]
impl Probe for Listener {
    fn pool_wait(&self, waited: Duration) {
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.record(EventKind::PoolWait, StepOutcome::Ok, waited);
    }

    fn enqueued(&self, place: u64) {
        self.record(EventKind::Enqueued, StepOutcome::Ok, place);
    }

    fn renewed(&self, ours: bool) {
        let outcome = if ours { StepOutcome::Ok } else { StepOutcome::Fail };
        self.record(EventKind::Renew, outcome, 0);
    }

    fn script_reloaded(&self) {
        self.recorder.script_reloaded();
    }
}
