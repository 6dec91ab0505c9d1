//! Distributed lock strategies, true to the real clients on the wire.
//!
//! A [`strategy::Strategy`] is a lock algorithm with its options. It opens [`lock::LockInstance`]s, one for each
//! application instance, which own what a client library owns once per process; an instance hands out
//! [`lock::LockClient`]s, one for each sequential caller. A client acquires, extends and releases; in between stands a
//! [`lock::Lease`], which cannot release on drop, because releasing needs the network.
//!
//! # Modules
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`lock`] | the contract: request, lease, answers, errors and their certainty |
//! | [`strategy`] | what a strategy is: entry, claims, needs, endpoints |
//! | [`catalog`] | every strategy, one file each |
//! | [`probe`] | what a strategy tells that no return value can |
//! | [`clock`], [`units`] | the clock that leases count on; durations that carry their unit |
//! | [`options`], [`retry`] | option blocks with paths of what is wrong; pauses between two tries |
//! | [`redis_link`], [`redis_links`], [`redis_script`] | one connection; those of an instance; scripts sent by hash |
//! | `redis_polling` | what all locks of one Redis server that poll have in common |
//! | `redis_errors` | what an error of the Redis client means for a lock |
//! | `keyed_mutex` | a fair mutex per key in the memory of this process |
//!
//! # Example
//!
//! ```no_run
//! use std::rc::Rc;
//! use std::time::Duration;
//!
//! use strategies::lock::{AcquireRequest, Acquisition, LeasePolicy, LockError, Mode};
//! use strategies::probe::Silent;
//! use strategies::strategy::{Endpoints, InstanceSetup, RedisAddress};
//!
//! async fn sell() -> Result<(), LockError> {
//!     let entry = strategies::catalog::find("redis-lua").expect("it is in the catalogue");
//!     let options = serde_json::json!({ "retry": { "jitter": { "from": "2ms", "to": "10ms" } } });
//!     let strategy = (entry.build)(&options).expect("the options are right");
//!     let setup = InstanceSetup {
//!         endpoints: Endpoints {
//!             redis: Some(RedisAddress::new("redis://127.0.0.1:6379")),
//!             ..Endpoints::default()
//!         },
//!         identity: "shop-1".into(),
//!         workers: 1,
//!         seed: 42,
//!     };
//!     let mut instance = strategy.open(&setup, Rc::new(Silent)).await?;
//!     let mut client = instance.client(0).await?;
//!     let request = AcquireRequest {
//!         key: "item:17".into(),
//!         mode: Mode::Exclusive,
//!         patience: Duration::from_millis(500),
//!         lease: LeasePolicy::Fixed(Duration::from_secs(2)),
//!     };
//!     if let Acquisition::Granted(lease) = client.acquire(&request).await? {
//!         // Work, and stop before `lease.valid_until`.
//!         client.release(lease).await?;
//!     }
//!     drop(client);
//!     instance.close().await
//! }
//! ```
//!
//! # What it does not do
//!
//! It prints nothing and measures nothing. It reads the clock only to count leases, to keep to a caller's patience and to
//! space attempts to connect. It never sends a command twice and never hides an outage: errors stay errors, and each
//! says whether it may have had an effect. It knows no workload and no judge.

pub mod catalog;
pub mod clock;
mod keyed_mutex;
pub mod lock;
pub mod options;
pub mod probe;
mod redis_errors;
pub mod redis_link;
pub mod redis_links;
mod redis_polling;
pub mod redis_script;
pub mod retry;
pub mod strategy;
pub mod units;
