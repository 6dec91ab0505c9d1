//! One file per command of the command line.

pub mod completions;
pub mod doctor;
pub mod explain;
pub mod gate;
pub mod history;
pub mod init;
pub mod judge;
pub mod list;
pub mod plan;
pub mod report;
pub mod run;
pub mod schema;
