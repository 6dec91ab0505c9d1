//! One worker: takes one operation after the other and carries each out.

use std::rc::Rc;
use std::time::Duration;

use results::event::OpId;
use strategies::clock::Moment;
use workloads::keys::KeyPicker;
use workloads::op::Op;
use workloads::perform::{Cancel, perform};
use workloads::session::Session;
use workloads::stop::Stop;
use workloads::timer::Timer;
use workloads::workload::Workload;

use crate::driver::queue::{Due, Queue};

/// After so many operations others get their turn, should the lock itself never wait.
const TURN: u64 = 32;

/// What all workers of an instance share.
pub struct Shift {
    /// What they do.
    pub workload: Box<dyn Workload>,
    /// Which keys they ask for.
    pub keys: KeyPicker,
    /// No operation begins any more.
    pub closing: Stop,
    /// Operations under way are cancelled.
    pub cancel: Stop,
    /// What they sleep on.
    pub timer: Rc<Timer>,
    /// When they begin.
    pub start: Moment,
    /// Operations that are due then or later are not begun.
    pub end: Moment,
}

/// One worker.
pub struct Worker {
    /// Its number in the whole trial.
    pub number: u32,
    /// Its number in its instance.
    pub slot: u32,
    /// Its caller.
    pub session: Session,
}

/// Begins the next operation when the last has ended and `think` has passed.
pub async fn closed(mut worker: Worker, shift: Rc<Shift>, think: Duration) {
    let mut due = shift.start;
    for sequence in 0.. {
        if due >= shift.end || !wait(&shift, worker.slot, due).await {
            return;
        }
        let taken = Moment::now().0;
        // Without a pause there is nobody whose lateness could be told from the worker's own.
        let intended = if think.is_zero() { taken } else { due.0 };
        let arrival = OpId::new(worker.number, sequence);
        let due_now = Due { arrival: arrival.0, intended, released: taken };
        one(&mut worker, &shift, sequence, (due_now, taken)).await;
        if sequence % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
        due = Moment::now() + think;
    }
}

/// Waits until `due`; false if the worker has to stop.
async fn wait(shift: &Shift, slot: u32, due: Moment) -> bool {
    if Moment::now() < due {
        tokio::select! {
            biased;
            () = shift.closing.wait(slot) => {}
            () = shift.timer.sleep_until(due) => {}
        }
    }
    !shift.closing.raised()
}

/// Takes operations from `queue` until it is closed and empty.
pub async fn open(mut worker: Worker, shift: Rc<Shift>, queue: Rc<Queue>) {
    for sequence in 0.. {
        let due = tokio::select! {
            biased;
            () = shift.closing.wait(worker.slot) => return,
            due = queue.take() => due,
        };
        let Some(due) = due else { return };
        one(&mut worker, &shift, sequence, (due, Moment::now().0)).await;
        if sequence % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
}

async fn one(worker: &mut Worker, shift: &Shift, sequence: u64, (due, taken): (Due, u64)) {
    let op = Op {
        id: OpId::new(worker.number, sequence),
        key: shift.keys.pick(due.arrival, worker.number),
        intended: due.intended,
        released: due.released,
        taken,
    };
    let cancel = Cancel { stop: &shift.cancel, slot: worker.slot };
    perform(&*shift.workload, &op, &mut worker.session, cancel).await;
}
