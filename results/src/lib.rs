//! Histories, checkers, figures, gates and reports.
//!
//! From a recording to a verdict: [`history_writer`] appends [events](event) to a file that survives the death of its
//! process, in the format that [`history`] describes; [`history_reader`] reads it back whatever state it is in;
//! [`assemble`] puts [operations](operation) together again and keeps of each grant a [`hold`]; the [`checkers`] are
//! pure functions from that [history](checker::History) to [findings](verdict::Finding).
pub mod assemble;
mod by_key;
pub mod cell;
pub mod checker;
pub mod checkers;
mod contention;
pub mod event;
pub mod gate;
pub mod history;
pub mod history_reader;
pub mod history_writer;
pub mod hold;
mod merge;
pub mod metric;
mod open_operation;
pub mod operation;
pub mod percentiles;
pub mod rule;
pub mod run;
mod sort;
mod tally;
pub mod trial;
pub mod verdict;
