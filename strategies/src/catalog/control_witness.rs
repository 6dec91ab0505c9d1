//! `control-witness`: the witness itself is the lock.

use std::time::Duration;

use crate::catalog::redis_lua::COMPARE_AND_DELETE;
use crate::clock::Moment;
use crate::lock::{Extension, Lease, LockError, Release};
use crate::options;
use crate::redis_polling::{Ask, CLAIMS, Line, PollingOptions, PollingStrategy, Wire};
use crate::redis_script::Script;
use crate::strategy::{BackendKind, Claims, Entry, Role};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "control-witness",
    summary: "a key without expiry on the witness: must be cleared",
    page: PAGE,
    role: Role::Control { guilty: false },
    claims: Claims { no_leak: false, ..CLAIMS },
    renews: true,
    needs: &[BackendKind::Witness],
    one_process: false,
    schema: options::schema::<PollingOptions>,
    build: |block| {
        let polling: PollingOptions = options::read(block)?;
        polling.validate()?;
        let options = options::filled(&polling);
        let wire = OnWitness { compare_and_delete: Script::new(COMPARE_AND_DELETE) };
        Ok(Box::new(PollingStrategy { wire, polling, options }))
    },
};

const PAGE: &str = "\
A control with a known answer: the witness grants the lock itself, so its history must be found clean.

**On the wire.** Acquire: `SET key owner NX` on the witness, without expiry (1 round trip per try). Release: `EVALSHA` of a
script that deletes the key only if it still holds our owner value (1 round trip). A waiter polls. Any lease policy is
accepted, because the lease has no end.

**Follows.** Nothing that anyone should use: it exists to catch a judge that sees violations where there are none.

**Does not promise.** A holder that dies keeps the lock for ever.
";

#[derive(Clone)]
struct OnWitness {
    compare_and_delete: Script,
}

impl Wire for OnWitness {
    const BACKEND: BackendKind = BackendKind::Witness;
    const NEEDS_FIXED_LEASE: bool = false;

    fn scripts(&self) -> Vec<Script> {
        vec![self.compare_and_delete.clone()]
    }

    async fn take(&self, line: &Line<'_>, ask: &Ask) -> Result<Option<Lease>, LockError> {
        let sent = Moment::now();
        let won = line.set(redis::cmd("SET").arg(&*ask.key).arg(&*ask.owner).arg("NX")).await?;
        Ok(won.then(|| Lease::endless(ask.key.clone(), ask.owner.clone(), sent)))
    }

    /// Ours has no end; all there is to learn is whether it is still there.
    async fn extend(
        &self,
        line: &Line<'_>,
        lease: &mut Lease,
        _ttl: Duration,
    ) -> Result<Extension, LockError> {
        let owner: Option<Vec<u8>> = line.link.query(redis::cmd("GET").arg(&*lease.key)).await?;
        let ours = owner.as_deref() == Some(lease.owner.as_bytes());
        Ok(if ours { Extension::Extended } else { Extension::Gone })
    }

    async fn release(&self, line: &Line<'_>, lease: &Lease) -> Result<Release, LockError> {
        let removed = line.run(&self.compare_and_delete, lease, &[]).await?;
        Ok(if removed { Release::Removed } else { Release::NotHeld })
    }
}
