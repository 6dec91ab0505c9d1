//! The history format: what a recording of one process looks like on disk, and what can be wrong with it.
//!
//! Version 1 of a binary history (`.lbh`; every number little-endian):
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | the magic `LBHIST01` |
//! | 8..12 | length of the header text |
//! | 12..16 | CRC-32C of the header text |
//! | 16..4096 | the [`Header`] as JSON, padded with zeros |
//! | then, every 65,536 bytes | a block |
//!
//! A block is a head of 40 bytes and up to [`BLOCK_RECORDS`] records of 40 bytes:
//!
//! | bytes | head of a block | | bytes | record |
//! | --- | --- | --- | --- | --- |
//! | 0..4 | length of its records, or [`END_MARK`] | | 0..8 | at |
//! | 4..8 | CRC-32C of all that follows, up to that length | | 8..16 | op |
//! | 8..16 | number of the block, from 1 | | 16..20 | key |
//! | 16..20 | number of records | | 20 | kind |
//! | 20..24 | zero | | 21 | outcome |
//! | 24..32 | time of the first record | | 22..24 | flags |
//! | 32..40 | zero | | 24..32 and 32..40 | arg and seq |
//!
//! A block is *open* while length and CRC are zero: its records are good up to the first whose kind is zero,
//! because the kind is written last. That is what makes the last events of a killed process readable.
//! A history that was finished ends with a head whose length is [`END_MARK`] and whose bytes 24..32 hold the
//! number of all records.
//!
//! The same in JSON lines (`.jsonl`): the header, one [`Event`] per line, and at last `{"end": N}`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::event::{Event, EventKind, OpId, StepOutcome};

/// The version of the format that this build writes and reads.
pub const FORMAT: u32 = 1;
/// First bytes of a binary history.
pub const MAGIC: [u8; 8] = *b"LBHIST01";
/// Bytes of the header, padding included.
pub const HEADER_BYTES: usize = 4096;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64 * 1024;
/// Bytes of the head of a block.
pub const BLOCK_HEAD_BYTES: usize = 40;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 40;
/// How many records a block holds at most.
pub const BLOCK_RECORDS: usize = (BLOCK_BYTES - BLOCK_HEAD_BYTES) / RECORD_BYTES;
/// The length that marks the end of a finished history: `LBEN`.
pub const END_MARK: u32 = u32::from_le_bytes(*b"LBEN");
/// Larger files are refused: a terabyte is no history, but a mistake.
pub const FILE_BYTES_MAX: u64 = 1 << 40;

/// Whose history it is, and where its times come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format: 1.
    pub format: u32,
    /// Id of the run.
    pub run: String,
    /// Id of the cell.
    pub cell: String,
    /// Which repetition, from 1.
    pub trial: u32,
    /// Number of the agent, from 0.
    pub agent: u32,
    /// Number of the instance within the trial, from 0.
    pub instance: u32,
    /// Boot of the kernel whose clock was read.
    pub boot_id: String,
    /// Inode of the time namespace whose clock was read.
    pub time_namespace: u64,
    /// Name of the clock: `monotonic`.
    pub clock: String,
    /// Largest backward step seen between the processors of the host, in nanoseconds.
    pub epsilon_ns: u64,
    /// Process that recorded.
    pub pid: u32,
    /// Name of the strategy.
    pub strategy: String,
    /// Version of the tool that recorded.
    pub tool_version: String,
}

/// What a [`Header`] names besides the process and its clock.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Id of the run.
    pub run: &'a str,
    /// Id of the cell.
    pub cell: &'a str,
    /// Which repetition, from 1.
    pub trial: u32,
    /// Number of the agent, from 0.
    pub agent: u32,
    /// Number of the instance within the trial, from 0.
    pub instance: u32,
    /// Name of the strategy.
    pub strategy: &'a str,
}

impl Header {
    /// The header of a history that this process is about to write: its pid, boot and time namespace.
    ///
    /// # Errors
    ///
    /// [`HistoryError::File`] where `/proc` does not tell the boot or the time namespace.
    pub fn of_this_process(origin: &Origin<'_>) -> Result<Self, HistoryError> {
        Ok(Self {
            format: FORMAT,
            run: origin.run.to_owned(),
            cell: origin.cell.to_owned(),
            trial: origin.trial,
            agent: origin.agent,
            instance: origin.instance,
            boot_id: boot_id()?,
            time_namespace: time_namespace()?,
            clock: "monotonic".to_owned(),
            epsilon_ns: 0,
            pid: std::process::id(),
            strategy: origin.strategy.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// Whether times under both headers are points on the same clock.
    pub fn shares_clock_with(&self, other: &Self) -> bool {
        self.boot_id == other.boot_id
            && self.time_namespace == other.time_namespace
            && self.clock == other.clock
    }
}

fn boot_id() -> Result<String, HistoryError> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let text = std::fs::read_to_string(path).map_err(|e| HistoryError::file("read", path, e))?;
    Ok(text.trim().to_owned())
}

fn time_namespace() -> Result<u64, HistoryError> {
    use std::os::unix::fs::MetadataExt;
    let path = Path::new("/proc/self/ns/time");
    std::fs::metadata(path).map(|m| m.ino()).map_err(|e| HistoryError::file("read", path, e))
}

/// Why a history could not be written, read or put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file system refused.
    #[error("could not {action} {}", path.display())]
    File {
        /// What was tried: `create`, `extend`, `read`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file is no history, or its header is damaged.
    #[error("{} is no history: byte {offset}: {problem}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Where, in bytes from its begin.
        offset: u64,
        /// What is wrong there.
        problem: String,
    },
    /// Recording stopped before the end: the file holds what was recorded until then.
    #[error("{} stopped recording after {recorded} events: {reason}", path.display())]
    Stopped {
        /// Which file.
        path: PathBuf,
        /// How many events it holds.
        recorded: u64,
        /// Why.
        reason: String,
    },
    /// The header does not fit into its place.
    #[error("the header of {} takes {length} bytes, at most {} fit", path.display(), HEADER_BYTES - 16)]
    HeaderTooLong {
        /// Which file.
        path: PathBuf,
        /// Its length as JSON.
        length: usize,
    },
    /// Two histories whose times cannot be compared.
    #[error(
        "{} and {} were recorded on different clocks (another boot, host or time namespace); judge them apart",
        first.display(), second.display()
    )]
    ClocksDiffer {
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A name in the facts of a trial that leads out of its directory.
    #[error("the history `{name}` is not a file name within the trial directory")]
    Outside {
        /// The name.
        name: String,
    },
}

impl HistoryError {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }

    pub(crate) fn malformed(path: &Path, offset: u64, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), offset, problem: problem.into() }
    }
}

/// The record of `event`, its kind included.
pub(crate) fn encode(event: &Event) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[0..8].copy_from_slice(&event.at.to_le_bytes());
    record[8..16].copy_from_slice(&event.op.0.to_le_bytes());
    record[16..20].copy_from_slice(&event.key.to_le_bytes());
    record[KIND_AT] = event.kind as u8;
    record[21] = event.outcome as u8;
    record[22..24].copy_from_slice(&event.flags.to_le_bytes());
    record[24..32].copy_from_slice(&event.arg.to_le_bytes());
    record[32..40].copy_from_slice(&event.seq.to_le_bytes());
    record
}

/// Where in a record its kind is.
pub(crate) const KIND_AT: usize = 20;

/// The event in `record`; what is unknown about it otherwise.
#[inline]
pub(crate) fn decode(record: &[u8; RECORD_BYTES]) -> Result<Event, String> {
    let kind = EventKind::from_code(record[KIND_AT])
        .ok_or_else(|| format!("unknown kind {}", record[KIND_AT]))?;
    let outcome = StepOutcome::from_code(record[21])
        .ok_or_else(|| format!("unknown outcome {}", record[21]))?;
    Ok(Event {
        at: number(record, 0),
        op: OpId(number(record, 8)),
        key: short_number(record, 16),
        kind,
        outcome,
        flags: u16::from_le_bytes([record[22], record[23]]),
        arg: number(record, 24),
        seq: number(record, 32),
    })
}

/// The eight-byte number at `at`, which must lie within `bytes`.
#[inline]
pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a slice of 8 bytes has 8 bytes"))
}

/// The four-byte number at `at`, which must lie within `bytes`.
#[inline]
pub(crate) fn short_number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a slice of 4 bytes has 4 bytes"))
}
