//! `lockbench history`.

use crate::arguments::HistoryArgs;
use crate::exit::Exit;

/// Not built yet.
pub fn run(args: &HistoryArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`lockbench history {}` is not built yet", args.run.display())
}
