//! A signal that every worker of an instance can wait for, cheaper than a channel for each operation.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Raised once, on the thread of the instance; each worker waits in a slot of its own.
#[derive(Debug)]
pub struct Stop {
    raised: Cell<bool>,
    wakers: RefCell<Vec<Option<Waker>>>,
}

impl Stop {
    /// A signal for so many workers, not raised.
    pub fn new(slots: u32) -> Self {
        Self { raised: Cell::new(false), wakers: RefCell::new(vec![None; slots as usize]) }
    }

    /// Whether it is raised.
    pub fn raised(&self) -> bool {
        self.raised.get()
    }

    /// Raises it and wakes everybody who waits.
    pub fn raise(&self) {
        self.raised.set(true);
        let wakers = std::mem::take(&mut *self.wakers.borrow_mut());
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Ready once raised; otherwise `cx` is woken then. One waiter per slot.
    pub fn poll(&self, slot: u32, cx: &mut Context<'_>) -> Poll<()> {
        if self.raised.get() {
            return Poll::Ready(());
        }
        let mut wakers = self.wakers.borrow_mut();
        let waker = &mut wakers[slot as usize];
        // A worker is one task, so its waker stays the same and is cloned once.
        if !waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Waits until it is raised. One waiter per slot.
    pub async fn wait(&self, slot: u32) {
        poll_fn(|cx| self.poll(slot, cx)).await;
    }
}
