//! `lock-only`: the lock itself and nothing else.

use std::time::Duration;

use async_trait::async_trait;
use results::checker::Pool;
use results::event::Outcome;
use results::trial::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strategies::options;
use strategies::strategy::OptionError;
use strategies::units::Period;

use crate::guard::Guard;
use crate::op::Op;
use crate::range::within;
use crate::register::{RegisterError, RegisterSetup};
use crate::session::Session;
use crate::workload::{Entry, Pick, Workload};

/// The entry in the catalogue.
pub(super) static ENTRY: Entry = Entry {
    name: "lock-only",
    summary: "take the lock, hold it, give it back; no register is touched",
    page: PAGE,
    schema: options::schema::<Options>,
    build,
};

const PAGE: &str = "\
One operation:

1. take the lock of its key, waiting at most `patience`; not granted: the operation is **denied**;
2. hold it for `hold`;
3. give it back: the operation is **granted**.

It touches no register, so what it measures is the lock alone.

**Invariant:** no two holds of one key overlap. A hold counts from the moment that acquire returned until the moment
before release is sent.

| option | default | meaning |
|---|---|---|
| `keys` | `1` | how many locks there are; with `pick: own` there is one per worker, and `keys` is left out |
| `pick` | `uniform` | which one an operation asks for: `own` (each worker has its own, so nobody ever waits), `uniform` (any is as likely), `zipf` (few are asked for often; the k-th has a share proportional to 1/k) |
| `hold` | `0ms` | how long the lock is held |

Only the guard `none` applies: there is nothing to guard.
";

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Options {
    /// How many locks there are; one per worker with `pick: own`.
    #[schemars(range(min = 1))]
    keys: u32,
    /// Which lock an operation asks for.
    pick: Choice,
    /// How long it is held.
    hold: Period,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    Own,
    Uniform,
    Zipf,
}

impl Default for Options {
    fn default() -> Self {
        Self { keys: 1, pick: Choice::Uniform, hold: Period(Duration::ZERO) }
    }
}

struct LockOnly {
    options: Options,
}

fn build(block: &Value) -> Result<Box<dyn Workload>, OptionError> {
    let options: Options = options::read(block)?;
    within("keys", u64::from(options.keys), 1..=1_000_000)?;
    if options.pick == Choice::Own && options.keys != 1 {
        return Err(OptionError {
            path: "keys".into(),
            message: "`pick: own` gives each worker a key of its own: leave `keys` out".into(),
        });
    }
    Ok(Box::new(LockOnly { options }))
}

#[async_trait(?Send)]
impl Workload for LockOnly {
    fn options(&self) -> Value {
        options::filled(&self.options)
    }

    fn exposed(&self) -> Value {
        json!({ "keys": 1, "pick": "uniform", "hold": "2ms" })
    }

    fn keys(&self, workers: u32) -> u32 {
        if self.options.pick == Choice::Own { workers } else { self.options.keys }
    }

    fn pick(&self) -> Pick {
        match self.options.pick {
            Choice::Own => Pick::Own,
            Choice::Uniform => Pick::Uniform,
            Choice::Zipf => Pick::Zipf { exponent: 1.0 },
        }
    }

    fn work(&self) -> Duration {
        self.options.hold.0
    }

    fn register(&self) -> bool {
        false
    }

    fn supports(&self, guard: Guard) -> Result<(), &'static str> {
        match guard {
            Guard::None => Ok(()),
            _ => Err("lock-only touches no register, so there is nothing to guard"),
        }
    }

    async fn prepare(&self, _setup: &RegisterSetup) -> Result<(), RegisterError> {
        Ok(())
    }

    async fn operate(&self, op: &Op, session: &mut Session) -> Outcome {
        let held = match session.acquire(op).await {
            Ok(held) => held,
            Err(outcome) => return outcome,
        };
        session.work(self.options.hold.0).await;
        session.release(held).await;
        Outcome::Granted
    }

    async fn aftermath(&self, _setup: &RegisterSetup) -> Result<Option<Vec<Pool>>, RegisterError> {
        Ok(None)
    }

    async fn clear(&self, _setup: &RegisterSetup) -> Result<(), RegisterError> {
        Ok(())
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }
}
