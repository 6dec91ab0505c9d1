//! The deliberately fragile thing that a lock protects, kept on the witness, and the steps that callers take at it.
//!
//! A step is one small Lua script. The witness runs it as one indivisible step and raises its sequence number in
//! it, so that the sequence numbers order all steps of a trial whatever the clocks of the callers say.

use std::rc::Rc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo, RedisError, Script};
use strategies::lock::Certainty;
use strategies::strategy::RedisAddress;

/// How long to try to connect to the witness.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a step may take before it is given up as lost.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

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
#[non_exhaustive]
pub enum RegisterError {
    /// No request left this machine.
    #[error("could not reach the witness {server}: {reason}")]
    Unreachable {
        /// Which server, without credentials.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// A request left and no answer came back in time, or the connection broke.
    #[error("no answer from the witness {server}: {reason}")]
    Lost {
        /// Which server, without credentials.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// The witness understood and refused: it had no effect.
    #[error("the witness {server} refused: {reason}")]
    Refused {
        /// Which server, without credentials.
        server: String,
        /// The server's words.
        reason: String,
    },
    /// The witness answered something else than the step promises.
    #[error("unexpected answer from the witness {server}: {answer}")]
    Unexpected {
        /// Which server, without credentials.
        server: String,
        /// What it said, shortened.
        answer: String,
    },
}

impl RegisterError {
    /// Whether the step may have had an effect. When in doubt, `Unknown`.
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::Unreachable { .. } | Self::Refused { .. } => Certainty::NotApplied,
            Self::Lost { .. } | Self::Unexpected { .. } => Certainty::Unknown,
        }
    }

    /// A short name of the class, for counting; set apart from the classes of locks.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "register-unreachable",
            Self::Lost { .. } => "register-lost",
            Self::Refused { .. } => "register-refused",
            Self::Unexpected { .. } => "register-unexpected",
        }
    }
}

/// One step at the register: a script whose first key is the prefix, and whose answer is an [`Answer`].
#[derive(Debug)]
pub struct Step {
    script: Script,
}

impl Step {
    /// A step from the body of its script, in which these names are ready to use: `P` (prefix), `seq` (the
    /// number of this step), `now()` (microseconds of the witness's clock), `arg(n)` (the n-th argument as a number).
    ///
    /// The body ends with `return answer(applied, left, others, value, round)`.
    pub fn new(body: &str) -> Self {
        Self { script: Script::new(&format!("{PROLOGUE}{body}")) }
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
    connection: MultiplexedConnection,
    server: Rc<str>,
    prefix: Rc<str>,
}

impl Register {
    /// Connects to the witness.
    ///
    /// # Errors
    ///
    /// [`RegisterError::Unreachable`] when nobody answers within three seconds, [`RegisterError::Refused`] when the
    /// witness does not let us in.
    pub async fn connect(setup: &RegisterSetup) -> Result<Self, RegisterError> {
        let server: Rc<str> = setup.witness.to_string().into();
        let failed = |error: RedisError| unreachable(&server, &error);
        let info = setup.witness.reveal().into_connection_info().map_err(failed)?;
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let client = Client::open(info.set_tcp_settings(tcp)).map_err(failed)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let connection =
            client.get_multiplexed_async_connection_with_config(&config).await.map_err(failed)?;
        Ok(Self { connection, server, prefix: setup.prefix.as_str().into() })
    }

    /// Prefix of every key.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Carries out `step` for the operation `op`; in the script it is `ARGV[1]`, and `args` follow from 2 on.
    pub async fn take(&self, step: &Step, op: u64, args: &[i64]) -> Result<Answer, RegisterError> {
        let mut call = step.script.prepare_invoke();
        call.key(&*self.prefix).arg(op);
        for arg in args {
            call.arg(*arg);
        }
        let mut connection = self.connection.clone();
        let reply: Vec<i64> =
            call.invoke_async(&mut connection).await.map_err(|error| self.error(&error))?;
        self.answer(&reply)
    }

    fn answer(&self, reply: &[i64]) -> Result<Answer, RegisterError> {
        let &[seq, applied, left, others, value, round] = reply else {
            let answer = format!("{} numbers, expected 6", reply.len());
            return Err(RegisterError::Unexpected { server: self.server.to_string(), answer });
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
    pub async fn query<T: redis::FromRedisValue>(
        &self,
        pipeline: &redis::Pipeline,
    ) -> Result<T, RegisterError> {
        let mut connection = self.connection.clone();
        pipeline.query_async(&mut connection).await.map_err(|error| self.error(&error))
    }

    /// Reads an answer of [`Register::query`] as what it should be.
    pub fn read<T: redis::FromRedisValue>(&self, value: redis::Value) -> Result<T, RegisterError> {
        redis::from_redis_value(value).map_err(|error| RegisterError::Unexpected {
            server: self.server.to_string(),
            answer: error.to_string(),
        })
    }

    fn error(&self, error: &RedisError) -> RegisterError {
        let server = self.server.to_string();
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => {
                RegisterError::Refused { server, reason: error.to_string() }
            }
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
                RegisterError::Unexpected { server, answer: error.to_string() }
            }
            _ => RegisterError::Lost { server, reason: error.to_string() },
        }
    }
}

fn unreachable(server: &str, error: &RedisError) -> RegisterError {
    let (server, reason) = (server.to_owned(), error.to_string());
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::AuthenticationFailed => {
            RegisterError::Refused { server, reason }
        }
        _ => RegisterError::Unreachable { server, reason },
    }
}
