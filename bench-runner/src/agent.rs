//! `lockbench agent`.

use crate::exit::Exit;
use crate::terminal::error;

/// Runs the agent.
pub fn run() -> Exit {
    error(&anyhow::anyhow!("`lockbench agent` is not built yet"));
    Exit::Internal
}
