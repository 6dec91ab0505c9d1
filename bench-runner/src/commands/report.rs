//! `lockbench report`: the result of a saved run in one of the formats.

use results::reporters::REPORTERS;
use results::run_file;

use crate::arguments::ReportArgs;
use crate::complaint::nearest;
use crate::exit::Exit;
use crate::judging::RUN_FILE;
use crate::saved_run::SavedRun;
use crate::terminal::print;
use crate::usage::Misuse;

/// Prints the report. It says what was measured; whether that is good is the business of `gate`.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let names: Vec<&str> = REPORTERS.iter().map(|entry| entry.name).collect();
    let Some(entry) = REPORTERS.iter().find(|entry| entry.name == args.format) else {
        let near = nearest(&args.format, &names)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let known = names.join(", ");
        return Err(
            Misuse(format!("there is no format `{}`, only {known}{near}", args.format)).into()
        );
    };
    let saved = SavedRun::open(&args.run)?;
    let run =
        run_file::load(&saved.path().join(RUN_FILE)).map_err(|error| Misuse(error.to_string()))?;
    let mut text = Vec::new();
    entry.reporter.render(&run, &mut text)?;
    print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Pass)
}
