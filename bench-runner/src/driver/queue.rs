//! The operations of an instance that are due and not yet taken: one queue, first in, first out.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use tokio::sync::Notify;

/// An operation that the pacer has let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Number of its arrival.
    pub arrival: u64,
    /// When it was due, nanoseconds of the run clock.
    pub intended: u64,
    /// When the pacer let it go, nanoseconds of the run clock.
    pub released: u64,
}

/// How many operations may wait at an instance: 24 MiB.
pub const CAPACITY: usize = 1 << 20;

/// One per instance, on its thread.
#[derive(Debug)]
pub struct Queue {
    waiting: RefCell<VecDeque<Due>>,
    capacity: usize,
    closed: Cell<bool>,
    come: Notify,
}

impl Queue {
    /// A queue for so many operations.
    pub fn new(capacity: usize) -> Self {
        Self {
            waiting: RefCell::default(),
            capacity,
            closed: Cell::new(false),
            come: Notify::new(),
        }
    }

    /// Appends `due` and wakes the worker that has been idle longest.
    ///
    /// # Errors
    ///
    /// Hands `due` back when the queue is full.
    pub fn push(&self, due: Due) -> Result<(), Due> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= self.capacity {
            return Err(due);
        }
        waiting.push_back(due);
        self.come.notify_one();
        Ok(())
    }

    /// The operation that has waited longest; waits for one, and is `None` when the queue is closed and empty.
    pub async fn take(&self) -> Option<Due> {
        loop {
            if let Some(due) = self.pop() {
                return Some(due);
            }
            if self.closed.get() {
                return None;
            }
            self.come.notified().await;
        }
    }

    /// The operation that has waited longest, if any.
    pub fn pop(&self) -> Option<Due> {
        self.waiting.borrow_mut().pop_front()
    }

    /// Nothing more will come.
    pub fn close(&self) {
        self.closed.set(true);
        self.come.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{Due, Queue};

    fn due(arrival: u64) -> Due {
        Due { arrival, intended: 0, released: 0 }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn first_in_is_first_out() {
        let queue = Queue::new(8);
        (0..3).for_each(|n| queue.push(due(n)).expect("there is room"));
        queue.close();
        for n in 0..3 {
            assert_eq!(queue.take().await, Some(due(n)));
        }
        assert_eq!(queue.take().await, None);
    }

    #[test]
    fn a_full_queue_hands_back() {
        let queue = Queue::new(1);
        assert_eq!(queue.push(due(0)), Ok(()));
        assert_eq!(queue.push(due(1)), Err(due(1)));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn every_idle_worker_gets_one_or_learns_of_the_end() {
        let queue = Rc::new(Queue::new(8));
        let set = tokio::task::LocalSet::new();
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let queue = Rc::clone(&queue);
            workers.spawn_local_on(async move { queue.take().await }, &set);
        }
        set.run_until(async {
            tokio::task::yield_now().await;
            (0..3).for_each(|n| queue.push(due(n)).expect("there is room"));
            tokio::task::yield_now().await;
            queue.close();
            let mut got = workers.join_all().await;
            got.sort_by_key(|due| due.map(|due| due.arrival));
            assert_eq!(got, [None, Some(due(0)), Some(due(1)), Some(due(2))]);
        })
        .await;
    }
}
