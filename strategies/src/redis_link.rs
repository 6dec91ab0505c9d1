//! One connection to a Redis server that keeps errors errors.
//!
//! It multiplexes: callers on one thread may use it at the same time. What it does not do is retry: a command is sent
//! at most once, and who sent it learns whether it may have had an effect. After a connection broke, the next
//! operation connects anew; attempts that fail are spaced by up to 100 ms, which the operation that comes too early
//! waits out. A time-out also drops the connection, as most clients do: a late answer then belongs to nobody.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, IntoConnectionInfo, Pipeline,
    ProtocolVersion, RedisConnectionInfo, RedisError,
};
use tokio::sync::Mutex;

use crate::clock::Moment;
use crate::lock::LockError;
use crate::redis_errors::{Phase, Speaker};
use crate::redis_script::Script;
use crate::strategy::RedisAddress;

/// How a connection behaves. Every value is explicit, because the defaults of client libraries differ and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// `TCP_NODELAY`: send small packets at once.
    pub nodelay: bool,
    /// How long to wait for the answer to a command before the outcome is unknown.
    pub response_timeout: Duration,
    /// How long resolving, connecting, TLS and authentication may take together.
    pub connect_timeout: Duration,
}

impl Default for Transport {
    /// No delay, 2 s for an answer, 2 s to connect.
    fn default() -> Self {
        Self {
            nodelay: true,
            response_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(2),
        }
    }
}

/// One connection. Lives on one thread; share it through an `Rc`.
#[derive(Debug)]
pub struct RedisLink {
    client: Client,
    config: AsyncConnectionConfig,
    transport: Transport,
    login: Login,
    speaker: Speaker,
    connection: RefCell<Option<MultiplexedConnection>>,
    /// Counts connections, so that a late error of an old one does not drop its successor.
    generation: Cell<u64>,
    reconnecting: Mutex<BackOff>,
    /// Attempts to connect so far.
    attempts: Cell<u64>,
}

impl RedisLink {
    /// Connects, authenticates and hears the server answer.
    ///
    /// `rediss://` verifies the certificate against the roots of the system; `#insecure` at the end of the URL does not.
    ///
    /// # Errors
    ///
    /// [`LockError::Unreachable`] when there is no connection in time or the URL is none, [`LockError::Refused`] with
    /// the server's words when it does not let us in.
    pub async fn open(address: &RedisAddress, transport: Transport) -> Result<Self, LockError> {
        let link = Self::new(address, transport)?;
        let connection = link.connect().await?;
        link.connection.replace(Some(connection));
        Ok(link)
    }

    /// The name of the server, without user and password.
    pub fn server(&self) -> &str {
        &self.speaker.server
    }

    /// Sends one command and converts its answer.
    ///
    /// # Cancellation
    ///
    /// Dropping the future does not take back a command that was sent.
    pub async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LockError> {
        let (mut connection, generation) = self.connection().await?;
        match command.query_async(&mut connection).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(&error, generation)),
        }
    }

    /// Sends the commands of `pipeline` together and converts the answers.
    ///
    /// # Errors
    ///
    /// When the server refused some commands and carried out others, that is [`LockError::Unexpected`], whose
    /// certainty is unknown.
    pub async fn pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, LockError> {
        let (mut connection, generation) = self.connection().await?;
        match pipeline.query_async(&mut connection).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.pipeline_failed(&error, pipeline, generation)),
        }
    }

    /// Runs a script by its hash, one round trip; two when the server does not know it (any more), and then
    /// `reloaded` is called.
    pub async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
        reloaded: impl FnOnce(),
    ) -> Result<T, LockError> {
        let (mut connection, generation) = self.connection().await?;
        let known = script.by_hash(keys, arguments).query_async(&mut connection).await;
        let error = match known {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if error.code() != Some("NOSCRIPT") {
            return Err(self.failed(&error, generation));
        }
        reloaded();
        self.query(&script.by_source(keys, arguments)).await
    }

    /// Makes the server know `script`.
    pub async fn load(&self, script: &Script) -> Result<(), LockError> {
        self.query(&script.load()).await
    }

    /// The error for an answer that the caller's protocol does not know.
    pub fn unexpected(&self, answer: &redis::Value) -> LockError {
        self.speaker.unexpected(answer)
    }

    fn new(address: &RedisAddress, transport: Transport) -> Result<Self, LockError> {
        // TLS wants a provider of cryptography for the whole process; an error says that there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut speaker = Speaker { server: address.to_string(), secrets: Vec::new() };
        let unusable = |error: &RedisError| speaker.explain(error, Phase::Connecting);
        let info = address.reveal().into_connection_info().map_err(|error| unusable(&error))?;
        let login = Login::of(info.redis_settings());
        // The login is sent by us, because the client keeps the server's words about it to itself.
        let bare = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP2)
            .set_skip_set_lib_name();
        let tcp = TcpSettings::default().set_nodelay(transport.nodelay);
        let info = info.set_redis_settings(bare).set_tcp_settings(tcp);
        let client = Client::open(info).map_err(|error| unusable(&error))?;
        speaker.secrets.extend(login.password.clone());
        Ok(Self {
            client,
            config: AsyncConnectionConfig::new()
                .set_response_timeout(Some(transport.response_timeout))
                .set_connection_timeout(Some(transport.connect_timeout)),
            transport,
            login,
            speaker,
            connection: RefCell::new(None),
            generation: Cell::new(0),
            reconnecting: Mutex::new(BackOff::default()),
            attempts: Cell::new(0),
        })
    }

    /// The living connection, or a new one.
    async fn connection(&self) -> Result<(MultiplexedConnection, u64), LockError> {
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let seen = self.attempts.get();
        let mut back_off = self.reconnecting.lock().await;
        // Somebody else may have tried while we waited for our turn: his result is ours.
        if let Some(current) = self.current() {
            return Ok(current);
        }
        if self.attempts.get() != seen
            && let Some(error) = &back_off.error
        {
            return Err(error.clone());
        }
        tokio::time::sleep(back_off.not_before.since(Moment::now())).await;
        self.attempts.set(self.attempts.get() + 1);
        match self.connect().await {
            Ok(connection) => {
                *back_off = BackOff::default();
                self.generation.set(self.generation.get() + 1);
                self.connection.replace(Some(connection.clone()));
                Ok((connection, self.generation.get()))
            }
            Err(error) => {
                back_off.failed(&error);
                Err(error)
            }
        }
    }

    fn current(&self) -> Option<(MultiplexedConnection, u64)> {
        Some((self.connection.borrow().clone()?, self.generation.get()))
    }

    async fn connect(&self) -> Result<MultiplexedConnection, LockError> {
        let limit = self.transport.connect_timeout;
        let attempt = async {
            let mut connection =
                self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
            self.login.greet(&mut connection).await?;
            Ok(connection)
        };
        match tokio::time::timeout(limit, attempt).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) if !RedisError::is_timeout(&error) => {
                Err(self.speaker.explain(&error, Phase::Connecting))
            }
            _ => Err(LockError::Unreachable {
                server: self.speaker.server.clone(),
                reason: format!("no connection within {}", humantime::format_duration(limit)),
            }),
        }
    }

    fn failed(&self, error: &RedisError, generation: u64) -> LockError {
        let told = if error.is_timeout() {
            let limit = humantime::format_duration(self.transport.response_timeout);
            let reason = format!("nothing within {limit}");
            LockError::Lost { server: self.speaker.server.clone(), reason }
        } else {
            self.speaker.explain(error, Phase::Asking)
        };
        let broken = error.is_io_error() || error.is_unrecoverable_error();
        if broken && generation == self.generation.get() {
            self.connection.replace(None);
        }
        told
    }

    fn pipeline_failed(&self, error: &RedisError, sent: &Pipeline, generation: u64) -> LockError {
        let refused = error.clone().into_server_errors().map_or(0, |errors| errors.len());
        match self.failed(error, generation) {
            LockError::Refused { server, reason } if refused < sent.len() => {
                LockError::Unexpected { server, answer: reason }
            }
            told => told,
        }
    }
}

/// Who we say we are.
struct Login {
    user: Option<String>,
    password: Option<String>,
    database: i64,
}

impl Login {
    fn of(info: &RedisConnectionInfo) -> Self {
        Self {
            user: info.username().map(str::to_owned),
            password: info.password().map(str::to_owned),
            database: info.db(),
        }
    }

    /// Authenticates, selects the database, and hears one answer.
    async fn greet(&self, connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
        if let Some(password) = &self.password {
            let mut auth = redis::cmd("AUTH");
            if let Some(user) = &self.user {
                auth.arg(user);
            }
            auth.arg(password).exec_async(connection).await?;
        }
        if self.database != 0 {
            redis::cmd("SELECT").arg(self.database).exec_async(connection).await?;
        }
        match redis::cmd("PING").exec_async(connection).await {
            // A user who may not ping may still lock.
            Err(error) if error.code() == Some("NOPERM") => Ok(()),
            answer => answer,
        }
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("database", &self.database).finish_non_exhaustive()
    }
}

/// Spaces attempts to connect: the first after a break comes at once, the next ones after 10, 20, 40, 80, 100 ms.
#[derive(Debug)]
struct BackOff {
    failures: u32,
    not_before: Moment,
    error: Option<LockError>,
}

impl Default for BackOff {
    fn default() -> Self {
        Self { failures: 0, not_before: Moment(0), error: None }
    }
}

impl BackOff {
    fn failed(&mut self, error: &LockError) {
        let pause = Duration::from_millis((10 << self.failures.min(4)).min(100));
        self.failures += 1;
        self.not_before = Moment::now() + pause;
        self.error = Some(error.clone());
    }
}
