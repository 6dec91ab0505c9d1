//! What a reporter is: the result of a run in one format.

use std::io;

use crate::run::RunResult;

/// Renders the result of a run. What it prints of names and messages is harmless in its format, whatever they contain.
pub trait Reporter {
    /// Writes `run` to `out`.
    ///
    /// # Errors
    ///
    /// What the writer says.
    fn render(&self, run: &RunResult, out: &mut dyn io::Write) -> io::Result<()>;
}

/// An entry of the catalogue.
pub struct Entry {
    /// As `--format` calls it.
    pub name: &'static str,
    /// One line, for `lockbench list reports`.
    pub summary: &'static str,
    /// Ending of the file beside the run, without the dot.
    pub extension: &'static str,
    /// What renders it.
    pub reporter: &'static (dyn Reporter + Sync),
}
