//! The register of a flash sale: its keys, its steps, and what is left of it afterwards.
//!
//! Keys, all under the prefix of the trial: `seq` (number of the last step), `round:<item>` (the open round),
//! `stock:<item>:<round>`, `orders:<item>:<round>` (ids of operations), `pool:<item>:<round>` (hash: `first` look,
//! sold `out`, both in microseconds of the witness's clock; `turned` away), `present:<item>` (who is in the section).

use std::collections::HashMap;
use std::sync::LazyLock;

use redis::{Pipeline, Value, pipe};
use results::checker::Pool;
use results::event::OpId;

use super::settings::Options;
use crate::register::{Register, RegisterError, RegisterSetup, Step};

/// How many pools are read in one round trip.
const BATCH: usize = 64;

/// What buyers do at the register. Arguments: `ARGV[1]` the operation, then item, round and more.
#[derive(Debug)]
pub(super) struct Steps {
    /// Item, rounds (0: no limit), full stock: its open round and stock; turns away and opens the next round if there
    /// is nothing left.
    pub(super) look: Step,
    /// Item, round: enters the section and reads the stock; leaves again if there is nothing left.
    pub(super) read: Step,
    /// Item, round, stock that was read: writes one less, whatever the stock is now; leaves.
    pub(super) put: Step,
    /// Item, round, stock that was read: writes one less and leaves if the stock is still that, else refuses.
    pub(super) exchange: Step,
    /// Item, round: takes a piece if there is one, else refuses.
    pub(super) take: Step,
    /// Item, round: leaves the section.
    pub(super) leave: Step,
}

/// The steps, whose scripts depend on no option.
pub(super) static STEPS: LazyLock<Steps> = LazyLock::new(|| Steps {
    look: Step::new(&[LOOK]),
    read: Step::new(&[PLACE, READ]),
    put: Step::new(&[PLACE, SELL, PUT]),
    exchange: Step::new(&[PLACE, SELL, EXCHANGE, PUT]),
    take: Step::new(&[PLACE, SELL, TAKE]),
    leave: Step::new(&[PLACE, LEAVE]),
});

impl Steps {
    fn all(&self) -> [&Step; 6] {
        [&self.look, &self.read, &self.put, &self.exchange, &self.take, &self.leave]
    }
}

const LOOK: &str = r"
local item = ARGV[2]
local rounds = arg(3)
local round = redis.call('GET', P .. ':round:' .. item)
if not round then return redis.error_reply('NOSALE the sale of item ' .. item .. ' is not open') end
local place = item .. ':' .. round
local stock = tonumber(redis.call('GET', P .. ':stock:' .. place))
local pool = P .. ':pool:' .. place
if redis.call('HSETNX', pool, 'first', '0') == 1 then redis.call('HSET', pool, 'first', now()) end
if stock <= 0 then
  redis.call('HSET', pool, 'turned', '1')
  if rounds == 0 or tonumber(round) < rounds then
    redis.call('SET', P .. ':stock:' .. item .. ':' .. redis.call('INCR', P .. ':round:' .. item), ARGV[4])
  end
end
return answer(true, false, 0, stock, tonumber(round))
";

const PLACE: &str = r"
local place = ARGV[2] .. ':' .. ARGV[3]
local round = arg(3)
local stock = P .. ':stock:' .. place
local pool = P .. ':pool:' .. place
local present = P .. ':present:' .. ARGV[2]
";

const READ: &str = r"
local seen = tonumber(redis.call('GET', stock))
redis.call('SADD', present, ARGV[1])
local others = redis.call('SCARD', present) - 1
if seen <= 0 then
  redis.call('HSET', pool, 'turned', '1')
  redis.call('SREM', present, ARGV[1])
end
return answer(true, seen <= 0, others, seen, round)
";

const SELL: &str = r"
local function sold(rest)
  redis.call('RPUSH', P .. ':orders:' .. place, ARGV[1])
  if rest <= 0 then redis.call('HSETNX', pool, 'out', now()) end
end
";

const EXCHANGE: &str = r"
local current = tonumber(redis.call('GET', stock))
if current ~= arg(4) then return answer(false, false, 0, current, round) end
";

const PUT: &str = r"
local rest = arg(4) - 1
redis.call('SET', stock, string.format('%d', rest))
sold(rest)
redis.call('SREM', present, ARGV[1])
return answer(true, true, 0, rest, round)
";

const TAKE: &str = r"
if tonumber(redis.call('GET', stock)) <= 0 then
  redis.call('HSET', pool, 'turned', '1')
  return answer(false, false, 0, 0, round)
end
local rest = redis.call('DECR', stock)
sold(rest)
return answer(true, false, 0, rest, round)
";

const LEAVE: &str = r"
redis.call('SREM', present, ARGV[1])
return answer(true, true, 0, 0, round)
";

/// Lays out the first round of each item.
pub(super) async fn open(setup: &RegisterSetup, options: &Options) -> Result<(), RegisterError> {
    let register = Register::connect(setup).await?;
    for step in STEPS.all() {
        register.load(step).await?;
    }
    for items in batches(0..options.items) {
        let mut pipe = pipe();
        for item in items {
            pipe.set(format!("{}:round:{item}", setup.prefix), 1).ignore();
            pipe.set(format!("{}:stock:{item}:1", setup.prefix), options.stock).ignore();
        }
        register.query::<()>(&pipe).await?;
    }
    Ok(())
}

/// One pool as it is asked for: stock, orders, and what was noted of it.
type Found = (Option<i64>, Vec<u64>, HashMap<String, String>);

/// Reads all pools.
pub(super) async fn pools(
    setup: &RegisterSetup,
    options: &Options,
) -> Result<Vec<Pool>, RegisterError> {
    let register = Register::connect(setup).await?;
    let mut pools = Vec::new();
    for places in batches(places(&register, options).await?) {
        let mut pipe = pipe();
        for place in &places {
            ask(&mut pipe, register.prefix(), *place);
        }
        // Three answers per pool, in the order asked.
        let mut answers = register.query::<Vec<Value>>(&pipe).await?.into_iter();
        for place in places {
            let three: Vec<_> = answers.by_ref().take(3).collect();
            let found: Found = register.read(&Value::Array(three))?;
            pools.push(pool(place, found, options));
        }
    }
    Ok(pools)
}

/// All items with all rounds that were opened.
async fn places(register: &Register, options: &Options) -> Result<Vec<(u32, u32)>, RegisterError> {
    let mut places = Vec::new();
    for items in batches(0..options.items) {
        let mut pipe = pipe();
        for item in &items {
            pipe.get(format!("{}:round:{item}", register.prefix()));
        }
        let rounds: Vec<Option<u32>> = register.query(&pipe).await?;
        for (item, rounds) in items.into_iter().zip(rounds) {
            places.extend((1..=rounds.unwrap_or(0)).map(|round| (item, round)));
        }
    }
    Ok(places)
}

fn ask(pipe: &mut Pipeline, prefix: &str, (item, round): (u32, u32)) {
    pipe.get(format!("{prefix}:stock:{item}:{round}"));
    pipe.lrange(format!("{prefix}:orders:{item}:{round}"), 0, -1);
    pipe.hgetall(format!("{prefix}:pool:{item}:{round}"));
}

fn pool((item, round): (u32, u32), (stock, orders, notes): Found, options: &Options) -> Pool {
    let micros = |note: &str| notes.get(note).and_then(|text| text.parse::<u64>().ok());
    Pool {
        name: format!("item {item}, round {round}"),
        key: item,
        initial: i64::from(options.stock),
        remaining: stock.unwrap_or(0),
        exhausted: notes.contains_key("turned"),
        takings: orders.into_iter().map(OpId).collect(),
        acknowledged: Vec::new(),
        sold_out_after: micros("first")
            .zip(micros("out"))
            .map(|(first, out)| out.saturating_sub(first) * 1000),
    }
}

/// Deletes everything that [`open`] and the steps made.
pub(super) async fn clear(setup: &RegisterSetup, options: &Options) -> Result<(), RegisterError> {
    let register = Register::connect(setup).await?;
    let prefix = register.prefix();
    for places in batches(places(&register, options).await?) {
        let mut pipe = pipe();
        for (item, round) in places {
            for kind in ["stock", "orders", "pool"] {
                pipe.unlink(format!("{prefix}:{kind}:{item}:{round}")).ignore();
            }
        }
        register.query::<()>(&pipe).await?;
    }
    for items in batches(0..options.items) {
        let mut pipe = pipe();
        pipe.unlink(format!("{prefix}:seq")).ignore();
        for item in items {
            pipe.unlink(format!("{prefix}:round:{item}")).ignore();
            pipe.unlink(format!("{prefix}:present:{item}")).ignore();
        }
        register.query::<()>(&pipe).await?;
    }
    Ok(())
}

/// Cuts `things` into pieces for one round trip each.
fn batches<T>(things: impl IntoIterator<Item = T>) -> impl Iterator<Item = Vec<T>> {
    let mut things = things.into_iter();
    std::iter::from_fn(move || {
        let batch: Vec<T> = things.by_ref().take(BATCH).collect();
        (!batch.is_empty()).then_some(batch)
    })
}
