//! `control-flock`: flock(2) on one file per key, across the processes of a host.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Moment;
use crate::lock::{
    AcquireRequest, Acquisition, Extension, Lease, LeasePolicy, LockClient, LockError,
    LockInstance, Mode, Release,
};
use crate::options;
use crate::probe::Probe;
use crate::retry::{Pauses, Retry};
use crate::strategy::{BackendKind, Claims, Entry, InstanceSetup, Role, Strategy};
use crate::units::Period;

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "control-flock",
    summary: "flock(2) on a file per key, across processes: must be cleared",
    page: PAGE,
    role: Role::Control { guilty: false },
    claims: Claims {
        mutual_exclusion: true,
        no_leak: true,
        fifo: false,
        no_starvation: false,
        wake_up: true,
        tokens: false,
    },
    renews: true,
    needs: &[BackendKind::Folder],
    one_process: false,
    schema: options::schema::<FlockOptions>,
    build: |block| {
        let options: FlockOptions = options::read(block)?;
        options.retry.validate("retry")?;
        Ok(Box::new(FlockStrategy { options }))
    },
};

const PAGE: &str = "\
A control with a known answer: `flock(2)` on one file per key in a private folder, so its history must be found clean across
all processes of a host. A waiter polls and never blocks its thread. The kernel frees the lock of a process that dies. Any
lease policy is accepted, because the lease has no end. Files stay in the folder, which goes with the trial.

**On the wire.** Nothing; one `open` and one `flock` system call per try, one `close` per release.

**Does not promise.** Anything between hosts, any order of waiters.
";

/// Options of `control-flock`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct FlockOptions {
    /// The pause between two tries; `fixed: 1ms` if left out.
    retry: Retry,
}

impl Default for FlockOptions {
    fn default() -> Self {
        Self { retry: Retry::Fixed(Period::millis(1)) }
    }
}

struct FlockStrategy {
    options: FlockOptions,
}

#[async_trait(?Send)]
impl Strategy for FlockStrategy {
    async fn open(
        &self,
        setup: &InstanceSetup,
        _probe: Rc<dyn Probe>,
    ) -> Result<Box<dyn LockInstance>, LockError> {
        let folder = setup.endpoints.folder.clone();
        let folder = folder.ok_or(LockError::Unsupported("no folder for its files was given"))?;
        Ok(Box::new(Open {
            folder: folder.into(),
            identity: Rc::clone(&setup.identity),
            seed: setup.seed,
            retry: self.options.retry,
        }))
    }

    fn options(&self) -> Value {
        options::filled(&self.options)
    }

    fn objects(&self, _key: &str) -> Vec<String> {
        Vec::new()
    }

    fn wake_bound(&self, _lease: LeasePolicy) -> Option<Duration> {
        Some(self.options.retry.longest())
    }
}

struct Open {
    folder: Rc<Path>,
    identity: Rc<str>,
    seed: u64,
    retry: Retry,
}

#[async_trait(?Send)]
impl LockInstance for Open {
    async fn client(&mut self, worker: u32) -> Result<Box<dyn LockClient>, LockError> {
        Ok(Box::new(Caller {
            folder: Rc::clone(&self.folder),
            owners: format!("{}:{worker}", self.identity),
            asked: 0,
            pauses: Pauses::new(self.retry, self.seed, worker),
            held: Vec::new(),
        }))
    }

    async fn close(self: Box<Self>) -> Result<(), LockError> {
        Ok(())
    }
}

/// Closing a file frees its lock: what it still holds when it is dropped, or dies, is free.
struct Caller {
    folder: Rc<Path>,
    owners: String,
    asked: u64,
    pauses: Pauses,
    held: Vec<(Rc<str>, Flock<File>)>,
}

impl Caller {
    fn failed(&self, reason: &dyn std::fmt::Display) -> LockError {
        LockError::Unreachable {
            server: self.folder.display().to_string(),
            reason: reason.to_string(),
        }
    }

    /// Opens the file of a key anew: locks belong to open files, so two workers must not share one.
    fn open(&self, key: &str) -> Result<File, LockError> {
        let path = file_of(&self.folder, key);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        opened.map_err(|error| self.failed(&error))
    }

    fn granted(&mut self, key: &Rc<str>, lock: Flock<File>, sent: Moment) -> Acquisition {
        self.asked += 1;
        let owner: Rc<str> = format!("{}:{}", self.owners, self.asked).into();
        self.held.push((Rc::clone(&owner), lock));
        Acquisition::Granted(Lease::endless(Rc::clone(key), owner, sent))
    }
}

#[async_trait(?Send)]
impl LockClient for Caller {
    async fn acquire(&mut self, request: &AcquireRequest) -> Result<Acquisition, LockError> {
        if request.mode != Mode::Exclusive {
            return Err(LockError::Unsupported(
                "this lock is exclusive: it has no readers and no permits",
            ));
        }
        let began = Moment::now();
        let mut file = self.open(&request.key)?;
        for tries in 0.. {
            let sent = Moment::now();
            // Never blocks: the thread belongs to all workers of the instance.
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(self.granted(&request.key, lock, sent)),
                Err((file, Errno::EWOULDBLOCK | Errno::EINTR)) => file,
                Err((_, error)) => return Err(self.failed(&error)),
            };
            let pause = self.pauses.pause(tries);
            if Moment::now().since(began) + pause > request.patience {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        Ok(Acquisition::Denied)
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

/// The file of a key: letters, digits and dashes stand as they are, every other byte as `%` and two hex digits.
fn file_of(folder: &Path, key: &str) -> PathBuf {
    use std::fmt::Write;

    let mut name = String::with_capacity(key.len() + 5);
    for byte in key.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            name.push(char::from(*byte));
        } else {
            write!(name, "%{byte:02x}").expect("writing to a string cannot fail");
        }
    }
    folder.join(name + ".lock")
}
