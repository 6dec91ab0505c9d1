//! From what was typed to an exit.

use std::ffi::OsString;
use std::panic::catch_unwind;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::arguments::{Arguments, Command};
use crate::commands;
use crate::exit::Exit;
use crate::usage::Misuse;
use crate::{agent, supervisor, terminal};

/// Does what `arguments` (the name of the program first) say.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    match Arguments::try_parse_from(arguments) {
        // A panic has told its story on standard error; what is left is its exit code.
        Ok(arguments) => catch_unwind(|| dispatch(arguments)).unwrap_or(Exit::Internal),
        Err(error) => {
            // Standard output or standard error is gone; nobody can be told.
            let _ = error.print();
            match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Pass,
                _ => Exit::Usage,
            }
        }
    }
}

fn dispatch(arguments: Arguments) -> Exit {
    let quiet = arguments.quiet;
    let done = match arguments.command {
        Command::Run(mut args) => {
            args.quiet = quiet;
            commands::run::run(&args)
        }
        Command::Plan(args) => commands::plan::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Init(args) => commands::init::run(&args, quiet),
        Command::Schema => commands::schema::run(),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Judge(args) => commands::judge::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::History(args) => commands::history::run(&args),
        Command::Gate(args) => commands::gate::run(&args),
        Command::Doctor => commands::doctor::run(),
        Command::Agent => return agent::run(),
        Command::Supervisor => return supervisor::run(),
    };
    done.unwrap_or_else(|error| {
        terminal::error(&error);
        if error.is::<Misuse>() { Exit::Usage } else { Exit::Environment }
    })
}
