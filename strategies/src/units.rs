//! Durations that carry their unit: `250ms` parses, a bare `250` is refused.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A length of time as it stands in a scenario file: a number with its unit, `500us`, `2ms`, `1m 30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

impl Period {
    /// So many milliseconds.
    pub const fn millis(milliseconds: u64) -> Self {
        Self(Duration::from_millis(milliseconds))
    }
}

impl std::fmt::Display for Period {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", humantime::format_duration(self.0))
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Period;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a duration with its unit, such as 250ms")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Period, E> {
                humantime::parse_duration(text).map(Period).map_err(|error| {
                    E::custom(format!("`{text}` is not a duration with its unit: {error}"))
                })
            }

            fn visit_u64<E: de::Error>(self, bare: u64) -> Result<Period, E> {
                Err(E::custom(format!("`{bare}` has no unit: write {bare}s or {bare}ms")))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9.]+ ?[a-zµ]+( ?[0-9.]+ ?[a-zµ]+)*$|^[0-9.]+x (lease|work)$",
            "description": "a duration with its unit: 500us, 2ms, 1m 30s"
        })
    }
}
