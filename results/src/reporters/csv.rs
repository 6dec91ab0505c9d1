//! `csv`: one row per cell, for spreadsheets. Durations in microseconds; what was not measured is empty.

use std::io;

use crate::event::Outcome;
use crate::harmless::field;
use crate::percentiles::{Percentile, Percentiles};
use crate::reporter::{Entry, Reporter};
use crate::run::{CellResult, LatencyByOutcome, RunResult};
use crate::verdict::{Verdict, ViolationKind};

/// The entry in the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "csv",
    summary: "one row per cell, for spreadsheets",
    extension: "csv",
    reporter: &Csv,
};

struct Csv;

impl Reporter for Csv {
    fn render(&self, run: &RunResult, out: &mut dyn io::Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let empty = RowOf { run, cell: None };
        writer.write_record(empty.fields().into_iter().map(|(name, _)| name))?;
        for cell in &run.cells {
            let row = RowOf { run, cell: Some(cell) };
            writer.write_record(row.fields().into_iter().map(|(_, value)| value))?;
        }
        writer.flush()
    }
}

/// The row of a cell; without a cell, all values are empty and the names are the head.
struct RowOf<'a> {
    run: &'a RunResult,
    cell: Option<&'a CellResult>,
}

type Fields = Vec<(String, String)>;

impl RowOf<'_> {
    fn fields(&self) -> Fields {
        let mut fields = self.names();
        let mut add = |name: &str, value: Option<String>| {
            fields.push((name.to_owned(), value.unwrap_or_default()));
        };
        let cell = self.cell;
        add("verdict", cell.and_then(|c| c.verdict).map(verdict));
        add("violations", count(cell.and_then(CellResult::violation_count)));
        add("exposures", count(cell.and_then(CellResult::exposures)));
        add("damage", count(cell.and_then(|c| c.damage)));
        add("trials", cell.map(|c| c.trials.to_string()));
        for outcome in Outcome::ALL {
            let outcomes = cell.and_then(|c| c.outcomes.as_ref());
            add(outcome.name(), count(outcomes.map(|outcomes| *outcomes.get(outcome))));
        }
        let throughput = cell.and_then(|c| c.throughput.as_ref());
        add("throughput_median", number(throughput.map(|spread| spread.median)));
        add("throughput_min", number(throughput.map(|spread| spread.min)));
        add("throughput_max", number(throughput.map(|spread| spread.max)));
        add("goodput", number(cell.and_then(|c| c.goodput)));
        add("offered", number(cell.and_then(|c| c.offered)));
        let fairness = cell.and_then(|c| c.fairness);
        add("jain", number(fairness.and_then(|f| f.jain)));
        add("overtakes", count(fairness.and_then(|f| f.overtakes)));
        add("longest_wait_us", number(fairness.and_then(|f| f.longest_wait_us)));
        let cost = cell.and_then(|c| c.cost);
        add("commands_per_grant", number(cost.and_then(|c| c.commands_per_grant)));
        add("bytes_per_grant", number(cost.and_then(|c| c.bytes_per_grant)));
        add("agent_cpu_us_per_grant", number(cost.and_then(|c| c.agent_cpu_us_per_grant)));
        add("server_cpu_us_per_grant", number(cost.and_then(|c| c.server_cpu_us_per_grant)));
        let saturated = cell.and_then(|c| c.saturated);
        add("generator_saturated", flag(saturated.and_then(|s| s.generator)));
        add("witness_saturated", flag(saturated.and_then(|s| s.witness)));
        self.latencies(&mut fields);
        self.kinds(&mut fields);
        fields
    }

    fn names(&self) -> Fields {
        let head = self.cell.map(|cell| &cell.head);
        let text = |name: &str, value: Option<&str>| {
            (name.to_owned(), value.map(field).unwrap_or_default())
        };
        vec![
            text("run", Some(&self.run.run)),
            text("trusted", Some(if self.run.trusted { "true" } else { "false" })),
            text("cell", head.map(|h| h.id.as_str())),
            text("strategy", head.map(|h| h.strategy.as_str())),
            text("workload", head.map(|h| h.workload.as_str())),
            text("load", head.map(|h| h.load.as_str())),
            text("caller", head.map(|h| h.caller.as_str())),
            text("guard", head.map(|h| h.guard.as_str())),
            text("fault", head.map(|h| h.fault.as_str())),
            text("applicable", head.map(|h| if h.applicable { "true" } else { "false" })),
            text("reason", head.and_then(|h| h.reason.as_deref())),
        ]
    }

    fn latencies(&self, fields: &mut Fields) {
        let granted = |of: fn(&CellResult) -> &Option<LatencyByOutcome>| {
            self.cell.and_then(|cell| of(cell).as_ref()?.get(Outcome::Granted).as_ref())
        };
        let whole = |of: fn(&CellResult) -> &Option<Percentiles>| {
            self.cell.and_then(|cell| of(cell).as_ref())
        };
        let all = [
            ("response", granted(|c| &c.response_us)),
            ("wait", granted(|c| &c.wait_us)),
            ("hold", granted(|c| &c.hold_us)),
            ("release", granted(|c| &c.release_us)),
            ("pacer_lag", whole(|c| &c.pacer_lag_us)),
            ("queue", whole(|c| &c.queue_us)),
            ("hand_over", whole(|c| &c.hand_over_us)),
            ("recovery", whole(|c| &c.recovery_us)),
            ("loss_notice", whole(|c| &c.loss_notice_us)),
        ];
        for (name, latency) in all {
            for percentile in Percentile::ALL {
                let value = number(latency.and_then(|latency| latency.at(percentile)));
                let name = format!("{name}_{}_us", percentile.name());
                fields.push((name, value.unwrap_or_default()));
            }
        }
    }

    fn kinds(&self, fields: &mut Fields) {
        for kind in ViolationKind::ALL {
            let finding = self.cell.and_then(|cell| cell.finding(kind));
            let parts = [
                ("verdict", finding.map(|f| verdict(f.verdict))),
                ("count", count(finding.map(|f| f.count))),
                ("exposures", count(finding.map(|f| f.exposures))),
            ];
            for (part, value) in parts {
                fields.push((format!("{}_{part}", kind.name()), value.unwrap_or_default()));
            }
        }
    }
}

fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Unknown => "unknown",
        Verdict::Violated => "violated",
    }
    .to_owned()
}

fn count(count: Option<u64>) -> Option<String> {
    count.map(|count| count.to_string())
}

fn number(number: Option<f64>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn flag(flag: Option<bool>) -> Option<String> {
    flag.map(|flag| flag.to_string())
}
