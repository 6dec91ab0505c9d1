//! Where the facts of one instance go: its history, and the sums that are told while it runs.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use results::event::{Event, EventKind, OpId, Outcome, StepOutcome};
use results::history_writer::HistoryWriter;

/// Takes events one after the other; the history file in a run, a vector in a test.
pub trait Sink {
    /// Appends one event. Never fails: a sink that cannot go on stops and says so in [`Sink::finish`].
    fn push(&mut self, event: Event);

    /// Writes out what is left and ends; why recording stopped early, if it did.
    fn finish(self: Box<Self>) -> Option<String>;
}

impl Sink for Vec<Event> {
    fn push(&mut self, event: Event) {
        Self::push(self, event);
    }

    fn finish(self: Box<Self>) -> Option<String> {
        None
    }
}

impl Sink for HistoryWriter {
    fn push(&mut self, event: Event) {
        Self::push(self, event);
    }

    fn finish(self: Box<Self>) -> Option<String> {
        (*self).finish().err().map(|error| error.to_string())
    }
}

/// Sums that another thread may read while the instance runs.
#[derive(Debug, Default)]
pub struct Gauge {
    granted: AtomicU64,
    finished: AtomicU64,
}

impl Gauge {
    /// Grants so far.
    pub fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    /// Operations that ended so far, whatever their outcome.
    pub fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }
}

/// Adds one to a counter that only this thread writes; a plain load and store, no locked instruction.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Sums of one instance, whole trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations recorded as started.
    pub started: u64,
    /// Operations recorded as ended, by the code of their [`Outcome`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Errors of locks and registers by class; those of the register begin with `register-`.
    pub errors: BTreeMap<&'static str, u64>,
    /// Scripts that had to be loaded again, of locks and registers.
    pub scripts_reloaded: u64,
}

impl Tally {
    /// Operations recorded as ended.
    pub fn finished(&self) -> u64 {
        self.outcomes.iter().sum()
    }
}

/// The recorder of one instance; lives on its thread, shared by its workers.
pub struct Recorder {
    sink: RefCell<Box<dyn Sink>>,
    tally: RefCell<Tally>,
    gauge: Arc<Gauge>,
    current: Cell<Option<(OpId, u32)>>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("tally", &self.tally).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder into `sink`.
    pub fn new(sink: Box<dyn Sink>) -> Self {
        Self {
            sink: RefCell::new(sink),
            tally: RefCell::default(),
            gauge: Arc::default(),
            current: Cell::new(None),
        }
    }

    /// Appends `event` and keeps the sums in step with it.
    pub fn record(&self, event: Event) {
        match event.kind {
            EventKind::Start => self.tally.borrow_mut().started += 1,
            EventKind::AcquireReturn if event.outcome == StepOutcome::Ok => {
                count(&self.gauge.granted);
            }
            EventKind::Finish => self.count_end(event.arg),
            _ => {}
        }
        self.sink.borrow_mut().push(event);
    }

    fn count_end(&self, code: u64) {
        let code = usize::try_from(code).unwrap_or(usize::MAX);
        if let Some(sum) = self.tally.borrow_mut().outcomes.get_mut(code) {
            *sum += 1;
        }
        count(&self.gauge.finished);
    }

    /// Counts an error by its class.
    pub fn error(&self, class: &'static str) {
        *self.tally.borrow_mut().errors.entry(class).or_default() += 1;
    }

    /// Counts a script that had to be loaded again.
    pub fn script_reloaded(&self) {
        self.tally.borrow_mut().scripts_reloaded += 1;
    }

    /// The operation whose code is running right now on this thread, and its key.
    pub fn current(&self) -> Option<(OpId, u32)> {
        self.current.get()
    }

    /// Says whose code runs until the next call.
    pub(crate) fn set_current(&self, op: Option<(OpId, u32)>) {
        self.current.set(op);
    }

    /// The sums for other threads.
    pub fn gauge(&self) -> Arc<Gauge> {
        Arc::clone(&self.gauge)
    }

    /// The sums so far.
    pub fn tally(&self) -> Tally {
        self.tally.borrow().clone()
    }

    /// Writes out what is left and ends; why recording stopped early, if it did. Later events go nowhere.
    pub fn finish(&self) -> Option<String> {
        self.sink.replace(Box::new(Nowhere)).finish()
    }
}

/// What stands in for the sink of a recorder that has ended.
struct Nowhere;

impl Sink for Nowhere {
    fn push(&mut self, _: Event) {}

    fn finish(self: Box<Self>) -> Option<String> {
        None
    }
}
