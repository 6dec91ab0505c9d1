//! The deliberately fragile thing that a lock protects, kept on the witness, and the steps that callers take at it.
//!
//! A step is one small Lua script. The witness runs it as one indivisible step and raises its sequence number in
//! it, so that the sequence numbers order all steps of a trial whatever the clocks of the callers say.

use std::rc::Rc;

use redis::{FromRedisValue, Pipeline, Value};
use strategies::lock::{Certainty, LockError};
use strategies::redis_link::{RedisLink, Transport};
use strategies::redis_script::Script;
use strategies::strategy::RedisAddress;

/// Where the register of a trial is: on the witness, under a prefix of this trial alone.
#[derive(Debug, Clone)]
pub struct RegisterSetup {
    /// The witness.
    pub witness: RedisAddress,
    /// Prefix of every register key of this trial.
    pub prefix: String,
}

/// Why a step at the register could not be carried out. A refusal by the guard is an answer, not an error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the witness failed: {0}")]
pub struct RegisterError(LockError);

impl RegisterError {
    /// Whether the step may have had an effect. When in doubt, `Unknown`.
    pub const fn certainty(&self) -> Certainty {
        self.0.certainty()
    }

    /// A short name of the class, for counting; set apart from the classes of locks.
    pub const fn class(&self) -> &'static str {
        match self.0 {
            LockError::Unreachable { .. } => "register-unreachable",
            LockError::Lost { .. } => "register-lost",
            LockError::Refused { .. } => "register-refused",
            _ => "register-unexpected",
        }
    }
}

/// One step at the register: a script whose first key is the prefix, and whose answer is an [`Answer`].
#[derive(Debug)]
pub struct Step {
    script: Script,
}

impl Step {
    /// A step from the pieces of its script, in which these names are ready to use: `P` (prefix), `seq` (the
    /// number of this step), `now()` (microseconds of the witness's clock), `arg(n)` (the n-th argument as a number).
    ///
    /// The script ends with `return answer(applied, left, others, value, round)`. Its text is kept for good: make each
    /// step once per process.
    pub fn new(pieces: &[&str]) -> Self {
        let source: &'static str =
            Box::leak((PROLOGUE.to_owned() + &pieces.concat()).into_boxed_str());
        Self { script: Script::new(source) }
    }
}

const PROLOGUE: &str = r"
local P = KEYS[1]
local seq = redis.call('INCR', P .. ':seq')
local function arg(n) return tonumber(ARGV[n]) end
local function now()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000000 + time[2])
end
local function answer(applied, left, others, value, round)
  return {seq, applied and 1 or 0, left and 1 or 0, others, value, round}
end
";

/// What a step answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Number of the step among all steps at this register.
    pub seq: u64,
    /// Whether it did what it was for; false for a write that the guard refused.
    pub applied: bool,
    /// Whether the caller left the section with it.
    pub left: bool,
    /// How many others were in the section.
    pub others: u64,
    /// The value that was read or written.
    pub value: i64,
    /// The round that it belongs to.
    pub round: i64,
}

/// The callers' way to the register; clones share one connection.
#[derive(Debug, Clone)]
pub struct Register {
    link: Rc<RedisLink>,
    prefix: Rc<str>,
}

impl Register {
    /// Connects to the witness.
    ///
    /// # Errors
    ///
    /// When nobody answers, or the witness does not let us in.
    pub async fn connect(setup: &RegisterSetup) -> Result<Self, RegisterError> {
        let link = RedisLink::open(&setup.witness, Transport::default()).await;
        let link = Rc::new(link.map_err(RegisterError)?);
        Ok(Self { link, prefix: setup.prefix.as_str().into() })
    }

    /// Prefix of every key.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Makes the witness know `step`, so that its first use costs no more than any other.
    pub async fn load(&self, step: &Step) -> Result<(), RegisterError> {
        self.link.load(&step.script).await.map_err(RegisterError)
    }

    /// Carries out `step` for the operation `op`; in the script it is `ARGV[1]`, and `args` follow from 2 on.
    /// `reloaded` is called when the witness had forgotten the script.
    pub async fn take(
        &self,
        step: &Step,
        (op, args): (u64, &[i64]),
        reloaded: impl FnOnce(),
    ) -> Result<Answer, RegisterError> {
        let mut texts = Vec::with_capacity(args.len() + 1);
        texts.push(op.to_string());
        texts.extend(args.iter().map(i64::to_string));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let reply = self.link.run(&step.script, &[&*self.prefix], &texts, reloaded).await;
        self.answer(&reply.map_err(RegisterError)?)
    }

    fn answer(&self, reply: &Value) -> Result<Answer, RegisterError> {
        let numbers = Vec::<i64>::from_redis_value_ref(reply).unwrap_or_default();
        let [seq, applied, left, others, value, round] = numbers[..] else {
            return Err(RegisterError(self.link.unexpected(reply)));
        };
        Ok(Answer {
            seq: seq.unsigned_abs(),
            applied: applied == 1,
            left: left == 1,
            others: others.unsigned_abs(),
            value,
            round,
        })
    }

    /// Runs several commands in one round trip.
    pub async fn query<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, RegisterError> {
        self.link.pipeline(pipeline).await.map_err(RegisterError)
    }

    /// Reads an answer of [`Register::query`] as what it should be.
    pub fn read<T: FromRedisValue>(&self, value: &Value) -> Result<T, RegisterError> {
        T::from_redis_value_ref(value).map_err(|_| RegisterError(self.link.unexpected(value)))
    }
}
