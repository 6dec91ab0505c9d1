//! A fair mutex per key, shared by all threads of this process.
//!
//! A release hands the lock to the longest waiter without ever showing it as free, so nobody barges in. Only keys that
//! are held take memory.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// Shards of the key map: more than threads that load a machine, so that they seldom meet.
const SHARDS: usize = 64;

/// Held keys, each with those who wait for it.
type Shard = HashMap<Arc<str>, VecDeque<oneshot::Sender<()>>>;

static KEYS: LazyLock<[Mutex<Shard>; SHARDS]> =
    LazyLock::new(|| std::array::from_fn(|_| Mutex::default()));

/// A key that is held; dropping it hands it to the longest waiter or frees it.
#[derive(Debug)]
pub(crate) struct Held {
    key: Arc<str>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut shard = shard(&self.key);
        let Some(waiters) = shard.get_mut(&self.key) else { return };
        while let Some(waiter) = waiters.pop_front() {
            // A waiter that has gone does not take it.
            if waiter.send(()).is_ok() {
                return;
            }
        }
        shard.remove(&self.key);
    }
}

/// Takes `key`, waiting at most `patience`; `None` if somebody else held it all the time.
///
/// # Cancellation
///
/// A dropped future holds nothing and waits for nothing.
pub(crate) async fn lock(key: &str, patience: Duration) -> Option<Held> {
    let mut waiting = match enter(key, patience) {
        Attempt::Held(held) => return Some(held),
        Attempt::Denied => return None,
        Attempt::Queued(waiting) => waiting,
    };
    let handed_over = tokio::time::timeout(patience, &mut waiting.turn).await;
    match handed_over {
        Ok(Ok(())) => Some(Held { key: Arc::clone(&waiting.key) }),
        // Dropping `waiting` passes on a turn that came just now.
        Ok(Err(_)) | Err(_) => None,
    }
}

enum Attempt {
    Held(Held),
    Denied,
    Queued(Waiting),
}

fn enter(key: &str, patience: Duration) -> Attempt {
    let key: Arc<str> = key.into();
    match shard(&key).entry(Arc::clone(&key)) {
        Entry::Vacant(vacant) => {
            vacant.insert(VecDeque::new());
            Attempt::Held(Held { key })
        }
        Entry::Occupied(_) if patience.is_zero() => Attempt::Denied,
        Entry::Occupied(mut occupied) => {
            let (sender, turn) = oneshot::channel();
            occupied.get_mut().push_back(sender);
            Attempt::Queued(Waiting { key, turn })
        }
    }
}

/// A place in the queue of a key.
struct Waiting {
    key: Arc<str>,
    turn: oneshot::Receiver<()>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // After `close` no turn can come; one that came before and was not taken is passed on.
        self.turn.close();
        if self.turn.try_recv().is_ok() {
            drop(Held { key: Arc::clone(&self.key) });
        }
    }
}

fn shard(key: &str) -> MutexGuard<'static, Shard> {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let place = usize::try_from(hasher.finish() % 64).expect("below 64");
    KEYS[place].lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn a_waiter_that_gave_up_does_not_take_the_lock_along() {
        runtime().block_on(async {
            let held = lock("gave-up", Duration::ZERO).await.unwrap();
            assert!(lock("gave-up", Duration::from_millis(5)).await.is_none());
            drop(held);
            assert!(lock("gave-up", Duration::ZERO).await.is_some());
        });
    }

    #[test]
    fn a_turn_that_nobody_took_is_passed_on() {
        runtime().block_on(async {
            let held = lock("passed-on", Duration::ZERO).await.unwrap();
            let mut first = Box::pin(lock("passed-on", LONG));
            let mut second = Box::pin(lock("passed-on", LONG));
            assert!(futures_poll(first.as_mut()).await.is_none());
            assert!(futures_poll(second.as_mut()).await.is_none());
            drop(held);
            drop(first);
            assert!(second.await.is_some());
            assert!(lock("passed-on", Duration::ZERO).await.is_some());
        });
    }

    #[test]
    fn waiters_are_served_in_order_and_newcomers_queue() {
        runtime().block_on(async {
            let held = lock("in-order", Duration::ZERO).await.unwrap();
            let mut first = Box::pin(lock("in-order", LONG));
            assert!(futures_poll(first.as_mut()).await.is_none());
            drop(held);
            assert!(lock("in-order", Duration::ZERO).await.is_none(), "a newcomer barged in");
            assert!(first.await.is_some());
        });
    }

    /// Polls once.
    async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(move |context| {
            std::task::Poll::Ready(match future.as_mut().poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
