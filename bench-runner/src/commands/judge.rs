//! `lockbench judge`.

use crate::arguments::RunDirectory;
use crate::exit::Exit;

/// Not built yet.
pub fn run(args: &RunDirectory) -> anyhow::Result<Exit> {
    anyhow::bail!("`lockbench judge {}` is not built yet", args.run.display())
}
