//! Histories, checkers, figures, gates and reports.
pub mod assemble;
mod by_key;
pub mod cell;
pub mod checker;
pub mod checkers;
mod contention;
pub mod event;
pub mod history;
pub mod history_reader;
pub mod history_writer;
pub mod hold;
mod merge;
mod open_operation;
pub mod operation;
mod sort;
mod tally;
pub mod trial;
pub mod verdict;
