//! From an option block of a scenario to an options struct, with the path of what is wrong.

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::strategy::OptionError;

/// The options in `block`: `null` means all defaults, an object overrides them.
///
/// # Errors
///
/// An [`OptionError`] with the path inside the block (`retry.fixed`) and serde's words for what is wrong. Words for an
/// unknown field name the known ones.
pub fn read<T: DeserializeOwned + Default>(block: &Value) -> Result<T, OptionError> {
    match block {
        Value::Null => Ok(T::default()),
        Value::Object(_) => serde_path_to_error::deserialize(block).map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { path };
            OptionError { path, message: error.into_inner().to_string() }
        }),
        other => Err(OptionError {
            path: String::new(),
            message: format!("expected a block of options, found `{other}`"),
        }),
    }
}

/// All options with their defaults filled in, as they are stored with each result.
#[allow(clippy::missing_panics_doc, reason = "options are plain structs")]
pub fn filled<T: Serialize>(options: &T) -> Value {
    serde_json::to_value(options).expect("options are plain structs with string keys")
}

/// JSON Schema of an options struct.
pub fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

/// Options of an entry that has none: any key is refused.
#[derive(Debug, Clone, Copy, Default, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoOptions {}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::retry::Retry;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
    struct Sample {
        retry: Retry,
        how_many: u32,
    }

    #[test]
    fn null_means_all_defaults() {
        assert_eq!(read::<Sample>(&Value::Null), Ok(Sample::default()));
    }

    #[test]
    fn errors_have_the_path_of_the_option() {
        let path = |block| read::<Sample>(&block).unwrap_err().path;
        assert_eq!(path(json!({ "how-many": "x" })), "how-many");
        assert_eq!(path(json!({ "retry": { "fixed": 5 } })), "retry.fixed");
        assert_eq!(path(json!({ "retry": { "jitter": { "from": "2" } } })), "retry.jitter.from");
        assert_eq!(path(json!("fast")), "");
    }

    #[test]
    fn an_unknown_option_is_named_with_the_known_ones() {
        let error = read::<Sample>(&json!({ "how-mny": 1 })).unwrap_err();
        assert!(error.message.contains("unknown field `how-mny`"), "{error}");
        assert!(error.message.contains("`how-many`"), "{error}");
    }

    #[test]
    fn a_bare_number_is_told_to_carry_a_unit() {
        let error = read::<Sample>(&json!({ "retry": { "fixed": 5 } })).unwrap_err();
        assert!(error.message.contains("5ms"), "{error}");
    }
}
