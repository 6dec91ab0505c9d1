//! `markdown`: the matrix for an issue, a wiki or a pull request.

use std::io;

use crate::harmless::markdown;
use crate::matrix::sections;
use crate::reporter::{Entry, Reporter};
use crate::run::RunResult;
use crate::summary_lines;

/// The entry in the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "markdown",
    summary: "the matrix as tables for a pull request or a wiki",
    extension: "md",
    reporter: &Markdown,
};

struct Markdown;

impl Reporter for Markdown {
    fn render(&self, run: &RunResult, out: &mut dyn io::Write) -> io::Result<()> {
        let mut standing = summary_lines::standing(run).into_iter();
        if let Some(title) = standing.next() {
            writeln!(out, "# {}\n", markdown(&title))?;
        }
        for line in standing {
            writeln!(out, "**{}**\n", markdown(&line))?;
        }
        writeln!(out, "{}", markdown(&summary_lines::environment(run)))?;
        for section in sections(run) {
            writeln!(out, "\n## {}\n", markdown(&section.title))?;
            writeln!(out, "| {} |", section.columns.join(" | ").replace('\n', " "))?;
            writeln!(out, "|{}", "---|".repeat(section.columns.len()))?;
            for row in &section.rows {
                let cells: Vec<String> =
                    row.iter().map(|lines| markdown(&lines.join(" "))).collect();
                writeln!(out, "| {} |", cells.join(" | "))?;
            }
            writeln!(out)?;
            for (place, note) in section.footnotes.iter().enumerate() {
                let pieces: Vec<String> = note.split("; ").map(markdown).collect();
                writeln!(out, "- \\[{}\\] {}", place + 1, pieces.join("; "))?;
            }
        }
        writeln!(out, "\n## How to read it\n")?;
        for line in summary_lines::LEGEND {
            writeln!(out, "- {}", markdown(line))?;
        }
        writeln!(out, "\n## Controls and gates\n")?;
        for line in summary_lines::controls(run) {
            writeln!(out, "- {}", markdown(&line))?;
        }
        for gate in &run.gates {
            for (place, line) in summary_lines::gate(gate).iter().enumerate() {
                let indent = if place == 0 { "" } else { "  " };
                writeln!(out, "{indent}- {}", markdown(line))?;
            }
        }
        for warning in &run.warnings {
            writeln!(out, "- warning: {}", markdown(warning))?;
        }
        Ok(())
    }
}
