use super::*;
use crate::run::RunResult;
use crate::sample;
use crate::verdict::ViolationKind;

fn render(name: &str, run: &RunResult) -> String {
    let entry = REPORTERS.iter().find(|entry| entry.name == name).unwrap();
    let mut out = Vec::new();
    entry.reporter.render(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = REPORTERS.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), REPORTERS.len());
}

#[test]
fn text_of_the_sample() {
    insta::assert_snapshot!(render("text", &sample::run()));
}

#[test]
fn markdown_of_the_sample() {
    insta::assert_snapshot!(render("markdown", &sample::run()));
}

#[test]
fn csv_of_the_sample() {
    insta::assert_snapshot!(render("csv", &sample::run()));
}

#[test]
fn json_of_the_sample() {
    let json = render("json", &sample::run());
    assert_eq!(crate::run_file::parse(json.as_bytes()).unwrap(), sample::run());
    insta::assert_snapshot!(json);
}

#[test]
fn text_stays_within_the_page() {
    let text = render("text", &sample::run());
    let rows = text.lines().filter(|line| line.contains("redis-") && !line.starts_with('['));
    for line in rows {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn an_untrusted_run_says_so_first() {
    let mut run = sample::run();
    run.trusted = false;
    for name in ["text", "markdown"] {
        let head: String = render(name, &run).lines().take(4).collect();
        assert!(head.contains("UNTRUSTED"), "{head}");
    }
}

const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "a\rb\nc\td",
    "\u{9b}31mred",
    "left\u{202e}right\u{2066}x",
    "zero\u{200b}width\u{feff}",
    "line\u{2028}par\u{2029}",
    "<img src=x onerror=alert(1)></script><!--",
    "`code` | cell | [link](javascript:alert(1)) ![i](http://x) **b** @everyone",
    "=1+1",
    "+SUM(A1)",
    "-2+3",
    "@cmd",
    "\t=1",
    "\"quoted\",'field'",
];

/// A run whose every name and message is `text`.
fn hostile(text: &str) -> RunResult {
    let mut run = sample::run();
    let all = |field: &mut String| text.clone_into(field);
    all(&mut run.run);
    run.warnings = vec![text.to_owned()];
    run.scenario = serde_json::json!({ "name": text });
    run.environment =
        serde_json::json!({ "cpu_model": text, "servers": { text: { "version": text } } });
    for cell in &mut run.cells {
        let head = &mut cell.head;
        for field in [
            &mut head.id,
            &mut head.strategy,
            &mut head.workload,
            &mut head.load,
            &mut head.caller,
            &mut head.guard,
            &mut head.fault,
        ] {
            all(field);
        }
        head.reason = head.reason.as_ref().map(|_| text.to_owned());
        cell.notes = vec![text.to_owned()];
        if let Some(Some(finding)) = cell.violations.get_mut(&ViolationKind::MutualExclusion) {
            finding.examples = vec![text.to_owned()];
            finding.reason = Some(text.to_owned());
        }
    }
    for control in &mut run.controls {
        all(&mut control.workload);
        all(&mut control.control);
        control.reason = Some(text.to_owned());
    }
    for gate in &mut run.gates {
        all(&mut gate.rule);
        for detail in &mut gate.details {
            all(&mut detail.cell);
            all(&mut detail.measured);
        }
    }
    run
}

#[test]
fn hostile_names_are_harmless_everywhere() {
    for text in HOSTILE {
        let run = hostile(text);
        for entry in REPORTERS {
            let shown = render(entry.name, &run);
            for c in shown.chars() {
                let bad = c != '\n' && c.is_control()
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
                assert!(!bad, "{} shows {c:?} of {text:?}", entry.name);
            }
        }
        let lines = |run| render("text", run).lines().count();
        assert!(lines(&run) < lines(&sample::run()) + 80, "{text:?} adds lines");
    }
}

#[test]
fn hostile_names_are_no_markup_in_markdown() {
    for text in HOSTILE {
        let shown = render("markdown", &hostile(text));
        assert!(!shown.contains('<'), "{shown}");
        for raw in ["](javascript", "`code`", "| cell |", "**b**", "http://x"] {
            assert!(!shown.contains(raw), "{raw} of {text:?}");
        }
    }
}

#[test]
fn hostile_names_are_no_markup_inside_a_page_around_the_json() {
    let run = hostile("</script><!--&");
    let shown = render("json", &run);
    assert!(!shown.contains(['<', '>', '&']));
    assert_eq!(crate::run_file::parse(shown.as_bytes()).unwrap(), run);
}

#[test]
fn hostile_names_are_no_formulas_in_csv() {
    for text in ["=1+1", "+SUM(A1)", "-2+3", "@cmd", " =x"] {
        let shown = render("csv", &hostile(text));
        let mut reader = ::csv::Reader::from_reader(shown.as_bytes());
        for record in reader.records() {
            for value in &record.unwrap() {
                let formula = value.trim_start().starts_with(['=', '+', '-', '@']);
                assert!(!formula, "{value:?}");
            }
        }
    }
}

#[test]
fn absurd_figures_are_rendered() {
    let mut run = sample::run();
    for (place, value) in
        [f64::NAN, f64::INFINITY, -1e300, 1e300, f64::MIN_POSITIVE].into_iter().enumerate()
    {
        let cell = &mut run.cells[place % 5];
        if let Some(spread) = &mut cell.throughput {
            spread.median = value;
            spread.max = value;
        }
        cell.goodput = Some(value);
        if let Some(latency) = &mut cell.response_us {
            latency.granted.as_mut().unwrap().p50 = Some(value);
        }
        for finding in cell.violations.values_mut().flatten() {
            finding.count = u64::MAX;
            finding.within_lease = u64::MAX;
            finding.past_lease = u64::MAX;
            finding.exposures = u64::MAX;
        }
    }
    for entry in REPORTERS {
        render(entry.name, &run);
    }
}
