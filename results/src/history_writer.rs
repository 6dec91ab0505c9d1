//! Writes a history so that a killed process loses nothing it recorded.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{Ordering, compiler_fence};

use memmap2::{MmapMut, MmapOptions};
use nix::fcntl::posix_fallocate;

use crate::event::Event;
use crate::history::{
    BLOCK_BYTES, BLOCK_HEAD_BYTES, BLOCK_RECORDS, END_MARK, HEADER_BYTES, Header, HistoryError,
    KIND_AT, MAGIC, RECORD_BYTES, encode,
};

/// How many blocks are mapped at a time: 4 MiB.
const WINDOW_BLOCKS: usize = 64;
const WINDOW_BYTES: usize = WINDOW_BLOCKS * BLOCK_BYTES;

/// Appends events to a history file.
///
/// The file is written through a shared mapping, so the page cache keeps what was pushed when the process is
/// killed. Space is allocated before it is mapped: a full disk stops the recording, it does not kill the process.
#[derive(Debug)]
pub struct HistoryWriter {
    path: PathBuf,
    file: File,
    window: MmapMut,
    /// Where in the file the window begins.
    window_start: u64,
    /// Which block of the window is open.
    block: usize,
    /// Records in the open block.
    records: usize,
    /// Number of the open block, from 1.
    number: u64,
    recorded: u64,
    stopped: Option<String>,
}

impl HistoryWriter {
    /// Creates the file, which must not exist yet, and writes its header.
    ///
    /// # Errors
    ///
    /// [`HistoryError::File`] if the file cannot be created, given space or mapped,
    /// [`HistoryError::HeaderTooLong`] if the header does not fit.
    pub fn create(path: &Path, header: &Header) -> Result<Self, HistoryError> {
        let text = header_text(path, header)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|e| HistoryError::file("create", path, e))?;
        write_header(&file, &text).map_err(|e| HistoryError::file("write", path, e))?;
        let window_start = HEADER_BYTES as u64;
        let window = extend(&file, window_start)
            .map_err(|e| HistoryError::file("allocate space for", path, e))?;
        let mut writer = Self {
            path: path.to_owned(),
            file,
            window,
            window_start,
            block: 0,
            records: 0,
            number: 1,
            recorded: 0,
            stopped: None,
        };
        writer.open_block();
        Ok(writer)
    }

    /// Records `event`. After the first failure it records nothing more; [`stopped`](Self::stopped) then says why.
    #[inline]
    pub fn push(&mut self, event: Event) {
        if self.records == BLOCK_RECORDS {
            self.next_block();
        }
        if self.stopped.is_some() {
            return;
        }
        let at = self.block * BLOCK_BYTES + BLOCK_HEAD_BYTES + self.records * RECORD_BYTES;
        let mut record = encode(&event);
        let kind = std::mem::take(&mut record[KIND_AT]);
        let place = &mut self.window[at..at + RECORD_BYTES];
        place.copy_from_slice(&record);
        // The kind makes the record good: it must not become visible before the rest.
        compiler_fence(Ordering::Release);
        place[KIND_AT] = kind;
        self.records += 1;
        self.recorded += 1;
    }

    /// How many events the file holds.
    pub const fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Why recording stopped, if it did.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Seals the last block, marks the end and cuts the file to its length. Returns the number of events.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Stopped`] if recording had stopped before, [`HistoryError::File`] if the end cannot be written.
    pub fn finish(mut self) -> Result<u64, HistoryError> {
        if self.stopped.is_none() && self.records > 0 {
            self.next_block();
        }
        if let Some(reason) = self.stopped.take() {
            return Err(HistoryError::Stopped { path: self.path, recorded: self.recorded, reason });
        }
        let (recorded, number) = (self.recorded, self.number);
        let end = self.block * BLOCK_BYTES;
        write_head(&mut self.window[end..end + BLOCK_HEAD_BYTES], END_MARK, number, recorded);
        let length = self.window_start + (end + BLOCK_HEAD_BYTES) as u64;
        self.file.set_len(length).map_err(|e| HistoryError::file("cut", &self.path, e))?;
        Ok(recorded)
    }

    /// Seals the open block and opens the next, in a new window if need be.
    #[cold]
    fn next_block(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        self.seal();
        if self.block + 1 == WINDOW_BLOCKS {
            let start = self.window_start + WINDOW_BYTES as u64;
            match extend(&self.file, start) {
                Ok(window) => (self.window, self.window_start, self.block) = (window, start, 0),
                Err(error) => {
                    self.stopped = Some(format!("could not allocate space: {error}"));
                    return;
                }
            }
        } else {
            self.block += 1;
        }
        self.number += 1;
        self.records = 0;
        self.open_block();
    }

    fn seal(&mut self) {
        let start = self.block * BLOCK_BYTES;
        let length = self.records * RECORD_BYTES;
        let first = crate::history::number(&self.window, start + BLOCK_HEAD_BYTES);
        let block = &mut self.window[start..start + BLOCK_HEAD_BYTES + length];
        let length = u32::try_from(length).expect("a block is shorter than 4 GiB");
        write_head(block, length, self.number, first);
    }

    fn open_block(&mut self) {
        let start = self.block * BLOCK_BYTES;
        self.window[start + 8..start + 16].copy_from_slice(&self.number.to_le_bytes());
    }
}

/// Writes the head of `block`, its checksum and then its length, which closes it.
fn write_head(block: &mut [u8], length: u32, number: u64, first: u64) {
    let records = u32::try_from((block.len() - BLOCK_HEAD_BYTES) / RECORD_BYTES)
        .expect("a block has few records");
    block[8..16].copy_from_slice(&number.to_le_bytes());
    block[16..20].copy_from_slice(&records.to_le_bytes());
    block[24..32].copy_from_slice(&first.to_le_bytes());
    let checksum = crc32c::crc32c(&block[8..]);
    // One store of eight bytes: a process killed in between leaves an open block or a sealed one.
    let closing = (u64::from(checksum) << 32) | u64::from(length);
    compiler_fence(Ordering::Release);
    block[0..8].copy_from_slice(&closing.to_le_bytes());
}

fn header_text(path: &Path, header: &Header) -> Result<Vec<u8>, HistoryError> {
    let text = serde_json::to_vec(header)
        .map_err(|e| HistoryError::file("write the header of", path, e.into()))?;
    if text.len() > HEADER_BYTES - 16 {
        return Err(HistoryError::HeaderTooLong { path: path.to_owned(), length: text.len() });
    }
    Ok(text)
}

fn write_header(mut file: &File, text: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut header = vec![0; HEADER_BYTES];
    header[0..8].copy_from_slice(&MAGIC);
    let length = u32::try_from(text.len()).expect("the header fits into 4096 bytes");
    header[8..12].copy_from_slice(&length.to_le_bytes());
    header[12..16].copy_from_slice(&crc32c::crc32c(text).to_le_bytes());
    header[16..16 + text.len()].copy_from_slice(text);
    file.write_all(&header)
}

/// Gives the file space for one more window at `start`, then maps it.
fn extend(file: &File, start: u64) -> std::io::Result<MmapMut> {
    let offset = i64::try_from(start).map_err(std::io::Error::other)?;
    let length = i64::try_from(WINDOW_BYTES).map_err(std::io::Error::other)?;
    posix_fallocate(file, offset, length)?;
    map(file, start)
}

#[allow(
    unsafe_code,
    reason = "only a shared mapping keeps the last events of a killed process, and mapping a file is unsafe"
)]
fn map(file: &File, start: u64) -> std::io::Result<MmapMut> {
    // SAFETY: the file was created by this process under a name that did not exist, and the range was allocated
    // just before. It is cut only by `finish`, which consumes the writer. Nobody else writes to it; a reader of a
    // live file copies its bytes.
    unsafe { MmapOptions::new().offset(start).len(WINDOW_BYTES).map_mut(file) }
}
