//! `run.json` on disk: written whole, read with distrust, described by a JSON Schema.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::atomic_file;
use crate::run::{FORMAT, RunResult};
use crate::verdict::ViolationKind;

/// The largest file that is read, in bytes.
const SIZE_MAX: u64 = 256 << 20;
/// The most cells, controls or gates that are read.
const ENTRIES_MAX: usize = 100_000;

/// A result of a run that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFileError {
    /// The file cannot be read or written.
    #[error("{path}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Larger than any result.
    #[error("the result is larger than {SIZE_MAX} bytes")]
    TooLarge,
    /// More entries than any result has.
    #[error("the result has more than {ENTRIES_MAX} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
    /// Not the result of a run.
    #[error("not the result of a run")]
    Malformed(#[source] serde_json::Error),
    /// Written by another version.
    #[error(
        "the result has format {found}, this build reads {FORMAT}; use the lockbench that wrote it"
    )]
    Format {
        /// Its version.
        found: u64,
    },
}

/// Only what tells the version.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

/// Reads the result of a run from text that nobody vouches for. Bounded in size, depth and entries.
///
/// # Errors
///
/// [`RunFileError`] if it is anything else than a result of this version.
pub fn parse(json: &[u8]) -> Result<RunResult, RunFileError> {
    if json.len() as u64 > SIZE_MAX {
        return Err(RunFileError::TooLarge);
    }
    let version: Version = serde_json::from_slice(json).map_err(RunFileError::Malformed)?;
    if version.format != u64::from(FORMAT) {
        return Err(RunFileError::Format { found: version.format });
    }
    let mut run: RunResult = serde_json::from_slice(json).map_err(RunFileError::Malformed)?;
    let sizes =
        [(run.cells.len(), "cells"), (run.controls.len(), "controls"), (run.gates.len(), "gates")];
    if let Some((_, what)) = sizes.into_iter().find(|(size, _)| *size > ENTRIES_MAX) {
        return Err(RunFileError::TooMany { what });
    }
    // An older file does not know the newer kinds: nobody looked for them.
    for cell in &mut run.cells {
        for kind in ViolationKind::ALL {
            cell.violations.entry(kind).or_insert(None);
        }
    }
    Ok(run)
}

/// Reads the result of a run.
///
/// # Errors
///
/// [`RunFileError`], as [`parse`].
pub fn load(path: &Path) -> Result<RunResult, RunFileError> {
    let mut json = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SIZE_MAX + 1).read_to_end(&mut json))
        .map_err(|source| RunFileError::File { path: path.to_owned(), source })?;
    parse(&json)
}

/// Writes the result of a run, whole or not at all.
///
/// # Errors
///
/// [`RunFileError::File`] if the disk is full or not ours.
pub fn save(path: &Path, run: &RunResult) -> Result<(), RunFileError> {
    let mut json = serde_json::to_vec_pretty(run).map_err(RunFileError::Malformed)?;
    json.push(b'\n');
    atomic_file::write(path, &json)
        .map_err(|source| RunFileError::File { path: path.to_owned(), source })
}

/// The JSON Schema of `run.json`.
pub fn schema() -> Value {
    schemars::schema_for!(RunResult).to_value()
}

#[cfg(test)]
mod tests;
