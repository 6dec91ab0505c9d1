//! The roof of lockbench: files, servers, processes, clock and exit.

pub mod agents;
pub mod assignment;
pub mod complaint;
pub mod environment;
pub mod exit;
pub mod failure;
pub mod limits;
pub mod managed_redis;
pub mod plan;
pub mod planning;
pub mod preflight;
pub mod progress;
pub mod redis_connection;
pub mod redis_server;
pub mod run_directory;
pub mod scenario;
pub mod schedule;
pub mod server_info;
pub mod signals;
pub mod supervisor;
pub mod supervisor_link;
pub mod supervisor_protocol;
pub mod testbed;
pub mod tether;
pub mod trial;
pub mod yaml;
