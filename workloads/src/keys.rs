//! Which lock key an arrival asks for: bound to its number, so that every strategy meets the same traffic.

use crate::workload::Pick;

/// Chooses keys. The same seed and arrival give the same key, in whatever order and process they are asked.
#[derive(Debug, Clone)]
pub struct KeyPicker {
    keys: u32,
    seed: u64,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    Own,
    Uniform,
    /// Cumulative shares, ending with 1.
    Shares(Vec<f64>),
}

impl KeyPicker {
    /// A picker among `keys` keys (at least one).
    pub fn new(pick: Pick, keys: u32, seed: u64) -> Self {
        let rule = match pick {
            Pick::Own => Rule::Own,
            Pick::Uniform => Rule::Uniform,
            Pick::Zipf { exponent } => Rule::Shares(shares(keys.max(1), exponent)),
        };
        Self { keys: keys.max(1), seed, rule }
    }

    /// The key of the `arrival`-th operation of the cell; `worker` is the one that carries it out.
    pub fn pick(&self, arrival: u64, worker: u32) -> u32 {
        match &self.rule {
            Rule::Own => worker % self.keys,
            Rule::Uniform => scale(mix(self.seed, arrival), self.keys),
            Rule::Shares(shares) => {
                let at = unit(mix(self.seed, arrival));
                let place = shares.partition_point(|share| *share <= at);
                u32::try_from(place).map_or(self.keys - 1, |place| place.min(self.keys - 1))
            }
        }
    }
}

fn shares(keys: u32, exponent: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += f64::from(rank).powf(-exponent);
            sum
        })
        .collect();
    for share in &mut sums {
        *share /= sum;
    }
    sums
}

/// `SplitMix64` of a counter: <https://prng.di.unimi.it/splitmix64.c>.
fn mix(seed: u64, counter: u64) -> u64 {
    let mut z = seed.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number below `bound`, by the upper half of a product.
fn scale(bits: u64, bound: u32) -> u32 {
    let product = u128::from(bits) * u128::from(bound);
    u32::try_from(product >> 64).expect("the upper half of a product is below its other factor")
}

/// A number in 0..1, from the upper 53 bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::KeyPicker;
    use crate::workload::Pick;

    fn counts(pick: Pick, keys: u32) -> Vec<u32> {
        let picker = KeyPicker::new(pick, keys, 42);
        let mut counts = vec![0; keys as usize];
        (0..10_000).for_each(|arrival| counts[picker.pick(arrival, 0) as usize] += 1);
        counts
    }

    #[test]
    fn own_is_the_workers_own() {
        let picker = KeyPicker::new(Pick::Own, 8, 1);
        assert_eq!((picker.pick(0, 3), picker.pick(99, 3), picker.pick(5, 7)), (3, 3, 7));
    }

    #[test]
    fn uniform_gives_every_key_its_share() {
        for count in counts(Pick::Uniform, 10) {
            assert!((850..1150).contains(&count), "{count} of 10,000 for one of ten keys");
        }
    }

    #[test]
    fn zipf_gives_the_first_key_most() {
        let counts = counts(Pick::Zipf { exponent: 1.0 }, 4);
        // 1, 1/2, 1/3, 1/4 over their sum 25/12.
        for (count, share) in counts.iter().zip([4800, 2400, 1600, 1200]) {
            assert!(count.abs_diff(share) < 200, "{counts:?}");
        }
    }

    #[test]
    fn same_seed_and_arrival_give_the_same_key() {
        let (one, two) =
            (KeyPicker::new(Pick::Uniform, 100, 7), KeyPicker::new(Pick::Uniform, 100, 7));
        assert!((0..1000).all(|n| one.pick(n, 1) == two.pick(n, 2)));
        let other = KeyPicker::new(Pick::Uniform, 100, 8);
        assert!((0..1000).any(|n| one.pick(n, 1) != other.pick(n, 1)));
    }
}
