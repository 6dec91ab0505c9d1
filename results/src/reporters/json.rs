//! `json`: the contract with machines, as `run.json` holds it.

use std::io;

use crate::harmless;
use crate::reporter::{Entry, Reporter};
use crate::run::RunResult;

/// The entry in the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "json",
    summary: "everything, for machines; see docs/run.schema.json",
    extension: "json",
    reporter: &Json,
};

struct Json;

impl Reporter for Json {
    fn render(&self, run: &RunResult, out: &mut dyn io::Write) -> io::Result<()> {
        let json = serde_json::to_string_pretty(run).map_err(io::Error::other)?;
        writeln!(out, "{}", harmless::json(&json))
    }
}
