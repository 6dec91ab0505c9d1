//! `lockbench explain`: the page of one name.

use crate::arguments::ExplainArgs;
use crate::complaint::nearest;
use crate::exit::Exit;
use crate::glossary::{all, find};
use crate::terminal::print;
use crate::usage::Misuse;

/// Prints the page.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let found = find(&args.name);
    if found.is_empty() {
        let words = all();
        let names: Vec<&str> = words.iter().map(|word| word.name.as_str()).collect();
        let hint = nearest(&args.name, &names).map_or_else(
            || "`lockbench list` shows every name".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Misuse(format!("nothing goes by the name `{}`; {hint}", args.name)).into());
    }
    let pages: Vec<String> = found.iter().map(crate::glossary::Word::page).collect();
    print(&pages.join("\n"))?;
    Ok(Exit::Pass)
}
