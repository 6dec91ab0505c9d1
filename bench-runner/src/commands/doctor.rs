//! `lockbench doctor`.

use crate::exit::Exit;

/// Says what this machine has and lacks.
pub fn run() -> anyhow::Result<Exit> {
    anyhow::bail!("`lockbench doctor` is not built yet")
}
