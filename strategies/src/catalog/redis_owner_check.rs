//! `redis-owner-check`: the owner is compared in the client, then deleted.

use std::time::Duration;

use crate::catalog::redis_set_nx::set_nx;
use crate::lock::{Extension, Lease, LockError, Release};
use crate::options;
use crate::probe::Point;
use crate::redis_polling::{Ask, CLAIMS, Line, PollingOptions, PollingStrategy, Wire};
use crate::strategy::{BackendKind, Entry, Role};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "redis-owner-check",
    summary: "SET NX PX, released by GET, a comparison in the client, and DEL: not atomic",
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
        Ok(Box::new(PollingStrategy { wire: OwnerCheck, polling, options }))
    },
};

const PAGE: &str = "\
Asks whose lock it is, and acts on an answer that may be old by then.

**On the wire.** Acquire: `SET key owner NX PX milliseconds` (1 round trip per try). Release: `GET key`, a comparison in the
client, and `DEL key` if the owner is ours (2 round trips; 1 if it is not). A waiter polls.

**Follows.** Countless snippets in articles and code bases; no library at any version.

**Does not promise.** `GET` and `DEL` are two commands. If the lease ends between them (the point `between-get-and-del` is
exactly there), `DEL` removes the lock of the next holder. It cannot extend a lease, does not renew, and serves waiters in
no order. No re-entry.
";

#[derive(Clone)]
struct OwnerCheck;

impl Wire for OwnerCheck {
    const BACKEND: BackendKind = BackendKind::Redis;

    async fn take(&self, line: &Line<'_>, ask: &Ask) -> Result<Option<Lease>, LockError> {
        set_nx(line, ask).await
    }

    async fn extend(
        &self,
        _line: &Line<'_>,
        _lease: &mut Lease,
        _ttl: Duration,
    ) -> Result<Extension, LockError> {
        Err(LockError::Unsupported("redis-owner-check cannot extend a lease"))
    }

    async fn release(&self, line: &Line<'_>, lease: &Lease) -> Result<Release, LockError> {
        let owner: Option<Vec<u8>> = line.link.query(redis::cmd("GET").arg(&*lease.key)).await?;
        if owner.as_deref() != Some(lease.owner.as_bytes()) {
            return Ok(Release::NotHeld);
        }
        line.probe.point(Point::BetweenGetAndDel).await;
        let removed = line.done(redis::cmd("DEL").arg(&*lease.key)).await?;
        Ok(if removed { Release::Removed } else { Release::NotHeld })
    }
}
