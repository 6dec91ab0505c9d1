//! Waiting more exactly than the runtime's timer, whose step is a whole millisecond.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use strategies::clock::Moment;
use tokio::io::unix::AsyncFd;

/// A timerfd on `CLOCK_MONOTONIC`, within some tens of microseconds on an idle machine.
#[derive(Debug)]
pub struct Alarm {
    timer: AsyncFd<Descriptor>,
}

/// What tokio can wait for, with the timer that it belongs to.
#[derive(Debug)]
struct Descriptor(TimerFd);

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// A timer that is not set. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the process has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        // `AsyncFd::register`, which would take its place, is unsafe; ours owns its descriptor for as long as it lives.
        #[allow(deprecated, reason = "the successor is an unsafe function")]
        let timer = AsyncFd::new(Descriptor(timer))?;
        Ok(Self { timer })
    }

    /// Waits until `moment`; returns at once if it is past.
    ///
    /// # Errors
    ///
    /// When the kernel refuses the timer, which it does for no moment that the clock can reach.
    pub async fn until(&self, moment: Moment) -> io::Result<()> {
        self.set(moment)?;
        while Moment::now() < moment {
            poll_fn(|cx| self.poll_ring(cx)).await?;
        }
        Ok(())
    }

    fn set(&self, moment: Moment) -> io::Result<()> {
        // Zero would disarm the timer.
        let at = Duration::from_nanos(moment.0.max(1));
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        Ok(self.timer.get_ref().0.set(Expiration::OneShot(TimeSpec::from_duration(at)), flags)?)
    }

    /// Ready once the timer has rung since the last time.
    fn poll_ring(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = match self.timer.poll_read_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => return Poll::Pending,
            };
            let mut count = [0; 8];
            match nix::unistd::read(self.timer.get_ref(), &mut count) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(nix::errno::Errno::EAGAIN) => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

/// One alarm for all sleepers of an instance, so that 5,000 workers need one file descriptor.
#[derive(Debug)]
pub struct Timer {
    alarm: Alarm,
    sleepers: RefCell<Sleepers>,
}

#[derive(Debug, Default)]
struct Sleepers {
    /// Due moment and slot, earliest first.
    due: BinaryHeap<Reverse<(Moment, usize)>>,
    slots: Vec<Option<Waker>>,
    free: Vec<usize>,
    driver: Option<Waker>,
    armed: Option<Moment>,
}

impl Timer {
    /// A timer without sleepers. Must be called within a tokio runtime; rings only while [`Timer::drive`] is polled.
    ///
    /// # Errors
    ///
    /// When the process has no file descriptor left.
    pub fn new() -> io::Result<Rc<Self>> {
        Ok(Rc::new(Self { alarm: Alarm::new()?, sleepers: RefCell::default() }))
    }

    /// Wakes sleepers when they are due, for ever; run it as a task of the instance.
    ///
    /// # Errors
    ///
    /// When the kernel refuses the timer.
    pub async fn drive(self: Rc<Self>) -> io::Result<()> {
        poll_fn(|cx| self.poll_drive(cx)).await
    }

    fn poll_drive(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sleepers.borrow_mut().driver = Some(cx.waker().clone());
        loop {
            let Some(next) = self.sleepers.borrow_mut().wake_due(Moment::now()) else {
                self.sleepers.borrow_mut().armed = None;
                return Poll::Pending;
            };
            if self.sleepers.borrow().armed != Some(next) {
                self.alarm.set(next)?;
                self.sleepers.borrow_mut().armed = Some(next);
            }
            match self.alarm.poll_ring(cx) {
                Poll::Ready(Ok(())) => self.sleepers.borrow_mut().armed = None,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Sleeps for `duration`; a zero duration does not sleep at all.
    pub async fn sleep(&self, duration: Duration) {
        if !duration.is_zero() {
            self.sleep_until(Moment::now() + duration).await;
        }
    }

    /// Sleeps until `moment`; dropped sleepers are forgotten.
    pub async fn sleep_until(&self, moment: Moment) {
        let mut sleeper = Sleeper { timer: self, slot: None };
        poll_fn(|cx| {
            if Moment::now() >= moment {
                return Poll::Ready(());
            }
            sleeper.lie_down(moment, cx);
            Poll::Pending
        })
        .await;
    }
}

impl Sleepers {
    /// Wakes everybody who is due; when the next one will be.
    fn wake_due(&mut self, now: Moment) -> Option<Moment> {
        while let Some(Reverse((due, slot))) = self.due.peek().copied() {
            if due > now {
                return Some(due);
            }
            self.due.pop();
            match self.slots[slot].take() {
                Some(waker) => waker.wake(),
                // Its sleeper was dropped; only now may the slot be used again.
                None => self.free.push(slot),
            }
        }
        None
    }
}

/// Gives its slot back however the sleep ends.
struct Sleeper<'a> {
    timer: &'a Timer,
    slot: Option<usize>,
}

impl Sleeper<'_> {
    fn lie_down(&mut self, moment: Moment, cx: &Context<'_>) {
        let mut sleepers = self.timer.sleepers.borrow_mut();
        if let Some(slot) = self.slot.filter(|slot| sleepers.slots[*slot].is_some()) {
            sleepers.slots[slot] = Some(cx.waker().clone());
            return;
        }
        let slot = self.slot.or_else(|| sleepers.free.pop()).unwrap_or_else(|| {
            sleepers.slots.push(None);
            sleepers.slots.len() - 1
        });
        self.slot = Some(slot);
        sleepers.slots[slot] = Some(cx.waker().clone());
        sleepers.due.push(Reverse((moment, slot)));
        if sleepers.armed.is_none_or(|armed| moment < armed)
            && let Some(driver) = &sleepers.driver
        {
            driver.wake_by_ref();
        }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        let mut sleepers = self.timer.sleepers.borrow_mut();
        if sleepers.slots[slot].take().is_none() {
            // Already woken: its entry in the heap is gone.
            sleepers.free.push(slot);
        }
    }
}
