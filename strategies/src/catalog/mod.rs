//! Every strategy, in the order of lists and documents. To add one: a file here, and one pair of lines below.

mod control_flock;
mod control_in_process;
mod control_none;
mod control_witness;
mod no_lock;
mod redis_lua;
mod redis_owner_check;
mod redis_set_nx;
mod redis_setnx_expire;

use crate::strategy::Entry;

/// The catalogue.
pub static STRATEGIES: &[&Entry] = &[
    &redis_setnx_expire::ENTRY,
    &redis_set_nx::ENTRY,
    &redis_owner_check::ENTRY,
    &redis_lua::ENTRY,
    &no_lock::ENTRY,
    &control_none::ENTRY,
    &control_in_process::ENTRY,
    &control_flock::ENTRY,
    &control_witness::ENTRY,
];

/// The entry of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    STRATEGIES.iter().copied().find(|entry| entry.name == name)
}
