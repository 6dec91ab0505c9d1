//! The roof of lockbench: files, servers, processes, clock and exit.

pub mod agent;
pub mod arguments;
pub mod assignment;
pub mod cli;
pub mod commands;
pub mod complaint;
pub mod exit;
pub mod generated_docs;
pub mod glossary;
pub mod plan;
pub mod planning;
pub mod reference;
pub mod scenario;
pub mod scenario_schema;
pub mod supervisor;
pub mod terminal;
pub mod usage;
pub mod yaml;
