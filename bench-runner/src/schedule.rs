//! The trials of a run in the order in which they are carried out.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::plan::{Cell, Control, Plan};

/// One trial to carry out.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// What is run.
    pub cell: &'a Cell,
    /// Whether it is a control, which has its answer already.
    pub control: bool,
    /// Which repetition, from 1.
    pub trial: u32,
    /// Short name of the cell within keys: its number, or that of the control.
    pub tag: String,
    /// Time before the measured window.
    pub warmup: Duration,
    /// The measured window.
    pub measure: Duration,
    /// Seed of the trial: the same for every cell, so that all meet the same traffic.
    pub seed: u64,
}

/// All trials: first the controls, then round by round every cell once, each round in its own seeded random order,
/// so that a drift of the machine hits all cells alike.
pub fn schedule(plan: &Plan) -> Vec<Job<'_>> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for (number, control) in plan.controls.iter().enumerate() {
        for trial in 1..=Control::TRIALS {
            jobs.push(Job {
                cell: &control.cell,
                control: true,
                trial,
                tag: format!("c{number}"),
                warmup: Control::WARMUP,
                measure: Control::MEASURE,
                seed: seed_of(plan, trial),
            });
        }
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed);
    for trial in 1..=plan.trials {
        let mut round: Vec<_> =
            plan.cells.iter().enumerate().filter(|(_, cell)| cell.head.applicable).collect();
        round.shuffle(&mut random);
        jobs.extend(round.into_iter().map(|(number, cell)| Job {
            cell,
            control: false,
            trial,
            tag: number.to_string(),
            warmup: plan.warmup,
            measure: plan.measure,
            seed: seed_of(plan, trial),
        }));
    }
    jobs
}

fn seed_of(plan: &Plan, trial: u32) -> u64 {
    plan.seed.wrapping_add(u64::from(trial).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
