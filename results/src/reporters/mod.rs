//! The reporters, one file each.

use crate::reporter::Entry;

mod csv;
mod json;
mod markdown;
mod text;

/// Every reporter, the default first.
pub const REPORTERS: &[Entry] = &[text::ENTRY, markdown::ENTRY, csv::ENTRY, json::ENTRY];

#[cfg(test)]
mod tests;
