//! When the operations of a cell are due: one seeded schedule, dealt out to the instances.

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::plan::Arrivals;

/// One operation that will be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its number among all arrivals of the cell, from 0; its lock key is bound to it.
    pub number: u64,
    /// When it is due, nanoseconds after the start of the trial.
    pub due: u64,
}

/// How often operations are due, over all instances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    /// Operations per second, above 0.
    pub rate: f64,
    /// How they are spread.
    pub arrivals: Arrivals,
    /// The same seed gives the same schedule.
    pub seed: u64,
    /// Where the schedule ends, nanoseconds after the start; no arrival is due then or later.
    pub length: u64,
}

/// Which part of the schedule falls to an instance: the arrivals whose number leaves this rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Number of the instance, below `of`.
    pub instance: u32,
    /// How many instances there are.
    pub of: u32,
}

/// The arrivals of one instance, in order. Every instance walks through the schedule of the whole cell and leaves
/// out what falls to others, so that they agree without talking to each other.
#[derive(Debug, Clone)]
pub struct Schedule {
    rhythm: Rhythm,
    share: Share,
    spread: Spread,
    next: u64,
}

#[derive(Debug, Clone)]
enum Spread {
    Uniform,
    Poisson {
        random: Box<Xoshiro256PlusPlus>,
        /// Nanoseconds after the start; 53 bits hold over a hundred days.
        clock: f64,
    },
}

const SECOND: f64 = 1e9;

impl Schedule {
    /// The share of one instance.
    pub fn new(rhythm: Rhythm, share: Share) -> Self {
        let spread = match rhythm.arrivals {
            Arrivals::Uniform => Spread::Uniform,
            Arrivals::Poisson => Spread::Poisson {
                random: Box::new(Xoshiro256PlusPlus::seed_from_u64(rhythm.seed)),
                clock: 0.0,
            },
        };
        Self { rhythm, share, spread, next: 0 }
    }

    /// When the `number`-th arrival of the cell is due. Must be asked in order.
    fn due(&mut self, number: u64) -> f64 {
        match &mut self.spread {
            // From the number and not from the last one, so that no error adds up.
            Spread::Uniform => number as f64 / self.rhythm.rate * SECOND,
            Spread::Poisson { random, clock } => {
                let gap: f64 = Exp1.sample(random);
                *clock += gap / self.rhythm.rate * SECOND;
                *clock
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let number = self.next;
            let due = self.due(number);
            if due >= self.rhythm.length as f64 {
                return None;
            }
            self.next += 1;
            if number % u64::from(self.share.of) == u64::from(self.share.instance) {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "not negative, and below the length, which is a u64"
                )]
                return Some(Arrival { number, due: due as u64 });
            }
        }
    }
}

#[cfg(test)]
mod tests;
