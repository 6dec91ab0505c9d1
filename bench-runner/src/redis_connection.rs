//! One connection of the controller to a Redis server, for everything but load.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError, RedisResult};
use strategies::strategy::RedisAddress;
use tokio::time::timeout;

/// The longest time to wait for a connection, and for each answer on it.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The server, or the way to it, said so.
    Refused(RedisError),
    /// Nothing came back in [`PATIENCE`].
    Silent,
}

/// Connects, signs in, and gives up after [`PATIENCE`].
pub async fn connect(address: &RedisAddress) -> Result<MultiplexedConnection, ConnectError> {
    let client = Client::open(address.reveal()).map_err(ConnectError::Refused)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let connecting = Box::pin(client.get_multiplexed_async_connection_with_config(&config));
    match timeout(PATIENCE, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) if error.is_timeout() => Err(ConnectError::Silent),
        Ok(Err(error)) => Err(ConnectError::Refused(error)),
        Err(_) => Err(ConnectError::Silent),
    }
}

/// Sends one command.
pub async fn ask<T: FromRedisValue>(
    connection: &mut MultiplexedConnection,
    command: &[&str],
) -> RedisResult<T> {
    let mut words = Cmd::new();
    for word in command {
        words.arg(*word);
    }
    words.query_async(connection).await
}
