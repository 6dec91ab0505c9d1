//! The option block of `seckill`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use strategies::units::Period;

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Options {
    /// How many items are sold, each under a lock of its own.
    #[schemars(range(min = 1))]
    pub(super) items: u32,
    /// Pieces of each item in each round.
    #[schemars(range(min = 1))]
    pub(super) stock: u32,
    /// How long the business works under the lock.
    pub(super) work: Period,
    /// How often an item is sold out before it stays so.
    pub(super) rounds: Rounds,
}

impl Default for Options {
    fn default() -> Self {
        Self { items: 1, stock: 100, work: Period::millis(1), rounds: Rounds(None) }
    }
}

/// So many rounds, or no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rounds(pub(super) Option<u32>);

const UNLIMITED: &str = "unlimited";

impl Serialize for Rounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(rounds) => serializer.serialize_u32(rounds),
            None => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for Rounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Limit;
        impl Visitor<'_> for Limit {
            type Value = Rounds;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`unlimited` or a number of rounds from 1")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rounds, E> {
                if text == UNLIMITED {
                    return Ok(Rounds(None));
                }
                Err(E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Rounds, E> {
                match u32::try_from(number) {
                    Ok(rounds) if rounds > 0 => Ok(Rounds(Some(rounds))),
                    _ => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(Limit)
    }
}

impl JsonSchema for Rounds {
    fn schema_name() -> Cow<'static, str> {
        "Rounds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [{ "const": UNLIMITED }, { "type": "integer", "minimum": 1 }],
            "description": "`unlimited` or a number of rounds"
        })
    }
}
