//! Distributed lock strategies.
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
