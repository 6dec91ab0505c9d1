//! The matrix that people decide by, before any format: sections, columns, rows and footnotes, in words.

use crate::event::Outcome;
use crate::percentiles::Percentile;
use crate::run::{CellResult, LatencyByOutcome, RunResult};
use crate::verdict::Verdict;
use crate::wording::{self, DASH, NO_DATA};

/// Footnotes of one kind that are shown; the rest is counted.
const EXAMPLES_SHOWN: usize = 2;

/// The cells of one workload under one load.
pub(crate) struct Section {
    /// What they have in common.
    pub(crate) title: String,
    /// Heads of the columns; they may have several lines.
    pub(crate) columns: Vec<&'static str>,
    /// One row per cell.
    pub(crate) rows: Vec<Vec<Lines>>,
    /// What the rows do not say.
    pub(crate) footnotes: Vec<String>,
}

/// One place of the table, line by line.
pub(crate) type Lines = Vec<String>;

/// A column: its head, and what it shows of a cell.
type Column = (&'static str, fn(&CellResult) -> Lines);

/// A field of the matrix and how to read it.
type Axis = (&'static str, fn(&CellResult) -> &str);

const AXES: [Axis; 3] = [
    ("caller", |cell| &cell.head.caller),
    ("guard", |cell| &cell.head.guard),
    ("fault", |cell| &cell.head.fault),
];

/// The sections of `run`, in the order of its cells.
pub(crate) fn sections(run: &RunResult) -> Vec<Section> {
    let mut groups: Vec<Vec<&CellResult>> = Vec::new();
    for cell in &run.cells {
        let same = |group: &&mut Vec<&CellResult>| {
            group[0].head.workload == cell.head.workload && group[0].head.load == cell.head.load
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups.iter().map(|group| section(&run.run, group)).collect()
}

fn section(run: &str, cells: &[&CellResult]) -> Section {
    let head = &cells[0].head;
    let closed = is_closed(cells[0]);
    let (mut fixed, mut axes) = (Vec::new(), Vec::new());
    for (name, value) in AXES {
        if cells.iter().all(|cell| value(cell) == value(cells[0])) {
            fixed.push(format!("{name} {}", value(cells[0])));
        } else {
            axes.push((name, value));
        }
    }
    let mut title = format!("{} under load {}: {}", head.workload, head.load, fixed.join(", "));
    if closed {
        title.push_str(
            "; times are service times: a closed load waits for its own answers, queueing is absent",
        );
    }
    let figures = columns(closed);
    let mut footnotes = Vec::new();
    let rows = cells.iter().map(|cell| row(run, cell, &axes, &figures, &mut footnotes)).collect();
    let names = axes.iter().map(|(name, _)| *name);
    let columns =
        ["strategy"].into_iter().chain(names).chain(figures.iter().map(|(name, _)| *name));
    Section { title, columns: columns.collect(), rows, footnotes }
}

fn is_closed(cell: &CellResult) -> bool {
    cell.head.load.starts_with("closed")
}

fn columns(closed: bool) -> Vec<Column> {
    vec![
        ("verdict", verdict),
        ("violations\n/ exposures", wording::violations),
        ("damage", |cell| shown(cell.damage.map(|damage| damage.to_string()))),
        ("grants/s", |cell| cell.throughput.as_ref().map_or_else(|| shown(None), wording::spread)),
        ("good-\nput", |cell| shown(cell.goodput.map(wording::percentage))),
        (if closed { "service\np50" } else { "response\np50" }, |cell| {
            granted(cell.response_us.as_ref(), Percentile::P50)
        }),
        (if closed { "service\np99" } else { "response\np99" }, |cell| {
            granted(cell.response_us.as_ref(), Percentile::P99)
        }),
        ("wait\np99", |cell| granted(cell.wait_us.as_ref(), Percentile::P99)),
        ("hand-\nover p50", |cell| {
            vec![wording::point(cell.hand_over_us.as_ref(), Percentile::P50)]
        }),
        ("Jain", |cell| {
            let jain = cell.fairness.and_then(|fairness| fairness.jain);
            shown(jain.map(|jain| format!("{jain:.2}")))
        }),
        ("cmds/\ngrant", |cell| {
            shown(cell.cost.and_then(|cost| cost.commands_per_grant).map(wording::number))
        }),
    ]
}

fn shown(figure: Option<String>) -> Lines {
    vec![figure.unwrap_or_else(|| NO_DATA.to_owned())]
}

/// The verdict, and below it every word of warning.
fn verdict(cell: &CellResult) -> Lines {
    let verdict = wording::verdict(cell.verdict).to_owned();
    [verdict].into_iter().chain(flags(cell).into_iter().map(str::to_owned)).collect()
}

fn granted(latency: Option<&LatencyByOutcome>, percentile: Percentile) -> Lines {
    let granted = latency.and_then(|latency| latency.get(Outcome::Granted).as_ref());
    vec![wording::point(granted, percentile)]
}

/// Words that stand beside a cell because its figures mean less than they seem to.
fn flags(cell: &CellResult) -> Vec<&'static str> {
    let mut flags = Vec::new();
    let saturated = cell.saturated.unwrap_or_default();
    if saturated.generator == Some(true) {
        flags.push("saturated");
    }
    if saturated.witness == Some(true) {
        flags.push("witness busy");
    }
    if cell.notes.iter().any(|note| note.contains("partial")) {
        flags.push("partial");
    }
    let by_outcome = [&cell.response_us, &cell.wait_us, &cell.hold_us, &cell.release_us];
    let clipped = by_outcome.into_iter().flatten().any(|latency| {
        let of = |outcome: Outcome| latency.get(outcome).is_some_and(|p| p.clipped > 0);
        Outcome::ALL.into_iter().any(of)
    });
    if clipped {
        flags.push("clipped");
    }
    flags
}

fn row(
    run: &str,
    cell: &CellResult,
    axes: &[Axis],
    figures: &[Column],
    footnotes: &mut Vec<String>,
) -> Vec<Lines> {
    let mut row = vec![vec![cell.head.strategy.clone()]];
    row.extend(axes.iter().map(|(_, value)| vec![value(cell).to_owned()]));
    let mut cells: Vec<Lines> = if cell.head.applicable {
        figures.iter().map(|(_, show)| show(cell)).collect()
    } else {
        vec![vec![DASH.to_owned()]; figures.len()]
    };
    let before = footnotes.len();
    if cell.head.applicable {
        explain(run, cell, footnotes);
    } else {
        let reason = cell.head.reason.as_deref().unwrap_or("makes no sense");
        footnotes.push(format!("{} is not applicable: {reason}", cell.head.id));
    }
    if footnotes.len() > before {
        let mark = before + 1;
        cells[0][0] = format!("{} [{mark}]", cells[0][0]);
        let text = footnotes.split_off(before).join("; ");
        footnotes.push(text);
    }
    row.append(&mut cells);
    row
}

/// What the row of a cell does not say.
fn explain(run: &str, cell: &CellResult, footnotes: &mut Vec<String>) {
    let mut found = false;
    for (kind, finding) in &cell.violations {
        let Some(finding) = finding else { continue };
        let counted = cell.counted.contains(kind);
        let telling = match finding.verdict {
            Verdict::Valid => false,
            Verdict::Unknown => counted,
            Verdict::Violated => true,
        };
        if !telling {
            continue;
        }
        let aside = if counted { "" } else { " (does not count here)" };
        footnotes.push(format!("{}{aside}: {}", kind.name(), wording::finding(finding)));
        if finding.verdict == Verdict::Violated {
            found = true;
            let shown = finding.examples.iter().take(EXAMPLES_SHOWN);
            footnotes.extend(shown.map(|what| format!("e.g. {what}")));
        }
    }
    for kind in cell.counted.iter().filter(|kind| cell.finding(**kind).is_none()) {
        footnotes.push(format!("{}: nobody looked for it", kind.name()));
    }
    footnotes.extend(cell.notes.iter().cloned());
    if found {
        footnotes.push(format!("evidence: lockbench history {run} {}", cell.head.id));
    }
}
