//! The connections of one instance, and how its workers share them.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::clock::Moment;
use crate::lock::LockError;
use crate::probe::Probe;
use crate::redis_link::{RedisLink, Transport};
use crate::redis_script::Script;
use crate::strategy::RedisAddress;

/// How many connections an instance opens, and who uses which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Each worker has its own.
    #[default]
    PerWorker,
    /// The workers of an instance are multiplexed onto so many.
    Shared(NonZeroU32),
    /// So many, each lent to one worker at a time; waiting for one is reported apart.
    Pool(NonZeroU32),
}

/// How an instance connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkOptions {
    /// How many connections, and who uses which.
    pub connections: Connections,
    /// How each of them behaves.
    pub transport: Transport,
}

/// The connections of one instance.
#[derive(Debug)]
pub struct Links {
    address: RedisAddress,
    options: LinkOptions,
    scripts: Vec<Script>,
    shared: Vec<Rc<RedisLink>>,
    pool: Option<Rc<Pool>>,
    handed_out: usize,
}

impl Links {
    /// Opens the connections that are not a worker's own, and makes the server know `scripts`.
    pub async fn open(
        address: &RedisAddress,
        options: LinkOptions,
        scripts: Vec<Script>,
    ) -> Result<Self, LockError> {
        let (shared, pooled) = match options.connections {
            Connections::PerWorker => (0, 0),
            Connections::Shared(count) => (count.get(), 0),
            Connections::Pool(count) => (0, count.get()),
        };
        let mut links = Self {
            address: address.clone(),
            options,
            scripts,
            shared: Vec::new(),
            pool: None,
            handed_out: 0,
        };
        for _ in 0..shared {
            let link = links.connect().await?;
            links.shared.push(link);
        }
        if pooled > 0 {
            let mut idle = Vec::new();
            for _ in 0..pooled {
                idle.push(links.connect().await?);
            }
            links.pool = Some(Rc::new(Pool {
                permits: Semaphore::new(idle.len()),
                idle: RefCell::new(idle),
            }));
        }
        Ok(links)
    }

    /// The way to the server for one more worker.
    pub async fn worker(&mut self) -> Result<WorkerLink, LockError> {
        if let Some(pool) = &self.pool {
            return Ok(WorkerLink::Pooled(Rc::clone(pool)));
        }
        if self.shared.is_empty() {
            return Ok(WorkerLink::Fixed(self.connect().await?));
        }
        let link = Rc::clone(&self.shared[self.handed_out % self.shared.len()]);
        self.handed_out += 1;
        Ok(WorkerLink::Fixed(link))
    }

    async fn connect(&self) -> Result<Rc<RedisLink>, LockError> {
        let link = RedisLink::open(&self.address, self.options.transport).await?;
        for script in &self.scripts {
            link.load(script).await?;
        }
        Ok(Rc::new(link))
    }
}

/// A worker's way to the server.
#[derive(Debug, Clone)]
pub enum WorkerLink {
    /// Always the same connection.
    Fixed(Rc<RedisLink>),
    /// Whichever is idle.
    Pooled(Rc<Pool>),
}

impl WorkerLink {
    /// A connection for the next round trips; `probe` hears of it if it had to be waited for.
    pub async fn borrow(&self, probe: &dyn Probe) -> Borrowed<'_> {
        match self {
            Self::Fixed(link) => Borrowed { link: Rc::clone(link), pool: None },
            Self::Pooled(pool) => pool.borrow(probe).await,
        }
    }
}

/// Connections that are lent to one worker at a time, in the order of asking.
#[derive(Debug)]
pub struct Pool {
    permits: Semaphore,
    idle: RefCell<Vec<Rc<RedisLink>>>,
}

impl Pool {
    async fn borrow(&self, probe: &dyn Probe) -> Borrowed<'_> {
        let permit = if let Ok(permit) = self.permits.try_acquire() {
            permit
        } else {
            let asked = Moment::now();
            let permit = self.permits.acquire().await.expect("the semaphore is never closed");
            probe.pool_wait(Moment::now().since(asked));
            permit
        };
        let link = self.idle.borrow_mut().pop().expect("there are as many permits as links");
        Borrowed { link, pool: Some((self, permit)) }
    }
}

/// A connection on loan; goes back to its pool when dropped.
#[derive(Debug)]
pub struct Borrowed<'a> {
    link: Rc<RedisLink>,
    pool: Option<(&'a Pool, SemaphorePermit<'a>)>,
}

impl Deref for Borrowed<'_> {
    type Target = RedisLink;

    fn deref(&self) -> &RedisLink {
        &self.link
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // The link is back before the permit is, which is dropped after this body.
        if let Some((pool, _)) = &self.pool {
            pool.idle.borrow_mut().push(Rc::clone(&self.link));
        }
    }
}
