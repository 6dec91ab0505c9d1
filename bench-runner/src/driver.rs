//! Carries the load of an agent: when operations are due, who takes them, and one instance from its connections to
//! its last recorded event.

pub mod instance;
pub mod pacer;
pub mod queue;
pub mod schedule;
pub mod worker;
