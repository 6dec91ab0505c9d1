//! The binary `lockbench`: nothing else in this workspace ends the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_runner::cli::run(std::env::args_os()).into()
}
