//! What people see: results on standard output, everything else on standard error, colour only where it is wanted.

use std::io::{ErrorKind, Write as _};

/// Writes a result to standard output. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut output = anstream::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a note to standard error. Nobody can be told if that fails.
pub fn note(text: &str) {
    let mut output = anstream::stderr().lock();
    // Standard error is where a failure would be reported.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Writes an error and its causes to standard error.
pub fn error(error: &anyhow::Error) {
    // Removed again where no terminal wants colour.
    note(&format!("\u{1b}[1;31merror\u{1b}[0m: {error:#}\n"));
}
