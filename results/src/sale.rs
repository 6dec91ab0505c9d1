//! What a workload sold, from the state of its register.

use std::collections::HashSet;

use crate::checker::{Aftermath, Pool};
use crate::run::Sale;

const NANOS_PER_MICRO: f64 = 1e3;

/// What was sold; `None` for a workload that sells nothing, or if the register could not be read.
pub(crate) fn sale(aftermath: &Aftermath) -> Option<Sale> {
    let pools = aftermath.pools.as_ref().filter(|pools| !pools.is_empty())?;
    let mut sale = Sale { rounds: pools.len() as u64, ..Sale::default() };
    for pool in pools {
        let distinct = pool.takings.iter().collect::<HashSet<_>>().len() as u64;
        sale.sold += distinct;
        sale.duplicates += pool.takings.len() as u64 - distinct;
        if pool.exhausted {
            sale.undersold += u64::try_from(pool.initial).unwrap_or(0).saturating_sub(distinct);
        }
    }
    sale.sell_out_us = median_sell_out(pools);
    Some(sale)
}

fn median_sell_out(pools: &[Pool]) -> Option<f64> {
    let mut times: Vec<u64> = pools.iter().filter_map(|pool| pool.sold_out_after).collect();
    times.sort_unstable();
    let middle = times.len().checked_sub(1)? / 2;
    Some((times[middle] as f64).midpoint(times[times.len() / 2] as f64) / NANOS_PER_MICRO)
}
