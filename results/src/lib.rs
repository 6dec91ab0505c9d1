//! Histories, checkers, figures, gates and reports.
//!
//! From a recording to a verdict: [`history_writer`] appends [events](event) to a file that survives the death of its
//! process, in the format that [`history`] describes; [`history_reader`] reads it back whatever state it is in;
//! [`assemble`] puts [operations](operation) together again and keeps of each grant a [`hold`]; the [`checkers`] are
//! pure functions from that [history](checker::History) to [findings](verdict::Finding).
//!
//! From a verdict to a decision: [`judgement`] judges a saved trial and keeps its [`figures`] and [latencies](latency);
//! [`cell_summary`] makes the trials of a cell one entry of a [`run`]; [`gate`]s decide over it, [`reporters`] show it.
pub mod assemble;
pub mod atomic_file;
mod by_key;
pub mod cell;
pub mod cell_summary;
pub mod checker;
pub mod checkers;
mod contention;
pub mod event;
mod fairness;
pub mod figures;
pub mod gate;
mod hand_over;
mod harmless;
pub mod hdr_log;
pub mod history;
pub mod history_reader;
pub mod history_writer;
pub mod hold;
pub mod judgement;
pub mod latency;
mod matrix;
mod merge;
pub mod metric;
mod open_operation;
pub mod operation;
pub mod per_outcome;
pub mod percentiles;
pub mod reporter;
pub mod reporters;
pub mod rule;
pub mod run;
pub mod run_file;
mod sale;
#[cfg(test)]
mod sample;
mod saturation;
mod series;
mod sort;
mod summary_lines;
mod tally;
pub mod trial;
pub mod trial_result;
pub mod verdict;
mod window;
mod wording;
