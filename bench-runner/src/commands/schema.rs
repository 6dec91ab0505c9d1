//! `lockbench schema`.

use crate::exit::Exit;
use crate::scenario_schema::schema;
use crate::terminal::print;

/// Prints the JSON Schema of scenarios.
pub fn run() -> anyhow::Result<Exit> {
    print(&format!("{}\n", serde_json::to_string_pretty(&schema())?))?;
    Ok(Exit::Pass)
}
