//! `lockbench list`: everything that has a name.

use crate::arguments::{Kind, ListArgs};
use crate::exit::Exit;
use crate::glossary::of;
use crate::terminal::print;
use crate::text::push;

/// Prints names and summaries.
pub fn run(args: &ListArgs) -> anyhow::Result<Exit> {
    let kinds = args.kind.map_or_else(|| Kind::ALL.to_vec(), |kind| vec![kind]);
    let headings = args.kind.is_none();
    let mut text = String::new();
    for kind in kinds {
        if headings {
            push(&mut text, format_args!("{}\n", kind.name()));
        }
        let words = of(kind);
        let width = words.iter().map(|word| word.name.len()).max().unwrap_or_default();
        for word in words {
            let indent = if headings { "  " } else { "" };
            push(&mut text, format_args!("{indent}{:width$}  {}\n", word.name, word.summary));
        }
    }
    print(&text)?;
    Ok(Exit::Pass)
}
