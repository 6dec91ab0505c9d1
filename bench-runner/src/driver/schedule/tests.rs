use proptest::prelude::*;

use super::{Arrival, Rhythm, Schedule, Share};
use crate::plan::Arrivals;

const SECOND: u64 = 1_000_000_000;

fn rhythm(rate: f64, arrivals: Arrivals, seed: u64) -> Rhythm {
    Rhythm { rate, arrivals, seed, length: 2 * SECOND }
}

fn whole(rhythm: Rhythm) -> Vec<Arrival> {
    Schedule::new(rhythm, Share { instance: 0, of: 1 }).collect()
}

#[test]
fn uniform_arrivals_stand_at_equal_distances() {
    let due: Vec<u64> = whole(Rhythm { length: SECOND, ..rhythm(4.0, Arrivals::Uniform, 1) })
        .iter()
        .map(|a| a.due)
        .collect();
    assert_eq!(due, [0, 250_000_000, 500_000_000, 750_000_000]);
}

#[test]
fn nothing_is_due_at_or_after_the_end() {
    for (length, expected) in [(0, 0), (1, 1), (SECOND / 4, 1), (SECOND / 4 + 1, 2)] {
        let rhythm = Rhythm { length, ..rhythm(4.0, Arrivals::Uniform, 1) };
        assert_eq!(whole(rhythm).len(), expected, "length {length}");
    }
}

#[test]
fn an_ended_schedule_stays_ended() {
    let mut schedule =
        Schedule::new(rhythm(10.0, Arrivals::Uniform, 1), Share { instance: 0, of: 1 });
    assert_eq!(schedule.by_ref().count(), 20);
    assert_eq!(schedule.next(), None);
}

#[test]
fn poisson_gaps_spread_as_much_as_they_are_long() {
    let due: Vec<u64> =
        whole(Rhythm { length: 20 * SECOND, ..rhythm(5000.0, Arrivals::Poisson, 7) })
            .iter()
            .map(|arrival| arrival.due)
            .collect();
    let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // The deviation of an exponential distribution is its mean.
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{} / {mean}", variance.sqrt());
}

proptest! {
    #[test]
    fn same_seed_gives_the_same_arrivals(seed: u64, rate in 1.0..5000.0) {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            prop_assert_eq!(whole(rhythm(rate, arrivals, seed)), whole(rhythm(rate, arrivals, seed)));
        }
    }

    #[test]
    fn instances_partition_the_schedule(seed: u64, rate in 1.0..2000.0, of in 1_u32..9) {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let rhythm = rhythm(rate, arrivals, seed);
            let mut dealt: Vec<Arrival> = (0..of)
                .flat_map(|instance| Schedule::new(rhythm, Share { instance, of }))
                .collect();
            dealt.sort_by_key(|arrival| arrival.number);
            prop_assert_eq!(dealt, whole(rhythm));
        }
    }

    #[test]
    fn arrivals_come_in_order_and_at_the_rate(seed: u64, rate in 500.0..5000.0) {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let all = whole(Rhythm { length: 10 * SECOND, ..rhythm(rate, arrivals, seed) });
            prop_assert!(all.windows(2).all(|pair| pair[0].due <= pair[1].due));
            prop_assert!(all.iter().zip(0..).all(|(arrival, number)| arrival.number == number));
            // Six standard deviations of a Poisson count.
            let expected = rate * 10.0;
            prop_assert!((all.len() as f64 - expected).abs() < 6.0 * expected.sqrt() + 1.0);
        }
    }
}
