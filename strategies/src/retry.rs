//! How a waiter polls: the pauses between two looks at a lock that is taken.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::strategy::OptionError;
use crate::units::Period;

/// The pause between two tries. Timers tick in milliseconds, so a pause ends up to 1 ms late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// Always the same, such as `5ms`.
    Fixed(Period),
    /// Evenly drawn between two bounds, from the seed of the run.
    Jitter(Jitter),
    /// Longer after each try, from the first to the longest.
    BackOff(BackOff),
}

/// Bounds of a drawn pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The shortest pause.
    pub from: Period,
    /// The longest pause.
    pub to: Period,
}

/// A pause that grows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackOff {
    /// The first pause of each acquire.
    pub from: Period,
    /// The longest pause.
    pub to: Period,
    /// What each pause is multiplied by to give the next; 2 if left out, at least 1.
    #[serde(default = "BackOff::default_factor")]
    pub factor: f64,
}

impl BackOff {
    const fn default_factor() -> f64 {
        2.0
    }
}

impl Default for Retry {
    /// `fixed: 5ms`: short enough that the pause does not hide the lock, long enough that waiters do not become the load.
    fn default() -> Self {
        Self::Fixed(Period::millis(5))
    }
}

impl Retry {
    /// The longest pause it can give.
    pub const fn longest(&self) -> Duration {
        match self {
            Self::Fixed(every) => every.0,
            Self::Jitter(jitter) => jitter.to.0,
            Self::BackOff(back_off) => back_off.to.0,
        }
    }

    /// Whether its numbers make sense; `path` is where it stands in the option block.
    pub fn validate(&self, path: &str) -> Result<(), OptionError> {
        let complain = |form: &str, message: &str| {
            Err(OptionError { path: format!("{path}.{form}"), message: message.to_owned() })
        };
        match self {
            Self::Fixed(every) if every.0.is_zero() => {
                complain("fixed", "a pause of 0 would be a busy loop: write 1ms or more")
            }
            Self::Jitter(Jitter { from, to }) if from > to || to.0.is_zero() => {
                complain("jitter", "`from` must not be longer than `to`, and `to` not 0")
            }
            Self::BackOff(BackOff { from, to, .. }) if from > to || from.0.is_zero() => {
                complain("back-off", "`from` must not be 0 and not be longer than `to`")
            }
            Self::BackOff(BackOff { factor, .. }) if !(*factor >= 1.0 && factor.is_finite()) => {
                complain("back-off.factor", "the factor must be 1 or more")
            }
            _ => Ok(()),
        }
    }
}

/// The pauses of one caller, reproducible from a seed.
#[derive(Debug)]
pub struct Pauses {
    retry: Retry,
    rng: Xoshiro256PlusPlus,
}

impl Pauses {
    /// Pauses for caller `worker` of an instance with `seed`.
    pub fn new(retry: Retry, seed: u64, worker: u32) -> Self {
        let seed = seed ^ u64::from(worker).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { retry, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The pause after try `tries` (from 0) of one acquire.
    pub fn pause(&mut self, tries: u32) -> Duration {
        match self.retry {
            Retry::Fixed(every) => every.0,
            Retry::Jitter(Jitter { from, to }) => self.rng.random_range(from.0..=to.0),
            Retry::BackOff(BackOff { from, to, factor }) => {
                let grown = from.0.as_secs_f64() * factor.powf(f64::from(tries));
                Duration::try_from_secs_f64(grown).map_or(to.0, |grown| grown.min(to.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn retry(block: serde_json::Value) -> Retry {
        from_value(block).unwrap()
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(retry(json!({ "fixed": "5ms" })), Retry::default());
        let jitter = retry(json!({ "jitter": { "from": "2ms", "to": "10ms" } }));
        assert_eq!(jitter.longest(), Duration::from_millis(10));
        let back_off = retry(json!({ "back-off": { "from": "1ms", "to": "64ms" } }));
        assert_eq!(back_off.longest(), Duration::from_millis(64));
    }

    #[test]
    fn jitter_stays_in_its_bounds_and_repeats_from_its_seed() {
        let form = retry(json!({ "jitter": { "from": "2ms", "to": "10ms" } }));
        let draw = |seed, worker| {
            let mut pauses = Pauses::new(form, seed, worker);
            (0..1000).map(|tries| pauses.pause(tries)).collect::<Vec<_>>()
        };
        let bounds = Duration::from_millis(2)..=Duration::from_millis(10);
        assert!(draw(7, 0).iter().all(|pause| bounds.contains(pause)));
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert_ne!(draw(7, 0), draw(8, 0));
    }

    #[test]
    fn back_off_doubles_up_to_its_longest() {
        let form = retry(json!({ "back-off": { "from": "1ms", "to": "64ms", "factor": 2 } }));
        let mut pauses = Pauses::new(form, 1, 1);
        let drawn: Vec<_> =
            [0, 1, 2, 6, 7, 5000].map(|tries| pauses.pause(tries).as_millis()).to_vec();
        assert_eq!(drawn, [1, 2, 4, 64, 64, 64]);
    }

    #[test]
    fn nonsense_is_refused_with_its_path() {
        let path = |block| retry(block).validate("retry").unwrap_err().path;
        assert_eq!(path(json!({ "fixed": "0ms" })), "retry.fixed");
        assert_eq!(path(json!({ "jitter": { "from": "9ms", "to": "2ms" } })), "retry.jitter");
        let back_off = json!({ "back-off": { "from": "1ms", "to": "2ms", "factor": 0.5 } });
        assert_eq!(path(back_off), "retry.back-off.factor");
    }
}
