//! The roof of lockbench: files, servers, processes, clock and exit.

pub mod assignment;
pub mod exit;
pub mod plan;
