//! What a workload is: an entry in the catalogue, its register, its operation, its invariants.

use std::time::Duration;

use async_trait::async_trait;
use results::checker::Pool;
use results::event::Outcome;
use results::trial::Check;
use serde_json::Value;
use strategies::strategy::OptionError;

use crate::guard::Guard;
pub use crate::op::Op;
use crate::register::RegisterError;
pub use crate::register::RegisterSetup;
use crate::session::Session;

/// How arrivals choose their lock key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pick {
    /// Each worker has a key of its own.
    Own,
    /// Every key is as likely.
    Uniform,
    /// Key `k` (from 1) has a share proportional to `k` to the power of minus `exponent`.
    Zipf {
        /// Above 0; 1 is the classic.
        exponent: f64,
    },
}

/// What one operation does around a lock, and what must stay true.
#[async_trait(?Send)]
pub trait Workload {
    /// Its options with every default filled in.
    fn options(&self) -> Value;

    /// Its option block in the shape that exposes a missing lock: one key, work longer than a round trip.
    fn exposed(&self) -> Value;

    /// How many lock keys it uses, given how many workers there are.
    fn keys(&self, workers: u32) -> u32;

    /// How arrivals choose among them.
    fn pick(&self) -> Pick;

    /// The longest time it means to work under the lock, for the check against the lease.
    fn work(&self) -> Duration;

    /// Whether its operations touch a register.
    fn register(&self) -> bool;

    /// Whether `guard` means anything for it; the reason if not.
    fn supports(&self, guard: Guard) -> Result<(), &'static str>;

    /// Lays out the register before the agents start. Called by the controller.
    async fn prepare(&self, setup: &RegisterSetup) -> Result<(), RegisterError>;

    /// Carries out one operation: acquire, work, release in one stack frame.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await when the run ends; the session then records the operation as cancelled.
    async fn operate(&self, op: &Op, session: &mut Session) -> Outcome;

    /// Reads the register after everything has come to rest, over the oracle's own link; `None` for a workload without one.
    async fn aftermath(&self, setup: &RegisterSetup) -> Result<Option<Vec<Pool>>, RegisterError>;

    /// Deletes what [`Workload::prepare`] and its operations may have made at the register, and nothing else.
    async fn clear(&self, setup: &RegisterSetup) -> Result<(), RegisterError>;

    /// What must stay true, besides what every exclusive lock must keep.
    fn checks(&self) -> Vec<Check>;
}

/// An entry of the catalogue.
pub struct Entry {
    /// Kebab-case, unique, the name of its file.
    pub name: &'static str,
    /// One line, for `lockbench list`.
    pub summary: &'static str,
    /// For `lockbench explain` and the docs (Markdown): what one operation does, and the exact invariant.
    pub page: &'static str,
    /// JSON Schema of its option block.
    pub schema: fn() -> Value,
    /// Makes it from its option block (`null` or an object); called when the plan is made.
    pub build: fn(&Value) -> Result<Box<dyn Workload>, OptionError>,
}
