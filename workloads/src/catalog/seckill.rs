//! `seckill`: a flash sale. Many buyers, few things, and a register that would sell one of them twice.

use std::time::Duration;

use async_trait::async_trait;
use results::checker::Pool;
use results::event::Outcome;
use results::trial::Check;
use serde_json::{Value, json};
use strategies::clock::Moment;
use strategies::options;
use strategies::strategy::OptionError;

use crate::guard::Guard;
use crate::op::Op;
use crate::range::within;
use crate::register::{RegisterError, RegisterSetup};
use crate::session::{Held, Session, Standing};
use crate::workload::{Entry, Pick, Workload};

mod sale;
mod settings;

use sale::STEPS;
use settings::Options;

/// The entry in the catalogue.
pub(super) static ENTRY: Entry = Entry {
    name: "seckill",
    summary: "a flash sale: look at the stock, lock, read, work, write, append the order",
    page: PAGE,
    schema: options::schema::<Options>,
    build,
};

const PAGE: &str = "\
One operation is one buyer who wants one piece of one item. The item is bound to the arrival; its number is the lock key.

1. **Look** at the stock, without the lock. Nothing left: the buyer is turned away (**refused**), and the next round of
   that item opens with full stock, unless `rounds` are used up.
2. **Lock** the item, waiting at most `patience`; not granted: **denied**.
3. **Read** the stock of the item in the round that was looked at. Nothing left: give the lock back, **refused**.
4. **Work** for `work`: payment, checks, whatever the business does.
5. **Check** the lease, as carefully as the caller is. If it is gone, nothing is written; the lock is given back and the
   operation is **granted**, because the lock was.
6. **Write** stock = what was read - 1, and append the order, in one round trip.
7. **Give the lock back**: **granted**.

The register is fragile on purpose: it takes whatever stock it is told. What else it does is up to the guard:

| guard | the write |
|---|---|
| `none` | is always taken |
| `cas` | is taken only if the stock is still what was read; otherwise the buyer goes back to step 3, until `patience` is over (then **denied**) |
| `atomic` | steps 3, 5 and 6 are one script after the work: it takes a piece if there is one, otherwise **refused** |

**Invariant**, for each item and round, after everything has come to rest: the number of distinct orders is at most
`stock` (else *oversell*), and each order that was confirmed to its buyer is among the orders and counted in the stock (else
*lost update*). The id of an order is that of its operation, so an order that was submitted twice shows as a duplicate.

| option | default | meaning |
|---|---|---|
| `items` | `1` | how many items are sold, each under a lock of its own |
| `stock` | `100` | pieces of each item in each round |
| `work` | `1ms` | how long the business works under the lock |
| `rounds` | `unlimited` | how often an item is sold out before it stays so |
";

struct Seckill {
    options: Options,
}

fn build(block: &Value) -> Result<Box<dyn Workload>, OptionError> {
    let options: Options = options::read(block)?;
    within("items", u64::from(options.items), 1..=100_000)?;
    within("stock", u64::from(options.stock), 1..=1_000_000_000)?;
    Ok(Box::new(Seckill { options }))
}

#[async_trait(?Send)]
impl Workload for Seckill {
    fn options(&self) -> Value {
        options::filled(&self.options)
    }

    fn exposed(&self) -> Value {
        json!({ "items": 1, "stock": 100, "work": "2ms", "rounds": "unlimited" })
    }

    fn keys(&self, _workers: u32) -> u32 {
        self.options.items
    }

    fn pick(&self) -> Pick {
        Pick::Uniform
    }

    fn work(&self) -> Duration {
        self.options.work.0
    }

    fn register(&self) -> bool {
        true
    }

    fn supports(&self, guard: Guard) -> Result<(), &'static str> {
        match guard {
            Guard::None | Guard::Cas | Guard::Atomic => Ok(()),
            Guard::Fence => Err("seckill has no fenced register"),
        }
    }

    async fn prepare(&self, setup: &RegisterSetup) -> Result<(), RegisterError> {
        sale::open(setup, &self.options).await
    }

    async fn operate(&self, op: &Op, session: &mut Session) -> Outcome {
        let Options { stock, rounds, .. } = self.options;
        let shop = [op.key, rounds.0.unwrap_or(0), stock].map(i64::from);
        let look = match session.look(op, &STEPS.look, &shop).await {
            Ok(look) => look,
            Err(outcome) => return outcome,
        };
        if look.value <= 0 {
            return Outcome::Refused;
        }
        let held = match session.acquire(op).await {
            Ok(held) => held,
            Err(outcome) => return outcome,
        };
        let pool = [i64::from(op.key), look.round];
        let bought = match session.guard() {
            Guard::Atomic => self.take(pool, &held, session).await,
            _ => self.buy(pool, &held, session).await,
        };
        session.release(held).await;
        bought.unwrap_or_else(|outcome| outcome)
    }

    async fn aftermath(&self, setup: &RegisterSetup) -> Result<Option<Vec<Pool>>, RegisterError> {
        sale::pools(setup, &self.options).await.map(Some)
    }

    async fn clear(&self, setup: &RegisterSetup) -> Result<(), RegisterError> {
        sale::clear(setup, &self.options).await
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check::Oversell, Check::LostUpdate]
    }
}

impl Seckill {
    /// Read, work, write; again after a conflict. Both arms are how the operation ends.
    async fn buy(
        &self,
        [item, round]: [i64; 2],
        held: &Held,
        session: &Session,
    ) -> Result<Outcome, Outcome> {
        let give_up = Moment::now() + session.patience();
        let write = match session.guard() {
            Guard::Cas => &STEPS.exchange,
            _ => &STEPS.put,
        };
        loop {
            let seen = session.read(held, &STEPS.read, &[item, round]).await?.value;
            if seen <= 0 {
                return Ok(Outcome::Refused);
            }
            session.work(self.options.work.0).await;
            if session.check(held) == Standing::Gone {
                session.leave(held, &STEPS.leave, &[item, round]).await;
                return Ok(Outcome::Granted);
            }
            if session.write(held, write, &[item, round, seen]).await?.applied {
                return Ok(Outcome::Granted);
            }
            if Moment::now() >= give_up {
                session.leave(held, &STEPS.leave, &[item, round]).await;
                return Ok(Outcome::Denied);
            }
        }
    }

    /// Work, then the whole decision in one step.
    async fn take(
        &self,
        pool: [i64; 2],
        held: &Held,
        session: &Session,
    ) -> Result<Outcome, Outcome> {
        session.work(self.options.work.0).await;
        let taken = session.write(held, &STEPS.take, &pool).await?;
        Ok(if taken.applied { Outcome::Granted } else { Outcome::Refused })
    }
}
