//! `no-lock`: nothing at all, for the business case that a guard alone protects.

use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::clock::Moment;
use crate::lock::{
    AcquireRequest, Acquisition, Extension, Lease, LeasePolicy, LockClient, LockError,
    LockInstance, Release,
};
use crate::options::{self, NoOptions};
use crate::probe::Probe;
use crate::strategy::{Claims, Entry, InstanceSetup, OptionError, Role, Strategy};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "no-lock",
    summary: "no lock: the guard alone (cas or atomic) keeps the register right",
    page: PAGE,
    role: Role::NoLock,
    claims: NOTHING,
    renews: true,
    needs: &[],
    one_process: false,
    schema: options::schema::<NoOptions>,
    build,
};

const PAGE: &str = "\
No lock at all. Every acquire is granted at once, in memory, and a release does nothing.

It is the business case set beside the locks: with the guard `cas` the register is changed by compare-and-set and retried,
with `atomic` the whole decision is one atomic step on the server. If that is as fast and as safe, the lock is not needed.

**On the wire.** Nothing.

**Does not promise.** Anything. Without a guard it would be `control-none`, which is why it asks for `cas` or `atomic`.
";

/// What no lock promises.
pub(super) const NOTHING: Claims = Claims {
    mutual_exclusion: false,
    no_leak: false,
    fifo: false,
    no_starvation: false,
    wake_up: false,
    tokens: false,
};

/// Takes no options.
pub(super) fn build(block: &Value) -> Result<Box<dyn Strategy>, OptionError> {
    options::read::<NoOptions>(block)?;
    Ok(Box::new(NoLock))
}

struct NoLock;

#[async_trait(?Send)]
impl Strategy for NoLock {
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

    fn wake_bound(&self, _lease: LeasePolicy) -> Option<Duration> {
        None
    }
}

struct Open {
    identity: Rc<str>,
}

#[async_trait(?Send)]
impl LockInstance for Open {
    async fn client(&mut self, worker: u32) -> Result<Box<dyn LockClient>, LockError> {
        Ok(Box::new(Anyone { owners: format!("{}:{worker}", self.identity), asked: 0 }))
    }

    async fn close(self: Box<Self>) -> Result<(), LockError> {
        Ok(())
    }
}

struct Anyone {
    owners: String,
    asked: u64,
}

#[async_trait(?Send)]
impl LockClient for Anyone {
    async fn acquire(&mut self, request: &AcquireRequest) -> Result<Acquisition, LockError> {
        self.asked += 1;
        let owner = format!("{}:{}", self.owners, self.asked).into();
        let lease = Lease::endless(Rc::clone(&request.key), owner, Moment::now());
        Ok(Acquisition::Granted(lease))
    }

    async fn extend(&mut self, _lease: &mut Lease, _ttl: Duration) -> Result<Extension, LockError> {
        Ok(Extension::Extended)
    }

    async fn release(&mut self, _lease: Lease) -> Result<Release, LockError> {
        Ok(Release::Unverified)
    }
}
