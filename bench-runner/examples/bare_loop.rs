//! The same two commands as `redis-lua`, over the same client library, with nothing around them: no history,
//! no clock reads, no owner values of their own. `make perf` sets lockbench beside it, to show what measuring costs.
//!
//! ```text
//! bare_loop redis://127.0.0.1:6379 WORKERS SECONDS
//! ```
//!
//! Prints the completed pairs (SET NX PX, then the compare-and-delete script) per second.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redis::AsyncConnectionConfig;
use redis::io::tcp::TcpSettings;
use tokio::task::JoinSet;

const COMPARE_AND_DELETE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().context("first argument: the URL of a Redis")?;
    let workers: u32 = arguments.next().context("second argument: workers")?.parse()?;
    let seconds: f64 = arguments.next().context("third argument: seconds")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let pairs = tokio::task::LocalSet::new().block_on(&runtime, run(&url, workers, seconds))?;
    anstream::println!("{pairs:.0}");
    Ok(())
}

async fn run(url: &str, workers: u32, seconds: f64) -> Result<f64> {
    let address = redis::IntoConnectionInfo::into_connection_info(url)?
        .set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let client = redis::Client::open(address)?;
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(5)));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let sha: String = redis::cmd("SCRIPT")
        .arg("LOAD")
        .arg(COMPARE_AND_DELETE)
        .query_async(&mut connection)
        .await?;
    let pairs = Rc::new(Cell::new(0_u64));
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let mut tasks = JoinSet::new();
    for worker in 0..workers {
        let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        tasks.spawn_local(loop_until(end, connection, worker, sha.clone(), Rc::clone(&pairs)));
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(pairs.get() as f64 / start.elapsed().as_secs_f64())
}

async fn loop_until(
    end: Instant,
    mut connection: redis::aio::MultiplexedConnection,
    worker: u32,
    sha: String,
    pairs: Rc<Cell<u64>>,
) -> Result<()> {
    let key = format!("bare-loop:{worker}");
    let owner = format!("owner-{worker}");
    while Instant::now() < end {
        let _: Option<String> = redis::cmd("SET")
            .arg(&key)
            .arg(&owner)
            .arg("NX")
            .arg("PX")
            .arg(10_000)
            .query_async(&mut connection)
            .await?;
        let _: u64 = redis::cmd("EVALSHA")
            .arg(&sha)
            .arg(1)
            .arg(&key)
            .arg(&owner)
            .query_async(&mut connection)
            .await?;
        pairs.set(pairs.get() + 1);
    }
    Ok(())
}
