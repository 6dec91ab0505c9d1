//! Histories, checkers, figures, gates and reports.
pub mod cell;
pub mod checker;
pub mod event;
pub mod hold;
pub mod operation;
pub mod trial;
pub mod verdict;
