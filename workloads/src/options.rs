//! Reading option blocks.

use serde::de::DeserializeOwned;
use serde_json::Value;
use strategies::strategy::OptionError;

/// Reads the option block of an entry; `null` stands for all defaults.
pub(crate) fn parse<T: DeserializeOwned + Default>(block: &Value) -> Result<T, OptionError> {
    if block.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(block.clone())
        .map_err(|error| OptionError { path: String::new(), message: error.to_string() })
}

/// Complains about a number outside its range.
pub(crate) fn within(
    path: &str,
    number: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<(), OptionError> {
    if range.contains(&number) {
        return Ok(());
    }
    let message = format!("{number} is not between {} and {}", range.start(), range.end());
    Err(OptionError { path: path.to_owned(), message })
}
