//! `redis-set-nx`: one SET with NX and PX, and a plain DEL.

use std::time::Duration;

use crate::clock::Moment;
use crate::lock::{Extension, Lease, LockError, Release};
use crate::options;
use crate::redis_polling::{Ask, CLAIMS, Line, PollingOptions, PollingStrategy, Wire, millis};
use crate::strategy::{BackendKind, Entry, Role};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "redis-set-nx",
    summary: "SET NX PX in one command, released by a plain DEL that asks for no owner",
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
        Ok(Box::new(PollingStrategy { wire: SetNx, polling, options }))
    },
};

const PAGE: &str = "\
One atomic command in, one careless command out.

**On the wire.** Acquire: `SET key owner NX PX milliseconds` (1 round trip per try). Release: `DEL key` (1 round trip).
Extend: `SET key owner XX PX milliseconds` (1 round trip). A waiter polls.

**Follows.** ShedLock's Redis provider in its default (`safeUpdate` off), read at 7.9.1-SNAPSHOT (`2495b140`): it releases
with a plain `DEL` and extends without asking for the owner. Its key prefix and its value with host and time are not copied.

**Does not promise.** A crash frees the lock after one lease, but `DEL` asks nobody: a holder whose lease ended deletes the
lock of its successor, and a third caller then runs beside the second. `extend` asks nobody either: it can prolong a
stranger's lock and put its own value in. What `release` reports as removed may have been a stranger's. No renewal, no order
of waiters, no re-entry.
";

#[derive(Clone)]
struct SetNx;

impl Wire for SetNx {
    const BACKEND: BackendKind = BackendKind::Redis;

    async fn take(&self, line: &Line<'_>, ask: &Ask) -> Result<Option<Lease>, LockError> {
        set_nx(line, ask).await
    }

    async fn extend(
        &self,
        line: &Line<'_>,
        lease: &mut Lease,
        ttl: Duration,
    ) -> Result<Extension, LockError> {
        let sent = Moment::now();
        let mut command = redis::cmd("SET");
        command.arg(&*lease.key).arg(&*lease.owner).arg("XX").arg("PX").arg(millis(ttl));
        if !line.set(&command).await? {
            return Ok(Extension::Gone);
        }
        lease.valid_until = sent + ttl;
        Ok(Extension::Extended)
    }

    async fn release(&self, line: &Line<'_>, lease: &Lease) -> Result<Release, LockError> {
        let removed = line.done(redis::cmd("DEL").arg(&*lease.key)).await?;
        Ok(if removed { Release::Removed } else { Release::NotHeld })
    }
}

/// One try with `SET key owner NX PX ms`: the way in of every lock of the ladder from here on.
pub(super) async fn set_nx(line: &Line<'_>, ask: &Ask) -> Result<Option<Lease>, LockError> {
    let mut command = redis::cmd("SET");
    command.arg(&*ask.key).arg(&*ask.owner).arg("NX").arg("PX").arg(millis(ask.ttl));
    let sent = Moment::now();
    let won = line.set(&command).await?;
    Ok(won.then(|| Lease::new(ask.key.clone(), ask.owner.clone(), sent, ask.ttl)))
}
