//! Building up text.

use std::fmt::{Arguments, Write as _};

/// Appends `words` to `text`.
pub fn push(text: &mut String, words: Arguments<'_>) {
    // A string takes every write.
    let _ = text.write_fmt(words);
}
