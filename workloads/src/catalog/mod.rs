//! Every workload, in the order of lists and documents. To add one: a file here, and one pair of lines below.

use crate::workload::Entry;

mod lock_only;
mod seckill;

/// The catalogue.
pub static WORKLOADS: &[&Entry] = &[&lock_only::ENTRY, &seckill::ENTRY];

/// The entry of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    WORKLOADS.iter().copied().find(|entry| entry.name == name)
}
