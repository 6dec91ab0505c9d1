//! What the user sees while a run is under way, on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use strategies::clock::Moment;

/// The shortest time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Whether anything is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loudness {
    /// Progress is shown.
    Normal,
    /// Only what goes wrong is shown.
    Quiet,
}

/// The display of one run.
#[derive(Debug)]
pub struct Display {
    voice: Voice,
    trials: usize,
    current: usize,
    label: String,
    violations: u64,
    left: Duration,
    last: Option<Moment>,
}

#[derive(Debug)]
enum Voice {
    Bar(ProgressBar),
    Lines,
    Silence,
}

impl Display {
    /// A display for so many trials, which take about `left` altogether.
    pub fn new(loudness: Loudness, trials: usize, left: Duration) -> Self {
        let voice = match loudness {
            Loudness::Quiet => Voice::Silence,
            Loudness::Normal if io::stderr().is_terminal() => Voice::Bar(bar(trials)),
            Loudness::Normal => Voice::Lines,
        };
        Self { voice, trials, current: 0, label: String::new(), violations: 0, left, last: None }
    }

    /// The next trial begins; `took` is what the last one was foreseen to take.
    pub fn begin(&mut self, label: String, took: Duration) {
        self.current += 1;
        self.left = self.left.saturating_sub(took);
        self.label = label;
        if let Voice::Bar(bar) = &self.voice {
            bar.set_position(self.current as u64 - 1);
        }
    }

    /// A trial was judged.
    pub fn judged(&mut self, violations: u64) {
        self.violations += violations;
    }

    /// A moment of a trial: so many grants so far, so long after its start.
    pub fn show(&mut self, granted: u64, since: Duration) {
        if let Voice::Silence = self.voice {
            return;
        }
        let now = Moment::now();
        if let (Voice::Lines, Some(last)) = (&self.voice, self.last)
            && now.since(last) < BETWEEN_LINES
        {
            return;
        }
        self.last = Some(now);
        let rate = granted as f64 / since.as_secs_f64().max(0.001);
        let text = format!(
            "{} | {rate:.0} grants/s | {} violations so far | about {} left",
            self.label,
            self.violations,
            humantime::format_duration(Duration::from_secs(
                self.left.saturating_sub(since).as_secs()
            ))
        );
        match &self.voice {
            Voice::Bar(bar) => bar.set_message(text),
            Voice::Lines => say(&format!("trial {} of {} | {text}", self.current, self.trials)),
            Voice::Silence => {}
        }
    }

    /// Something that the user should see now.
    pub fn note(&self, text: &str) {
        match &self.voice {
            Voice::Bar(bar) => bar.suspend(|| say(text)),
            Voice::Lines | Voice::Silence => say(text),
        }
    }

    /// Takes the display away.
    pub fn end(&self) {
        if let Voice::Bar(bar) = &self.voice {
            bar.finish_and_clear();
        }
    }
}

fn bar(trials: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} trial {human_pos}/{human_len} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(trials as u64).with_style(style)
}

/// Standard error may be closed: then nobody wants to know.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
