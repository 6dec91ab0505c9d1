//! `lockbench judge`.

use crate::arguments::RunPath;
use crate::exit::Exit;
use crate::saved_run::SavedRun;

/// Not built yet.
pub fn run(args: &RunPath) -> anyhow::Result<Exit> {
    let run = SavedRun::open(&args.run)?;
    anyhow::bail!("`lockbench judge {}` is not built yet", run.path().display())
}
