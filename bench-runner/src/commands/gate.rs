//! `lockbench gate`.

use crate::arguments::RunDirectory;
use crate::exit::Exit;

/// Not built yet.
pub fn run(args: &RunDirectory) -> anyhow::Result<Exit> {
    anyhow::bail!("`lockbench gate {}` is not built yet", args.run.display())
}
