//! `control-in-process`: a fair keyed mutex in the memory of one process.

use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::clock::Moment;
use crate::keyed_mutex::{self, Held};
use crate::lock::{
    AcquireRequest, Acquisition, Extension, Lease, LeasePolicy, LockClient, LockError,
    LockInstance, Mode, Release,
};
use crate::options::{self, NoOptions};
use crate::probe::Probe;
use crate::strategy::{Claims, Entry, InstanceSetup, Role, Strategy};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "control-in-process",
    summary: "a fair mutex in the memory of one process: must be cleared",
    page: PAGE,
    role: Role::Control { guilty: false },
    claims: Claims {
        mutual_exclusion: true,
        no_leak: true,
        fifo: true,
        no_starvation: true,
        wake_up: true,
        tokens: false,
    },
    renews: true,
    needs: &[],
    one_process: true,
    schema: options::schema::<NoOptions>,
    build: |block| {
        options::read::<NoOptions>(block)?;
        Ok(Box::new(InProcess))
    },
};

const PAGE: &str = "\
A control with a known answer: a mutex per key in the memory of the process, shared by all its instances, so its history must
be found clean. A release hands the lock to the longest waiting caller; newcomers queue behind. A caller that goes away frees
what it holds. Any lease policy is accepted, because the lease has no end.

**On the wire.** Nothing.

**Does not promise.** Anything between processes: it takes part only where one agent carries the whole load.
";

struct InProcess;

#[async_trait(?Send)]
impl Strategy for InProcess {
    async fn open(
        &self,
        setup: &InstanceSetup,
        _probe: Rc<dyn Probe>,
    ) -> Result<Box<dyn LockInstance>, LockError> {
        Ok(Box::new(Open { identity: Rc::clone(&setup.identity) }))
    }

    fn options(&self) -> Value {
        options::filled(&NoOptions {})
    }

    fn objects(&self, _key: &str) -> Vec<String> {
        Vec::new()
    }

    /// A release hands over; nobody sleeps beside a free lock.
    fn wake_bound(&self, _lease: LeasePolicy) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}

struct Open {
    identity: Rc<str>,
}

#[async_trait(?Send)]
impl LockInstance for Open {
    async fn client(&mut self, worker: u32) -> Result<Box<dyn LockClient>, LockError> {
        let owners = format!("{}:{worker}", self.identity);
        Ok(Box::new(Caller { owners, asked: 0, held: Vec::new() }))
    }

    async fn close(self: Box<Self>) -> Result<(), LockError> {
        Ok(())
    }
}

/// What it still holds when it is dropped is freed.
struct Caller {
    owners: String,
    asked: u64,
    held: Vec<(Rc<str>, Held)>,
}

#[async_trait(?Send)]
impl LockClient for Caller {
    async fn acquire(&mut self, request: &AcquireRequest) -> Result<Acquisition, LockError> {
        if request.mode != Mode::Exclusive {
            return Err(LockError::Unsupported(
                "this lock is exclusive: it has no readers and no permits",
            ));
        }
        let sent = Moment::now();
        let Some(held) = keyed_mutex::lock(&request.key, request.patience).await else {
            return Ok(Acquisition::Denied);
        };
        self.asked += 1;
        let owner: Rc<str> = format!("{}:{}", self.owners, self.asked).into();
        self.held.push((Rc::clone(&owner), held));
        Ok(Acquisition::Granted(Lease::endless(Rc::clone(&request.key), owner, sent)))
    }

    async fn extend(&mut self, lease: &mut Lease, _ttl: Duration) -> Result<Extension, LockError> {
        let ours = self.held.iter().any(|(owner, _)| *owner == lease.owner);
        Ok(if ours { Extension::Extended } else { Extension::Gone })
    }

    async fn release(&mut self, lease: Lease) -> Result<Release, LockError> {
        let Some(place) = self.held.iter().position(|(owner, _)| *owner == lease.owner) else {
            return Ok(Release::NotHeld);
        };
        self.held.swap_remove(place);
        Ok(Release::Removed)
    }
}
