//! `redis-lua`: compare and delete in one atomic step on the server.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::redis_set_nx::set_nx;
use crate::clock::Moment;
use crate::lock::{Extension, Lease, LockError, Release};
use crate::options;
use crate::redis_link::RedisLink;
use crate::redis_links::Connections;
use crate::redis_polling::{Ask, CLAIMS, Line, PollingOptions, PollingStrategy, Wire, millis};
use crate::redis_script::Script;
use crate::retry::Retry;
use crate::strategy::{BackendKind, Entry, Role};
use crate::units::Period;

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "redis-lua",
    summary: "SET NX PX, released by an atomic compare-and-delete: the lock most libraries have",
    page: PAGE,
    role: Role::Lock,
    claims: CLAIMS,
    renews: false,
    needs: &[BackendKind::Redis],
    one_process: false,
    schema: options::schema::<LuaOptions>,
    build: |block| {
        let lua: LuaOptions = options::read(block)?;
        let polling = lua.polling();
        polling.validate()?;
        let options = options::filled(&lua);
        Ok(Box::new(PollingStrategy { wire: Lua::new(lua.delete), polling, options }))
    },
};

const PAGE: &str = "\
The lock that most libraries have: atomic in, atomic out.

**On the wire.** Acquire: `SET key owner NX PX milliseconds` (1 round trip per try). Release: `EVALSHA` of a script that
deletes the key only if it still holds our owner value (1 round trip). Extend: `EVALSHA` of a script that sets a new time to
live under the same condition (1 round trip). Both scripts are loaded when a connection opens; if the server forgot them
(restart, `SCRIPT FLUSH`), one `EVAL` follows, which loads them again, and is counted apart. With `delete: delex` the release is
`DELEX key IFEQ owner` (Redis 8.4), with `delete: delifeq` it is `DELIFEQ key owner` (Valkey 9); a server without the command
is refused before the trial. A waiter polls.

**Follows.** redis-py `Lock` (`34817ce2`) in its commands, redsync (v4.17.0) with one pool and redlock-rb (2.0.6) with one
server in their release. Departs from redis-py where that has surprising defaults: there is always a lease, extending
replaces the time to live and does not add to it, and the pause between tries is an option (redis-py: always 100 ms).

**Does not promise.** It never deletes a stranger's lock. What remains: work that outlives the lease overlaps with the next
holder, since nothing renews it; an asynchronous replica may not know the lock when it is promoted; waiters see a free lock
only at their next poll, in no order. No re-entry: a caller that asks twice waits for itself.
";

/// Deletes the lock if it is ours: 1, or 0.
pub(super) const COMPARE_AND_DELETE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Gives the lock a new time to live if it is ours: 1, or 0.
const COMPARE_AND_EXPIRE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";

/// How the owner is compared and the key deleted in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Delete {
    /// A Lua script: every server has it.
    #[default]
    Script,
    /// `DELEX key IFEQ owner`: Redis 8.4 or newer.
    Delex,
    /// `DELIFEQ key owner`: Valkey 9 or newer.
    Delifeq,
}

/// Options of `redis-lua`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct LuaOptions {
    /// The pause between two tries; `fixed: 5ms` if left out.
    retry: Retry,
    /// Connections of an instance: `per-worker`, `{ shared: n }` or `{ pool: n }`; `per-worker` if left out.
    connections: Connections,
    /// `TCP_NODELAY`; true if left out.
    nodelay: bool,
    /// How long to wait for an answer before the outcome is unknown; 2s if left out.
    response_timeout: Period,
    /// How long connecting may take; 2s if left out.
    connect_timeout: Period,
    /// What releases the lock: `script`, `delex` or `delifeq`; `script` if left out.
    delete: Delete,
}

impl Default for LuaOptions {
    fn default() -> Self {
        let PollingOptions { retry, connections, nodelay, response_timeout, connect_timeout } =
            PollingOptions::default();
        let delete = Delete::default();
        Self { retry, connections, nodelay, response_timeout, connect_timeout, delete }
    }
}

impl LuaOptions {
    fn polling(&self) -> PollingOptions {
        let Self { retry, connections, nodelay, response_timeout, connect_timeout, delete: _ } =
            *self;
        PollingOptions { retry, connections, nodelay, response_timeout, connect_timeout }
    }
}

#[derive(Clone)]
struct Lua {
    delete: Delete,
    compare_and_delete: Script,
    compare_and_expire: Script,
}

impl Lua {
    fn new(delete: Delete) -> Self {
        Self {
            delete,
            compare_and_delete: Script::new(COMPARE_AND_DELETE),
            compare_and_expire: Script::new(COMPARE_AND_EXPIRE),
        }
    }
}

impl Wire for Lua {
    const BACKEND: BackendKind = BackendKind::Redis;

    fn scripts(&self) -> Vec<Script> {
        vec![self.compare_and_delete.clone(), self.compare_and_expire.clone()]
    }

    async fn check(&self, link: &RedisLink) -> Result<(), LockError> {
        match self.delete {
            Delete::Delex if !knows(link, "DELEX").await? => Err(LockError::Unsupported(
                "the server has no DELEX, which came with Redis 8.4: use `delete: script`",
            )),
            Delete::Delifeq if !knows(link, "DELIFEQ").await? => Err(LockError::Unsupported(
                "the server has no DELIFEQ, which came with Valkey 9: use `delete: script`",
            )),
            Delete::Script | Delete::Delex | Delete::Delifeq => Ok(()),
        }
    }

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
        let milliseconds = millis(ttl).to_string();
        if !line.run(&self.compare_and_expire, lease, &[&milliseconds]).await? {
            return Ok(Extension::Gone);
        }
        lease.valid_until = sent + ttl;
        Ok(Extension::Extended)
    }

    async fn release(&self, line: &Line<'_>, lease: &Lease) -> Result<Release, LockError> {
        let (key, owner) = (&*lease.key, &*lease.owner);
        let removed = match self.delete {
            Delete::Script => line.run(&self.compare_and_delete, lease, &[]).await?,
            Delete::Delex => line.done(redis::cmd("DELEX").arg(key).arg("IFEQ").arg(owner)).await?,
            Delete::Delifeq => line.done(redis::cmd("DELIFEQ").arg(key).arg(owner)).await?,
        };
        Ok(if removed { Release::Removed } else { Release::NotHeld })
    }
}

/// Whether the server has a command of that name.
async fn knows(link: &RedisLink, name: &str) -> Result<bool, LockError> {
    let answer: redis::Value = link.query(redis::cmd("COMMAND").arg("INFO").arg(name)).await?;
    match answer {
        redis::Value::Array(commands) => {
            Ok(commands.first().is_some_and(|command| *command != redis::Value::Nil))
        }
        answer => Err(link.unexpected(&answer)),
    }
}
