//! The roof of lockbench: files, servers, processes, clock and exit.

pub mod assignment;
pub mod complaint;
pub mod exit;
pub mod plan;
pub mod planning;
pub mod scenario;
pub mod yaml;
