//! What all locks of one Redis server that poll have in common: options, the waiting loop, owner values.
//!
//! A lock of this kind is a [`Wire`]: which commands take, extend and release it. The rest is here.

use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Moment;
use crate::lock::{
    AcquireRequest, Acquisition, Extension, Lease, LeasePolicy, LockClient, LockError,
    LockInstance, Mode, Release,
};
use crate::probe::Probe;
use crate::redis_link::{RedisLink, Transport};
use crate::redis_links::{Connections, LinkOptions, Links, WorkerLink};
use crate::redis_script::Script;
use crate::retry::{Pauses, Retry};
use crate::strategy::{BackendKind, Claims, InstanceSetup, OptionError, Strategy};
use crate::units::Period;

/// What every lock of the ladder promises: exclusion, an end of every lease, and a look at the lock every so often. The
/// order of waiters is left to chance.
pub(crate) const CLAIMS: Claims = Claims {
    mutual_exclusion: true,
    no_leak: true,
    fifo: false,
    no_starvation: false,
    wake_up: true,
    tokens: false,
};

/// Options of a lock that polls one Redis server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct PollingOptions {
    /// The pause between two tries; `fixed: 5ms` if left out.
    pub(crate) retry: Retry,
    /// Connections of an instance: `per-worker`, `{ shared: n }` or `{ pool: n }`; `per-worker` if left out.
    pub(crate) connections: Connections,
    /// `TCP_NODELAY`; true if left out.
    pub(crate) nodelay: bool,
    /// How long to wait for an answer before the outcome is unknown; 2s if left out.
    pub(crate) response_timeout: Period,
    /// How long connecting may take; 2s if left out.
    pub(crate) connect_timeout: Period,
}

impl Default for PollingOptions {
    fn default() -> Self {
        let Transport { nodelay, response_timeout, connect_timeout } = Transport::default();
        Self {
            retry: Retry::default(),
            connections: Connections::default(),
            nodelay,
            response_timeout: Period(response_timeout),
            connect_timeout: Period(connect_timeout),
        }
    }
}

impl PollingOptions {
    /// Whether the numbers make sense.
    pub(crate) fn validate(&self) -> Result<(), OptionError> {
        self.retry.validate("retry")?;
        let timeouts = [
            ("response-timeout", self.response_timeout),
            ("connect-timeout", self.connect_timeout),
        ];
        match timeouts.into_iter().find(|(_, period)| period.0.is_zero()) {
            Some((name, _)) => Err(OptionError {
                path: name.to_owned(),
                message: "a time-out of 0 would fail every command: write 2s or so".to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// How an instance with these options connects.
    pub(crate) fn links(&self) -> LinkOptions {
        LinkOptions {
            connections: self.connections,
            transport: Transport {
                nodelay: self.nodelay,
                response_timeout: self.response_timeout.0,
                connect_timeout: self.connect_timeout.0,
            },
        }
    }
}

/// A connection for the next commands, and who hears of them.
pub(crate) struct Line<'a> {
    pub(crate) link: &'a RedisLink,
    pub(crate) probe: &'a dyn Probe,
}

impl Line<'_> {
    /// Runs a script that answers 1 for done and 0 for "not ours".
    pub(crate) async fn run(
        &self,
        script: &Script,
        lease: &Lease,
        rest: &[&str],
    ) -> Result<bool, LockError> {
        let arguments = [&[&*lease.owner], rest].concat();
        let reloaded = || self.probe.script_reloaded();
        let answer = self.link.run(script, &[&lease.key], &arguments, reloaded).await?;
        self.yes(&answer)
    }

    /// Sends a command that answers 1 or 0.
    pub(crate) async fn done(&self, command: &redis::Cmd) -> Result<bool, LockError> {
        let answer = self.link.query(command).await?;
        self.yes(&answer)
    }

    /// Sends a SET that answers OK or nil.
    pub(crate) async fn set(&self, command: &redis::Cmd) -> Result<bool, LockError> {
        match self.link.query(command).await? {
            redis::Value::Okay => Ok(true),
            redis::Value::Nil => Ok(false),
            answer => Err(self.link.unexpected(&answer)),
        }
    }

    fn yes(&self, answer: &redis::Value) -> Result<bool, LockError> {
        match answer {
            redis::Value::Int(0) => Ok(false),
            redis::Value::Int(1) => Ok(true),
            answer => Err(self.link.unexpected(answer)),
        }
    }
}

/// What one try wants.
pub(crate) struct Ask {
    pub(crate) key: Rc<str>,
    pub(crate) owner: Rc<str>,
    pub(crate) ttl: Duration,
}

/// The commands of one lock.
pub(crate) trait Wire: Clone + 'static {
    /// Where its server is found.
    const BACKEND: BackendKind;

    /// Whether a lease ends by itself, so that nothing but a fixed one can be had.
    const NEEDS_FIXED_LEASE: bool = true;

    /// Scripts that the server is made to know when a connection opens.
    fn scripts(&self) -> Vec<Script> {
        Vec::new()
    }

    /// Whether the server can do what this lock needs.
    async fn check(&self, _link: &RedisLink) -> Result<(), LockError> {
        Ok(())
    }

    /// One try; `None` if the lock is somebody else's.
    async fn take(&self, line: &Line<'_>, ask: &Ask) -> Result<Option<Lease>, LockError>;

    /// Makes the lease last `ttl` from now.
    async fn extend(
        &self,
        line: &Line<'_>,
        lease: &mut Lease,
        ttl: Duration,
    ) -> Result<Extension, LockError>;

    /// Gives the lock back.
    async fn release(&self, line: &Line<'_>, lease: &Lease) -> Result<Release, LockError>;
}

/// A strategy made of a wire and options.
pub(crate) struct PollingStrategy<W> {
    pub(crate) wire: W,
    pub(crate) polling: PollingOptions,
    /// All options, with those of the wire.
    pub(crate) options: Value,
}

#[async_trait(?Send)]
impl<W: Wire> Strategy for PollingStrategy<W> {
    async fn open(
        &self,
        setup: &InstanceSetup,
        probe: Rc<dyn Probe>,
    ) -> Result<Box<dyn LockInstance>, LockError> {
        let address = match W::BACKEND {
            BackendKind::Redis => setup.endpoints.redis.as_ref(),
            BackendKind::Witness => setup.endpoints.witness.as_ref(),
            BackendKind::Folder => None,
        };
        let address = address.ok_or(LockError::Unsupported("no address of its Redis was given"))?;
        let links = Links::open(address, self.polling.links(), self.wire.scripts()).await?;
        Ok(Box::new(PollingInstance {
            wire: self.wire.clone(),
            retry: self.polling.retry,
            links,
            checked: false,
            identity: Rc::clone(&setup.identity),
            seed: setup.seed,
            probe,
        }))
    }

    fn options(&self) -> Value {
        self.options.clone()
    }

    fn objects(&self, key: &str) -> Vec<String> {
        vec![key.to_owned()]
    }

    fn wake_bound(&self, _lease: LeasePolicy) -> Option<Duration> {
        Some(self.polling.retry.longest())
    }
}

struct PollingInstance<W> {
    wire: W,
    retry: Retry,
    links: Links,
    checked: bool,
    identity: Rc<str>,
    seed: u64,
    probe: Rc<dyn Probe>,
}

#[async_trait(?Send)]
impl<W: Wire> LockInstance for PollingInstance<W> {
    async fn client(&mut self, worker: u32) -> Result<Box<dyn LockClient>, LockError> {
        let link = self.links.worker().await?;
        if !self.checked {
            let borrowed = link.borrow(&*self.probe).await;
            self.wire.check(&borrowed).await?;
            self.checked = true;
        }
        Ok(Box::new(PollingClient {
            wire: self.wire.clone(),
            link,
            probe: Rc::clone(&self.probe),
            pauses: Pauses::new(self.retry, self.seed, worker),
            owners: format!("{}:{worker}", self.identity),
            asked: 0,
        }))
    }

    async fn close(self: Box<Self>) -> Result<(), LockError> {
        // Connections end when their last user drops them; there is nobody to say goodbye to.
        Ok(())
    }
}

struct PollingClient<W> {
    wire: W,
    link: WorkerLink,
    probe: Rc<dyn Probe>,
    pauses: Pauses,
    owners: String,
    asked: u64,
}

impl<W> PollingClient<W> {
    /// A value that no other acquire of any instance uses.
    fn next_owner(&mut self) -> Rc<str> {
        self.asked += 1;
        format!("{}:{}", self.owners, self.asked).into()
    }
}

#[async_trait(?Send)]
impl<W: Wire> LockClient for PollingClient<W> {
    async fn acquire(&mut self, request: &AcquireRequest) -> Result<Acquisition, LockError> {
        let ttl = lease_of(request, W::NEEDS_FIXED_LEASE)?;
        let ask = Ask { key: Rc::clone(&request.key), owner: self.next_owner(), ttl };
        let began = Moment::now();
        for tries in 0.. {
            // Lent for one try only: nobody keeps a connection while it sleeps.
            let borrowed = self.link.borrow(&*self.probe).await;
            let line = Line { link: &borrowed, probe: &*self.probe };
            if let Some(lease) = self.wire.take(&line, &ask).await? {
                return Ok(Acquisition::Granted(lease));
            }
            drop(borrowed);
            let pause = self.pauses.pause(tries);
            if Moment::now().since(began) + pause > request.patience {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        Ok(Acquisition::Denied)
    }

    async fn extend(&mut self, lease: &mut Lease, ttl: Duration) -> Result<Extension, LockError> {
        let borrowed = self.link.borrow(&*self.probe).await;
        let line = Line { link: &borrowed, probe: &*self.probe };
        self.wire.extend(&line, lease, ttl).await
    }

    async fn release(&mut self, lease: Lease) -> Result<Release, LockError> {
        let borrowed = self.link.borrow(&*self.probe).await;
        let line = Line { link: &borrowed, probe: &*self.probe };
        self.wire.release(&line, &lease).await
    }
}

/// The length of the lease, if the request is one that the lock knows.
fn lease_of(request: &AcquireRequest, needs_fixed: bool) -> Result<Duration, LockError> {
    if request.mode != Mode::Exclusive {
        return Err(LockError::Unsupported(
            "this lock is exclusive: it has no readers and no permits",
        ));
    }
    match request.lease {
        LeasePolicy::Renewed(_) if needs_fixed => Err(LockError::Unsupported(
            "this lock does not renew its leases: ask for a fixed lease",
        )),
        lease => Ok(lease.ttl()),
    }
}

/// The length of a lease in milliseconds, rounded up: the server must not forget it before the holder does.
pub(crate) fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
