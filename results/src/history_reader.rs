//! Reads a history back, whatever state it is in.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::event::Event;
use crate::history::{
    BLOCK_BYTES, BLOCK_HEAD_BYTES, BLOCK_RECORDS, END_MARK, FILE_BYTES_MAX, FORMAT, HEADER_BYTES,
    Header, HistoryError, KIND_AT, MAGIC, RECORD_BYTES, decode, number, short_number,
};

/// No line of a history in JSON lines is longer.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The events of one history file, binary or JSON lines, in the order in which they were recorded.
///
/// Memory is bounded by one block or line, whatever the file holds. The first damage ends the iteration;
/// [`truncated`](Self::truncated) then says where and what.
#[derive(Debug)]
pub struct HistoryReader {
    path: PathBuf,
    header: Header,
    source: Source,
    ending: Option<Ending>,
    read: u64,
}

/// How the iteration ended.
#[derive(Debug)]
enum Ending {
    /// At the end mark.
    Whole,
    /// Where the writer stopped without finishing; nothing before is damaged.
    Unfinished(String),
    /// At a damage.
    Damaged(String),
}

#[derive(Debug)]
enum Source {
    Blocks(Box<Blocks>),
    Lines(Lines),
}

#[derive(Debug)]
struct Blocks {
    file: File,
    bytes: Vec<u8>,
    /// The records not yet handed out.
    next: usize,
    end: usize,
    /// Number of the block in `bytes`, from 1; 0 before the first.
    block: u64,
    /// Whether it was still open.
    open: bool,
}

#[derive(Debug)]
struct Lines {
    reader: BufReader<File>,
    line: String,
    number: u64,
}

impl HistoryReader {
    /// Opens a history: JSON lines if its name ends in `.jsonl`, binary otherwise.
    ///
    /// # Errors
    ///
    /// [`HistoryError::File`] if it cannot be read, [`HistoryError::Malformed`] if its header is not that of a history.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let file = File::open(path).map_err(|e| HistoryError::file("open", path, e))?;
        let length = file.metadata().map_err(|e| HistoryError::file("read", path, e))?.len();
        if length > FILE_BYTES_MAX {
            let problem = format!("{length} bytes is more than any history has");
            return Err(HistoryError::malformed(path, FILE_BYTES_MAX, problem));
        }
        let (header, source) = if path.extension().is_some_and(|e| e == "jsonl") {
            open_lines(path, file)?
        } else {
            open_blocks(path, file)?
        };
        if header.format != FORMAT {
            let problem =
                format!("format {} is not {FORMAT}, the one this build reads", header.format);
            return Err(HistoryError::malformed(path, 16, problem));
        }
        Ok(Self { path: path.to_owned(), header, source, ending: None, read: 0 })
    }

    /// Whose history it is.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the history is not whole, if it is not: `truncated at block 7: checksum differs`. Known after the iteration.
    pub fn truncated(&self) -> Option<String> {
        match &self.ending {
            Some(Ending::Whole) => None,
            Some(Ending::Unfinished(what) | Ending::Damaged(what)) => {
                Some(format!("truncated at {what}"))
            }
            None => Some("not read to its end".to_owned()),
        }
    }

    /// Whether it stops where its writer did, without an end mark but without damage: all that was recorded was read.
    pub const fn unfinished(&self) -> bool {
        matches!(self.ending, Some(Ending::Unfinished(_)))
    }
}

impl Iterator for HistoryReader {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let step = match &mut self.source {
            Source::Blocks(blocks) => blocks.step(self.read),
            Source::Lines(lines) => lines.step(self.read),
        };
        match step {
            Ok(event) if self.ending.is_none() => {
                self.read += 1;
                Some(event)
            }
            Ok(_) => None,
            Err(ending) => {
                self.ending.get_or_insert(ending);
                None
            }
        }
    }
}

fn open_blocks(path: &Path, mut file: File) -> Result<(Header, Source), HistoryError> {
    let mut bytes = vec![0; HEADER_BYTES];
    let length = fill(&mut file, &mut bytes).map_err(|e| HistoryError::file("read", path, e))?;
    if length < HEADER_BYTES || bytes[0..8] != MAGIC {
        let problem = "neither a binary history nor a file ending in `.jsonl`";
        return Err(HistoryError::malformed(path, 0, problem));
    }
    let length = short_number(&bytes, 8) as usize;
    if length > HEADER_BYTES - 16 {
        let problem = format!("a header of {length} bytes does not fit");
        return Err(HistoryError::malformed(path, 8, problem));
    }
    let text = &bytes[16..16 + length];
    if crc32c::crc32c(text) != short_number(&bytes, 12) {
        return Err(HistoryError::malformed(path, 12, "the checksum of the header differs"));
    }
    let header = serde_json::from_slice(text)
        .map_err(|e| HistoryError::malformed(path, 16, format!("header: {e}")))?;
    let bytes = vec![0; BLOCK_BYTES];
    let blocks = Blocks { file, bytes, next: 0, end: 0, block: 0, open: false };
    Ok((header, Source::Blocks(Box::new(blocks))))
}

impl Blocks {
    #[inline]
    fn step(&mut self, read: u64) -> Result<Event, Ending> {
        while self.next >= self.end {
            self.load(read)?;
        }
        let record: &[u8; RECORD_BYTES] = self.bytes[self.next..self.next + RECORD_BYTES]
            .try_into()
            .expect("a slice of 40 bytes has 40 bytes");
        if self.open && record[KIND_AT] == 0 {
            return Err(self.stops_here());
        }
        let event = decode(record).map_err(|problem| {
            Ending::Damaged(format!("block {}, byte {}: {problem}", self.block, self.next))
        })?;
        self.next += RECORD_BYTES;
        Ok(event)
    }

    /// Reads the next block and checks it.
    #[cold]
    fn load(&mut self, read: u64) -> Result<(), Ending> {
        if self.open {
            return Err(self.stops_here());
        }
        let block = self.block + 1;
        let damaged = |problem: &str| Ending::Damaged(format!("block {block}: {problem}"));
        let length = fill(&mut self.file, &mut self.bytes)
            .map_err(|error| damaged(&format!("could not be read: {error}")))?;
        let bytes = &self.bytes[..length];
        if length < BLOCK_HEAD_BYTES {
            return Err(if length == 0 { self.stops_here() } else { damaged("cut short") });
        }
        let (size, checksum) = (short_number(bytes, 0), short_number(bytes, 4));
        let (found, records) = (number(bytes, 8), short_number(bytes, 16) as usize);
        if size == 0 && checksum == 0 && found == 0 {
            return Err(self.stops_here());
        }
        if found != block {
            return Err(damaged(&format!("its number is {found}")));
        }
        if size == 0 && checksum == 0 {
            // Still open; whole records only.
            let records = (length - BLOCK_HEAD_BYTES) / RECORD_BYTES;
            self.take(block, records.min(BLOCK_RECORDS), true);
            return Ok(());
        }
        let ended = size == END_MARK;
        let size = if ended { 0 } else { size as usize };
        if records > BLOCK_RECORDS
            || size != records * RECORD_BYTES
            || BLOCK_HEAD_BYTES + size > length
        {
            return Err(damaged("its length does not fit"));
        }
        if crc32c::crc32c(&bytes[8..BLOCK_HEAD_BYTES + size]) != checksum {
            return Err(damaged("checksum differs"));
        }
        if ended {
            let total = number(bytes, 24);
            return Err(if total == read {
                Ending::Whole
            } else {
                damaged(&format!("{read} records, but its end says {total}"))
            });
        }
        self.take(block, records, false);
        Ok(())
    }

    fn take(&mut self, block: u64, records: usize, open: bool) {
        self.block = block;
        self.open = open;
        self.next = BLOCK_HEAD_BYTES;
        self.end = BLOCK_HEAD_BYTES + records * RECORD_BYTES;
    }

    fn stops_here(&self) -> Ending {
        Ending::Unfinished(format!("block {}: its writer never finished", self.block.max(1)))
    }
}

fn open_lines(path: &Path, file: File) -> Result<(Header, Source), HistoryError> {
    let mut lines = Lines { reader: BufReader::new(file), line: String::new(), number: 0 };
    lines.advance().map_err(|problem| HistoryError::malformed(path, 0, problem))?;
    let header = serde_json::from_str(&lines.line)
        .map_err(|e| HistoryError::malformed(path, 0, format!("header: {e}")))?;
    Ok((header, Source::Lines(lines)))
}

/// The last line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    end: u64,
}

impl Lines {
    fn step(&mut self, read: u64) -> Result<Event, Ending> {
        let damaged = |line: u64, problem: &str| Ending::Damaged(format!("line {line}: {problem}"));
        self.advance().map_err(|problem| damaged(self.number + 1, &problem))?;
        if self.line.is_empty() {
            let what = format!("line {}: its writer never finished", self.number + 1);
            return Err(Ending::Unfinished(what));
        }
        let error = match serde_json::from_str(&self.line) {
            Ok(event) => return Ok(event),
            Err(error) => error,
        };
        match serde_json::from_str::<End>(&self.line) {
            Ok(End { end }) if end == read => Err(Ending::Whole),
            Ok(End { end }) => {
                let problem = format!("{read} events, but its end says {end}");
                Err(damaged(self.number, &problem))
            }
            Err(_) if !self.line.ends_with('\n') => Err(Ending::Unfinished(format!(
                "line {}: its writer stopped in the middle of it",
                self.number
            ))),
            Err(_) => Err(damaged(self.number, &error.to_string())),
        }
    }

    /// Reads one line; leaves it empty at the end of the file.
    fn advance(&mut self) -> Result<(), String> {
        self.line.clear();
        let mut limited = self.reader.by_ref().take(LINE_BYTES_MAX);
        limited.read_line(&mut self.line).map_err(|error| error.to_string())?;
        if self.line.len() as u64 == LINE_BYTES_MAX {
            return Err(format!("longer than {LINE_BYTES_MAX} bytes"));
        }
        self.number += u64::from(!self.line.is_empty());
        Ok(())
    }
}

/// Reads until `bytes` is full or the file ends. Returns how many bytes were read.
fn fill(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
