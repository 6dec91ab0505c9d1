//! `latency.hlog`: the latencies of a trial as an `HdrHistogram` V2 interval log, readable by `HdrHistogram`'s own tools.
//!
//! One line per tag (`response.granted`, `hand-over`, ...), values in nanoseconds. Times are seconds of the monotonic
//! clock, because a recording knows no other: start and base time are 0.

use std::io;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag as LogTag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::event::Nanos;
use crate::latency::{LONGEST, LatencySet, Tag};

/// The largest log that is read, in bytes.
pub const SIZE_MAX: u64 = 64 << 20;
/// The largest encoded histogram that is read, in bytes of base64: ours have at most 30,000 slots of 9 bytes.
const ENCODED_MAX: usize = 1 << 20;
/// Nanoseconds per millisecond: the unit of the column that is meant for humans.
const MAX_DIVISOR: f64 = 1e6;

/// The line that names the columns.
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"";

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HdrLogError {
    /// Not a line of a log.
    #[error("line {line} of the histogram log is none of its kind")]
    Malformed {
        /// Counted over the entries, from 1.
        line: usize,
    },
    /// A line that says what this build does not know.
    #[error("the histogram log has a histogram called `{tag}`, which this build does not know")]
    UnknownTag {
        /// What it is called.
        tag: String,
    },
    /// What stands behind a tag is no histogram of ours.
    #[error("the histogram `{tag}` cannot be decoded")]
    Undecodable {
        /// Its tag.
        tag: String,
    },
}

/// Writes `latencies`, recorded from `from` to `to`.
///
/// # Errors
///
/// What the writer says.
pub fn write(
    latencies: &LatencySet,
    from: Nanos,
    to: Nanos,
    writer: &mut dyn io::Write,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut sink = writer;
    IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("values in nanoseconds; times in seconds of the monotonic clock")
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_base_time(SystemTime::UNIX_EPOCH)
        .begin_log_with(&mut sink, &mut serializer)?;
    writeln!(sink, "{LEGEND}")?;
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(MAX_DIVISOR)
        .begin_log_with(&mut sink, &mut serializer)?;
    let (start, length) =
        (Duration::from_nanos(from), Duration::from_nanos(to.saturating_sub(from)));
    for (tag, samples) in latencies.iter() {
        let name = tag.to_string();
        log.write_histogram(samples.kept(), start, length, LogTag::new(&name))
            .map_err(io::Error::other)?;
    }
    Ok(())
}

/// Reads what [`write()`] wrote. Several lines with one tag are given one by one.
///
/// # Errors
///
/// [`HdrLogError`] at the first line that is not understood.
pub fn read(log: &[u8]) -> Result<Vec<(Tag, Histogram<u64>)>, HdrLogError> {
    let mut deserializer = Deserializer::new();
    let mut found = Vec::new();
    for (place, entry) in IntervalLogIterator::new(log).enumerate() {
        let line = place + 1;
        let entry = entry.map_err(|_| HdrLogError::Malformed { line })?;
        let LogEntry::Interval(interval) = entry else { continue };
        let name = interval.tag().map_or("", |tag| tag.as_str());
        let tag = Tag::named(name)
            .ok_or_else(|| HdrLogError::UnknownTag { tag: name.chars().take(40).collect() })?;
        let histogram = decode(&mut deserializer, interval.encoded_histogram())
            .ok_or_else(|| HdrLogError::Undecodable { tag: tag.to_string() })?;
        found.push((tag, histogram));
    }
    Ok(found)
}

fn decode(deserializer: &mut Deserializer, encoded: &str) -> Option<Histogram<u64>> {
    if encoded.len() > ENCODED_MAX {
        return None;
    }
    let bytes = STANDARD.decode(encoded).ok()?;
    let histogram: Histogram<u64> = deserializer.deserialize(&mut bytes.as_slice()).ok()?;
    (histogram.max() <= histogram.highest_equivalent(LONGEST)).then_some(histogram)
}

#[cfg(test)]
mod tests;
