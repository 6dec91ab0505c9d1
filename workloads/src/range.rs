//! Numbers of option blocks that have bounds.

use std::ops::RangeInclusive;

use strategies::strategy::OptionError;

/// Complains about a number outside its range.
pub(crate) fn within(
    path: &str,
    number: u64,
    range: RangeInclusive<u64>,
) -> Result<(), OptionError> {
    if range.contains(&number) {
        return Ok(());
    }
    let message = format!("{number} is not between {} and {}", range.start(), range.end());
    Err(OptionError { path: path.to_owned(), message })
}
