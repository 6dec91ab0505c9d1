//! Pages under `docs/` that are made from the code, so that they cannot fall behind it.

use crate::arguments::Kind;
use crate::glossary::{OptionLine, Word, of};
use crate::reference::{KEYS, LATER};
use crate::text::push;

/// A page: its path below the root of the repository, and its text.
pub type Page = (&'static str, String);

/// Every generated page.
pub fn pages() -> Vec<Page> {
    vec![
        ("docs/scenario.md", scenario()),
        ("docs/strategies.md", catalogue(Kind::Strategies)),
        ("docs/workloads.md", catalogue(Kind::Workloads)),
    ]
}

const MADE: &str = "<!-- Made from the code: `UPDATE=1 cargo test -p bench-runner --test docs` writes it anew. -->";

fn scenario() -> String {
    let mut text = format!(
        "# The scenario file\n\n{MADE}\n\n\
         A scenario is one YAML file. The smallest has `name`, `strategies` and `workloads`; everything else has a default.\n\
         `lockbench init` writes one with comments, `lockbench plan FILE` says what it would run, `lockbench schema` prints a JSON Schema for editors.\n\n\
         Values carry their unit: `250ms`, `1m 30s`, `800/s`. A duration marked *multiple* may also be `1.5x lease` or `2x work`.\n\
         Nothing is coerced: `yes`, `010` and `1e3` are refused with what to write instead. All complaints come together, each with file, line and column, before anything starts.\n\n\
         | key | takes | default | meaning |\n|---|---|---|---|\n"
    );
    for key in KEYS {
        let default = match key.default {
            "" if key.form == crate::reference::Form::Block => "",
            "" => "*required*",
            default => default,
        };
        push(
            &mut text,
            format_args!(
                "| `{}` | {} | {} | {} |\n",
                key.path,
                cell(&key.form.words()),
                cell(default),
                cell(key.meaning)
            ),
        );
    }
    push(
        &mut text,
        format_args!(
            "\nPlanned and refused as *not built yet*: {}; faults other than `none`; backends other than `redis` and `witness`.\n",
            LATER.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
        ),
    );
    for (heading, kind) in [
        ("Loads", Kind::Loads),
        ("Callers", Kind::Callers),
        ("Guards", Kind::Guards),
        ("Metrics of gates", Kind::Gates),
    ] {
        push(&mut text, format_args!("\n## {heading}\n\n"));
        for word in of(kind) {
            push(&mut text, format_args!("- `{}`: {}\n", word.name, word.summary));
        }
    }
    text.push_str(CELLS);
    text
}

const CELLS: &str = "
## Cells

`strategies`, `workloads`, `load`, `callers`, `guards` and `faults` are axes and multiply. The id of a cell names its point:
`redis-lua.seckill.closed.naive.none.none`. Where one name stands in an axis several times, its options follow it: `redis-lua+lease-15ms`.
A point that makes no sense is kept with its reason and not run: a fence for a lock without tokens, `atomic` under a lock, `no-lock` without a guard
(this is what `control-none` runs). A value that fits no cell at all is a complaint.

With the guard `none` every kind of violation counts; with any other guard overlaps are shown and the damage decides. Leaks, starvation and lost
wake-ups count where the strategy claims to have none.
";

fn catalogue(kind: Kind) -> String {
    let (title, words) = match kind {
        Kind::Strategies => ("Strategies", of(kind)),
        _ => ("Workloads", of(kind)),
    };
    let mut text = format!("# {title}\n\n{MADE}\n");
    for word in &words {
        text.push_str(&page(word));
    }
    text
}

fn page(word: &Word) -> String {
    let mut text = format!("\n## {}\n\n{}.\n", word.name, word.summary.trim_end_matches('.'));
    if !word.facts.is_empty() {
        text.push('\n');
        for fact in &word.facts {
            push(&mut text, format_args!("- {fact}\n"));
        }
    }
    if !word.text.trim().is_empty() {
        push(&mut text, format_args!("\n{}\n", word.text.trim()));
    }
    // Some pages describe their options themselves.
    if !word.text.contains("| option |") {
        text.push_str(&options(&word.options));
    }
    text
}

fn options(options: &[OptionLine]) -> String {
    if options.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n| option | takes | default | meaning |\n|---|---|---|---|\n");
    for option in options {
        push(
            &mut text,
            format_args!(
                "| `{}` | {} | {} | {} |\n",
                option.path,
                cell(&option.form),
                cell(&option.default),
                cell(&option.meaning)
            ),
        );
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
