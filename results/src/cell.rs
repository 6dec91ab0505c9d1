//! One point of the matrix, as results name it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which point of the matrix this is. Written by the plan, copied unchanged into every result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellHead {
    /// Readable, path-safe, unique within the run.
    pub id: String,
    /// Name of the strategy.
    pub strategy: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the load.
    pub load: String,
    /// How careful the code under the lock is.
    pub caller: String,
    /// What the register itself refuses.
    pub guard: String,
    /// What is broken meanwhile; `none` if nothing.
    pub fault: String,
    /// Each axis value in full, defaults included.
    pub options: Value,
    /// Whether this point makes sense.
    pub applicable: bool,
    /// Why it does not.
    pub reason: Option<String>,
}
