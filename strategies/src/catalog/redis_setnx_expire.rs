//! `redis-setnx-expire`: SETNX, then EXPIRE.

use std::time::Duration;

use crate::clock::Moment;
use crate::lock::{Extension, Lease, LockError, Release};
use crate::options;
use crate::probe::Point;
use crate::redis_polling::{Ask, CLAIMS, Line, PollingOptions, PollingStrategy, Wire, millis};
use crate::strategy::{BackendKind, Entry, Role};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "redis-setnx-expire",
    summary: "SETNX then EXPIRE, released by DEL: the historical pattern, with a crash window",
    page: PAGE,
    role: Role::Lock,
    claims: CLAIMS,
    renews: false,
    needs: &[BackendKind::Redis],
    one_process: false,
    schema: options::schema::<PollingOptions>,
    build: |block| {
        let polling: PollingOptions = options::read(block)?;
        polling.validate()?;
        let options = options::filled(&polling);
        Ok(Box::new(PollingStrategy { wire: SetnxExpire, polling, options }))
    },
};

const PAGE: &str = "\
The historical pattern, from before `SET` had options: two commands, with a window between them.

**On the wire.** Acquire: `SETNX key owner`; if it answers 1, `EXPIRE key seconds` (2 round trips; 1 when the lock is
taken). Release: `DEL key` (1 round trip). `EXPIRE` knows whole seconds only: for a lease with a fraction of a second
`PEXPIRE key milliseconds` stands in for it. A waiter polls. The lease counts from before `EXPIRE` was sent, because only
then does the time to live begin.

**Follows.** The recipe of old blog posts and of the Redis documentation of `SETNX`; no library at any version.

**Does not promise.** A client that dies between the two commands leaves a key without expiry, and nobody can lock again
until someone deletes it by hand (the point `after-setnx` is exactly there). If `EXPIRE` is refused or its answer is lost,
the outcome of the acquire is unknown: the key may stand for ever. `DEL` asks nobody: an expired holder deletes the lock of
its successor. It cannot extend a lease, does not renew, and serves waiters in no order.
";

#[derive(Clone)]
struct SetnxExpire;

impl Wire for SetnxExpire {
    const BACKEND: BackendKind = BackendKind::Redis;

    async fn take(&self, line: &Line<'_>, ask: &Ask) -> Result<Option<Lease>, LockError> {
        let sent = Moment::now();
        if !line.done(redis::cmd("SETNX").arg(&*ask.key).arg(&*ask.owner)).await? {
            return Ok(None);
        }
        line.probe.point(Point::AfterSetnx).await;
        let expire_sent = Moment::now();
        // Whether the key was still there is not looked at: the pattern does not either.
        line.done(&expire(ask)).await.map_err(|error| perhaps_held(line, &error))?;
        let mut lease = Lease::new(ask.key.clone(), ask.owner.clone(), sent, ask.ttl);
        // The time to live begins when EXPIRE is carried out, which is after it was sent.
        lease.valid_until = expire_sent + ask.ttl;
        Ok(Some(lease))
    }

    async fn extend(
        &self,
        _line: &Line<'_>,
        _lease: &mut Lease,
        _ttl: Duration,
    ) -> Result<Extension, LockError> {
        Err(LockError::Unsupported("redis-setnx-expire cannot extend a lease"))
    }

    async fn release(&self, line: &Line<'_>, lease: &Lease) -> Result<Release, LockError> {
        let removed = line.done(redis::cmd("DEL").arg(&*lease.key)).await?;
        Ok(if removed { Release::Removed } else { Release::NotHeld })
    }
}

/// EXPIRE knows seconds only; PEXPIRE stands in for it where the lease has a fraction of one.
fn expire(ask: &Ask) -> redis::Cmd {
    let milliseconds = millis(ask.ttl);
    let (name, amount) = match milliseconds % 1000 {
        0 => ("EXPIRE", milliseconds / 1000),
        _ => ("PEXPIRE", milliseconds),
    };
    let mut command = redis::cmd(name);
    command.arg(&*ask.key).arg(amount);
    command
}

/// SETNX was answered: whatever became of EXPIRE, the key stands, perhaps for ever.
fn perhaps_held(line: &Line<'_>, error: &LockError) -> LockError {
    LockError::Lost {
        server: line.link.server().to_owned(),
        reason: format!("the key was set, its expiry was not: {error}"),
    }
}
