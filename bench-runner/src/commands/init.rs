//! `lockbench init`: a first scenario.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;

use crate::arguments::InitArgs;
use crate::exit::Exit;
use crate::terminal::note;
use crate::usage::Misuse;

/// The scenario that is written: every key with its meaning.
pub const FIRST: &str = include_str!("../../../scenarios/first.yaml");

/// Writes it to the path that was asked for; never overwrites.
pub fn run(args: &InitArgs, quiet: bool) -> anyhow::Result<Exit> {
    let path = args.path.display();
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&args.path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(
                Misuse(format!("{path} exists and is left as it is; name another file")).into()
            );
        }
        Err(error) => return Err(Misuse(format!("could not create {path}: {error}")).into()),
    };
    file.write_all(FIRST.as_bytes()).with_context(|| format!("could not write {path}"))?;
    if !quiet {
        note(&format!("wrote {path}; try: lockbench plan {path}\n"));
    }
    Ok(Exit::Pass)
}
