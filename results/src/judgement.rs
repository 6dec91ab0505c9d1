//! From the saved files of a trial to its result.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::assemble::assemble;
use crate::atomic_file;
use crate::checker::Aftermath;
use crate::checkers::all_findings;
use crate::event::Nanos;
use crate::figures::{Figures, FiguresError};
use crate::hdr_log::{self, HdrLogError};
use crate::history::HistoryError;
use crate::latency::{Latencies, LatencySet};
use crate::trial::TrialFacts;
use crate::trial_result::{FORMAT, TrialResult};

/// What is known about a trial besides its histories.
pub const TRIAL_FILE: &str = "trial.json";
/// The state of the register and the lock service after quiescence.
pub const AFTERMATH_FILE: &str = "aftermath.json";
/// The result of a trial.
pub const RESULT_FILE: &str = "result.json";
/// The histograms of a trial.
pub const LATENCY_FILE: &str = "latency.hlog";

/// The largest JSON file of a trial that is read, in bytes: takings of millions of orders fit.
const SIZE_MAX: u64 = 1 << 30;
/// Version of `trial.json` that this build reads.
const TRIAL_FORMAT: u32 = 1;

/// A trial that cannot be judged, or whose result cannot be saved or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// A file cannot be read or written.
    #[error("{path}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is larger than any that this build writes.
    #[error("{path} is larger than {SIZE_MAX} bytes")]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// A file is not what it should be.
    #[error("{path}")]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A file of another version.
    #[error("{path} has format {found}, this build reads {expected}")]
    Format {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// The histories cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The facts make no sense.
    #[error(transparent)]
    Figures(#[from] FiguresError),
    /// The histograms cannot be read.
    #[error("{path}")]
    Histograms {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: HdrLogError,
    },
    /// The histograms are not those of the result.
    #[error("the histograms in {path} do not fit the result beside it")]
    Mismatch {
        /// Which.
        path: PathBuf,
    },
}

/// A judged trial: its result, and the histograms behind its percentiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Findings and figures.
    pub result: TrialResult,
    /// Latencies by tag.
    pub latencies: LatencySet,
}

/// Judges the trial in `directory` from its saved files. Writes nothing.
///
/// # Errors
///
/// [`JudgeError`] if a file is missing or is not what it should be. Violations and truncated histories are no errors.
pub fn judge(directory: &Path) -> Result<Judgement, JudgeError> {
    let facts: TrialFacts = read(directory.join(TRIAL_FILE))?;
    if facts.format != TRIAL_FORMAT {
        let path = directory.join(TRIAL_FILE);
        return Err(JudgeError::Format { path, found: facts.format, expected: TRIAL_FORMAT });
    }
    let aftermath: Aftermath = read(directory.join(AFTERMATH_FILE))?;
    let mut figures = Figures::new(&facts)?;
    let history = assemble(directory, &facts, aftermath, &mut |operation| {
        figures.operation(operation);
    })?;
    let findings = all_findings(&facts.checks, &history);
    let imbalance = imbalance(&facts, figures.finished());
    let (figures, latencies) = figures.finish(&history);
    let result = TrialResult {
        format: FORMAT,
        partial: facts.partial.clone().or_else(|| history.truncated.clone()),
        run: facts.run,
        cell: facts.cell,
        trial: facts.trial,
        findings,
        figures,
        imbalance,
    };
    Ok(Judgement { result, latencies })
}

/// Every agent ended well and tells how many operations it finished: then the histories must hold just as many.
fn imbalance(facts: &TrialFacts, recorded: u64) -> Option<String> {
    if facts.partial.is_some() || facts.agents.iter().any(|agent| agent.lost.is_some()) {
        return None;
    }
    let told = facts.agents.iter().map(|agent| agent.finished);
    let told = told.reduce(|sum, finished| Some(sum?.saturating_add(finished?))).flatten()?;
    (told != recorded)
        .then(|| format!("agents finished {told} operations, but their histories hold {recorded}"))
}

/// Saves `judgement` in `directory` as `latency.hlog` and, last, `result.json`; each is there whole or not at all.
///
/// # Errors
///
/// [`JudgeError::File`] if the disk is full or not ours.
pub fn save(directory: &Path, judgement: &Judgement) -> Result<(), JudgeError> {
    let figures = &judgement.result.figures;
    let (from, to) =
        (figures.window_start_ns, figures.window_start_ns.saturating_add(figures.window_ns));
    let mut log = Vec::new();
    let written = hdr_log::write(&judgement.latencies, from, to, &mut log);
    let path = directory.join(LATENCY_FILE);
    written.and_then(|()| atomic_file::write(&path, &log)).map_err(|s| unreadable(path, s))?;
    let path = directory.join(RESULT_FILE);
    let mut json = serde_json::to_vec(&judgement.result)
        .map_err(|source| JudgeError::Malformed { path: path.clone(), source })?;
    json.push(b'\n');
    atomic_file::write(&path, &json).map_err(|source| unreadable(path, source))
}

/// Reads what [`save`] wrote.
///
/// # Errors
///
/// [`JudgeError`] if a file is missing or is not what it should be.
pub fn load(directory: &Path) -> Result<Judgement, JudgeError> {
    let path = directory.join(RESULT_FILE);
    let result: TrialResult = read(path.clone())?;
    if result.format != FORMAT {
        return Err(JudgeError::Format { path, found: result.format, expected: FORMAT });
    }
    let path = directory.join(LATENCY_FILE);
    let log = bytes(&path, hdr_log::SIZE_MAX)?;
    let found = hdr_log::read(&log)
        .map_err(|source| JudgeError::Histograms { path: path.clone(), source })?;
    let mut latencies = LatencySet::default();
    for (tag, histogram) in found {
        let exact = result.figures.latencies.get(&tag.to_string()).copied().unwrap_or_default();
        let samples = Latencies::from_saved(&histogram, exact.clipped, exact.max.map(nanos))
            .filter(|samples| samples.count() == exact.count)
            .ok_or_else(|| JudgeError::Mismatch { path: path.clone() })?;
        latencies.add(tag, &samples);
    }
    Ok(Judgement { result, latencies })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn nanos(micros: f64) -> Nanos {
    (micros * 1e3).round() as Nanos
}

fn read<T: DeserializeOwned>(path: PathBuf) -> Result<T, JudgeError> {
    let bytes = bytes(&path, SIZE_MAX)?;
    serde_json::from_slice(&bytes).map_err(|source| JudgeError::Malformed { path, source })
}

fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, JudgeError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|source| unreadable(path.to_owned(), source))?;
    if bytes.len() as u64 > limit {
        return Err(JudgeError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

fn unreadable(path: PathBuf, source: io::Error) -> JudgeError {
    JudgeError::File { path, source }
}

#[cfg(test)]
mod tests;
