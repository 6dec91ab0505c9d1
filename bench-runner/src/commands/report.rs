//! `lockbench report`.

use crate::arguments::ReportArgs;
use crate::exit::Exit;
use crate::saved_run::SavedRun;

/// Not built yet.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let run = SavedRun::open(&args.run)?;
    anyhow::bail!("`lockbench report {}` is not built yet", run.path().display())
}
