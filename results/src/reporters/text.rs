//! `text`: the matrix for a terminal.

use std::io;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::harmless::plain;
use crate::matrix::{Section, sections};
use crate::reporter::{Entry, Reporter};
use crate::run::RunResult;
use crate::summary_lines;

/// The entry in the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "text",
    summary: "the matrix for a terminal, with footnotes",
    extension: "txt",
    reporter: &Text,
};

struct Text;

impl Reporter for Text {
    fn render(&self, run: &RunResult, out: &mut dyn io::Write) -> io::Result<()> {
        for line in summary_lines::standing(run) {
            writeln!(out, "{}", plain(&line))?;
        }
        writeln!(out, "{}", plain(&summary_lines::environment(run)))?;
        for section in sections(run) {
            writeln!(out, "\n{}\n", plain(&section.title))?;
            writeln!(out, "{}", table(&section))?;
            for (place, note) in section.footnotes.iter().enumerate() {
                writeln!(out, "[{}] {}", place + 1, plain_long(note))?;
            }
        }
        writeln!(out)?;
        for line in summary_lines::LEGEND {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
        for line in summary_lines::controls(run) {
            writeln!(out, "{}", plain(&line))?;
        }
        if run.gates.is_empty() {
            writeln!(out, "gates: none")?;
        }
        for gate in &run.gates {
            for (place, line) in summary_lines::gate(gate).iter().enumerate() {
                let indent = if place == 0 { "gate " } else { "       " };
                writeln!(out, "{indent}{}", plain(line))?;
            }
        }
        for warning in &run.warnings {
            writeln!(out, "warning: {}", plain(warning))?;
        }
        Ok(())
    }
}

/// A footnote is made of several pieces; each is cut on its own.
fn plain_long(note: &str) -> String {
    note.split("; ").map(plain).collect::<Vec<_>>().join("; ")
}

fn table(section: &Section) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(section.columns.clone());
    for row in &section.rows {
        table.add_row(row.iter().map(|lines| {
            let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
            lines.join("\n")
        }));
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if place > names(section) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Position of the last column that holds a name and not a figure.
fn names(section: &Section) -> usize {
    section.columns.iter().position(|column| *column == "verdict").unwrap_or(0)
}
