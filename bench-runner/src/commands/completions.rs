//! `lockbench completions`.

use clap::CommandFactory as _;

use crate::arguments::{Arguments, CompletionsArgs};
use crate::exit::Exit;
use crate::terminal::print;

/// Prints the completion script of a shell.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "lockbench", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Pass)
}
