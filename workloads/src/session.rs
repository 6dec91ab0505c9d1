//! One caller at its lock and its register: the joint where calls become events. Nothing else records them.

use std::rc::Rc;
use std::time::Duration;

use results::event::{Event, EventKind, OpId, Outcome, Released, StepOutcome, flags};
use strategies::clock::Moment;
use strategies::lock::{
    AcquireRequest, Acquisition, Certainty, Lease, LeasePolicy, LockClient, LockError, Mode,
    Release,
};
use strategies::probe::{Point, Probe};

use crate::caller::Caller;
use crate::guard::Guard;
use crate::op::Op;
use crate::recorder::Recorder;
use crate::register::{Answer, Register, RegisterError, Step};
use crate::timer::Timer;

/// How long a cancelled operation may take to give its lock back.
const GIVE_BACK: Duration = Duration::from_millis(500);

/// How all callers of an instance ask for the lock and how careful they are.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What a caller does before each write.
    pub caller: Caller,
    /// What the register refuses.
    pub guard: Guard,
    /// How long a caller waits for the lock.
    pub patience: Duration,
    /// How long a grant is to last.
    pub lease: LeasePolicy,
    /// Full name of each lock, by key.
    pub locks: Rc<[Rc<str>]>,
}

/// What the callers of an instance share.
#[derive(Clone)]
pub struct Surroundings {
    /// How they ask.
    pub terms: Rc<Terms>,
    /// Where facts go.
    pub recorder: Rc<Recorder>,
    /// Their way to the register; `None` for a workload without one.
    pub register: Option<Register>,
    /// Told of the named points of a caller.
    pub probe: Rc<dyn Probe>,
    /// What they sleep on.
    pub timer: Rc<Timer>,
}

/// A lock that is held. The lease itself stays with the session until the operation ends, so that a cancelled
/// operation can still give it back.
#[derive(Debug)]
#[must_use = "a lock that is held has to be released"]
pub struct Held {
    op: OpId,
    key: u32,
}

/// What a look at the lease showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Good, or the caller does not look.
    Good,
    /// Gone: nothing may be written any more.
    Gone,
}

/// Where an operation stands with its lock.
#[derive(Debug)]
enum Stage {
    Idle,
    Acquiring,
    Holding(Lease),
    Releasing,
}

/// One caller of a lock. Belongs to one worker; what it keeps of an operation never outlives it.
pub struct Session {
    client: Box<dyn LockClient>,
    around: Surroundings,
    stage: Stage,
}

impl Session {
    /// A caller with a client of its own.
    pub fn new(client: Box<dyn LockClient>, around: Surroundings) -> Self {
        Self { client, around, stage: Stage::Idle }
    }

    /// The recorder of the instance.
    pub(crate) fn recorder(&self) -> Rc<Recorder> {
        Rc::clone(&self.around.recorder)
    }

    /// What the register refuses.
    pub fn guard(&self) -> Guard {
        self.around.terms.guard
    }

    /// How long a caller waits for the lock, and goes on after conflicts.
    pub fn patience(&self) -> Duration {
        self.around.terms.patience
    }

    /// Takes the lock of `op`.
    ///
    /// # Errors
    ///
    /// The outcome with which the operation has to end: denied, error or unknown.
    pub async fn acquire(&mut self, op: &Op) -> Result<Held, Outcome> {
        let held = Held { op: op.id, key: op.key };
        let request = self.request(op.key);
        self.stage = Stage::Acquiring;
        self.record(&held, EventKind::AcquireCall, StepOutcome::Ok, (0, 0));
        let acquired = self.client.acquire(&request).await;
        self.stage = Stage::Idle;
        match acquired {
            Ok(Acquisition::Granted(lease)) => {
                self.record_grant(&held, &lease);
                self.stage = Stage::Holding(lease);
                self.around.probe.point(Point::AfterGrant).await;
                Ok(held)
            }
            Ok(Acquisition::Denied) => {
                self.record(&held, EventKind::AcquireReturn, StepOutcome::Fail, (0, 0));
                Err(Outcome::Denied)
            }
            Err(error) => {
                let failed = self.lock_failed(&error);
                self.record(&held, EventKind::AcquireReturn, failed, (0, 0));
                Err(ending(error.certainty()))
            }
        }
    }

    fn request(&self, key: u32) -> AcquireRequest {
        let terms = &self.around.terms;
        AcquireRequest {
            key: Rc::clone(&terms.locks[key as usize]),
            mode: Mode::Exclusive,
            patience: terms.patience,
            lease: terms.lease,
        }
    }

    fn record_grant(&self, held: &Held, lease: &Lease) {
        let until = if lease.valid_until == Moment::NEVER { 0 } else { lease.valid_until.0 };
        let facts = (lease.request_sent.0, until);
        self.record(held, EventKind::AcquireReturn, StepOutcome::Ok, facts);
        if let Some(token) = lease.token {
            self.record(held, EventKind::Token, StepOutcome::Ok, (token, 0));
        }
    }

    /// Looks at the lease as carefully as the caller is; a naive one does not look. Call it before each write.
    pub fn check(&self, held: &Held) -> Standing {
        let Stage::Holding(lease) = &self.stage else { return Standing::Gone };
        let caller = self.around.terms.caller;
        if caller == Caller::Naive {
            return Standing::Good;
        }
        let lost = caller == Caller::LostSignal && lease.lost();
        if lost {
            self.record(held, EventKind::LostSignal, StepOutcome::Ok, (0, 0));
        }
        if lost || Moment::now() >= lease.valid_until {
            self.record(held, EventKind::Check, StepOutcome::Fail, (0, 0));
            return Standing::Gone;
        }
        self.record(held, EventKind::Check, StepOutcome::Ok, (0, 0));
        Standing::Good
    }

    /// Does the work of the business for `duration`, by sleeping.
    pub async fn work(&self, duration: Duration) {
        self.around.timer.sleep(duration).await;
    }

    /// A step at the register outside the lock.
    ///
    /// # Errors
    ///
    /// The outcome with which the operation has to end.
    pub async fn look(&self, op: &Op, step: &Step, args: &[i64]) -> Result<Answer, Outcome> {
        match self.take(op.id, step, args).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                self.around.recorder.error(error.class());
                Err(ending(error.certainty()))
            }
        }
    }

    /// Enters the section and reads, in one step.
    ///
    /// # Errors
    ///
    /// The outcome with which the operation has to end, once the lock is released.
    pub async fn read(&self, held: &Held, step: &Step, args: &[i64]) -> Result<Answer, Outcome> {
        let answer = match self.take(held.op, step, args).await {
            Ok(answer) => answer,
            Err(error) => {
                self.record(held, EventKind::Enter, outcome(error.certainty()), (0, 0));
                return Err(self.register_failed(held, EventKind::Read, &error));
            }
        };
        self.record(held, EventKind::Enter, StepOutcome::Ok, (answer.others, answer.seq));
        let read = (answer.value.unsigned_abs(), answer.seq);
        self.record(held, EventKind::Read, StepOutcome::Ok, read);
        self.record_exit(held, answer);
        Ok(answer)
    }

    /// Writes and leaves the section, in one step. A write that the guard refuses is an answer that is not applied.
    ///
    /// # Errors
    ///
    /// The outcome with which the operation has to end, once the lock is released.
    pub async fn write(&self, held: &Held, step: &Step, args: &[i64]) -> Result<Answer, Outcome> {
        self.around.probe.point(Point::BeforeWrite).await;
        let answer = match self.take(held.op, step, args).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.register_failed(held, EventKind::Write, &error)),
        };
        let applied = if answer.applied { StepOutcome::Ok } else { StepOutcome::Fail };
        self.record(held, EventKind::Write, applied, (answer.round.unsigned_abs(), answer.seq));
        self.record_exit(held, answer);
        Ok(answer)
    }

    /// Leaves the section without a write.
    pub async fn leave(&self, held: &Held, step: &Step, args: &[i64]) {
        match self.take(held.op, step, args).await {
            Ok(answer) => self.record_exit(held, answer),
            Err(error) => {
                self.register_failed(held, EventKind::Exit, &error);
            }
        }
    }

    fn record_exit(&self, held: &Held, answer: Answer) {
        if answer.left {
            self.record(held, EventKind::Exit, StepOutcome::Ok, (0, answer.seq));
        }
    }

    async fn take(&self, op: OpId, step: &Step, args: &[i64]) -> Result<Answer, RegisterError> {
        let register = self.around.register.as_ref().expect("a workload with steps has a register");
        register.take(step, (op.0, args), || self.around.recorder.script_reloaded()).await
    }

    /// Gives the lock back. An error is recorded and counted; the work is done all the same.
    pub async fn release(&mut self, held: Held) {
        self.around.probe.point(Point::BeforeRelease).await;
        self.give_back(&held).await;
    }

    async fn give_back(&mut self, held: &Held) {
        let Stage::Holding(lease) = std::mem::replace(&mut self.stage, Stage::Releasing) else {
            self.stage = Stage::Idle;
            return;
        };
        self.record(held, EventKind::ReleaseCall, StepOutcome::Ok, (0, 0));
        let released = self.client.release(lease).await;
        self.stage = Stage::Idle;
        match released {
            Ok(release) => {
                let code = report(release) as u64;
                self.record(held, EventKind::ReleaseReturn, StepOutcome::Ok, (code, 0));
            }
            Err(error) => {
                let failed = self.lock_failed(&error);
                self.record(held, EventKind::ReleaseReturn, failed, (0, 0));
            }
        }
    }

    /// Cleans up after an operation that was cancelled: what was under way may have happened, and a lock that is
    /// held is given back if that takes no longer than half a second. A lock left behind shows as a release that
    /// perhaps happened.
    pub(crate) async fn abandon(&mut self, op: &Op) {
        let held = Held { op: op.id, key: op.key };
        if matches!(self.stage, Stage::Holding(_)) {
            // The outcome does not matter: what is left undone is recorded below.
            let _ = tokio::time::timeout(GIVE_BACK, self.give_back(&held)).await;
        }
        let left = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Acquiring => EventKind::AcquireReturn,
            Stage::Releasing => EventKind::ReleaseReturn,
            Stage::Holding(_) | Stage::Idle => return,
        };
        self.record(&held, left, StepOutcome::Info, (0, 0));
    }

    fn lock_failed(&self, error: &LockError) -> StepOutcome {
        self.around.recorder.error(error.class());
        outcome(error.certainty())
    }

    fn register_failed(&self, held: &Held, kind: EventKind, error: &RegisterError) -> Outcome {
        self.around.recorder.error(error.class());
        self.record(held, kind, outcome(error.certainty()), (0, 0));
        ending(error.certainty())
    }

    fn record(&self, held: &Held, kind: EventKind, outcome: StepOutcome, facts: (u64, u64)) {
        let careful = self.around.terms.caller != Caller::Naive;
        self.around.recorder.record(Event {
            at: Moment::now().0,
            op: held.op,
            key: held.key,
            kind,
            outcome,
            flags: if careful { flags::CHECKING_CALLER } else { 0 },
            arg: facts.0,
            seq: facts.1,
        });
    }
}

const fn outcome(certainty: Certainty) -> StepOutcome {
    match certainty {
        Certainty::NotApplied => StepOutcome::Fail,
        Certainty::Unknown => StepOutcome::Info,
    }
}

const fn ending(certainty: Certainty) -> Outcome {
    match certainty {
        Certainty::NotApplied => Outcome::Error,
        Certainty::Unknown => Outcome::Unknown,
    }
}

const fn report(release: Release) -> Released {
    match release {
        Release::Removed => Released::Removed,
        Release::NotHeld => Released::NotHeld,
        Release::Unverified => Released::Unverified,
    }
}
