//! Distributed lock strategies.
pub mod catalog;
pub mod clock;
pub mod lock;
pub mod probe;
pub mod strategy;
pub mod units;
