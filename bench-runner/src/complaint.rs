//! What is wrong with a scenario, where, and what to write instead.

use crate::text::push;

/// A range of bytes in the text of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Where; `None` if it concerns the file as a whole.
    pub place: Option<Place>,
    /// What is wrong: a lower-case fragment that names the thing.
    pub message: String,
    /// What to write instead.
    pub remedy: Option<String>,
}

impl Complaint {
    /// A complaint about `place`.
    pub fn at(place: Place, message: impl Into<String>) -> Self {
        Self { place: Some(place), message: message.into(), remedy: None }
    }

    /// A complaint about the file as a whole.
    pub fn of_file(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into(), remedy: None }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same with the nearest of `known` as its remedy, or with all of them if none is near.
    #[must_use]
    pub fn suggest(self, word: &str, known: &[&str]) -> Self {
        match nearest(word, known) {
            Some(near) => self.remedy(format!("did you mean `{near}`?")),
            None if known.is_empty() => self.remedy("there is none in this build"),
            None => self.remedy(format!("known are: {}", known.join(", "))),
        }
    }
}

/// A text and the name it goes by in complaints.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name of the file, as it was given.
    pub file: String,
    /// Its text, without a byte order mark.
    pub text: String,
}

/// Longest piece of a source line that is shown, in characters.
const WIDTH: usize = 120;
/// Most complaints that are shown; who has more has the wrong file.
const MOST: usize = 50;

impl Source {
    /// Line and column of a byte, both from 1; the column counts characters.
    pub fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.floor(offset);
        let before = &self.text[..offset];
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before[begin..].chars().count() + 1)
    }

    /// All complaints as text, sorted by place, without colour.
    pub fn render(&self, complaints: &[Complaint]) -> String {
        let mut sorted: Vec<&Complaint> = complaints.iter().collect();
        sorted.sort_by_key(|complaint| complaint.place);
        let mut text = String::new();
        for complaint in sorted.iter().take(MOST) {
            self.render_one(complaint, &mut text);
        }
        let count = complaints.len();
        if count > MOST {
            push(&mut text, format_args!("the other {} are not shown\n", count - MOST));
        }
        let noun = if count == 1 { "complaint" } else { "complaints" };
        push(&mut text, format_args!("{count} {noun}; nothing was started\n"));
        text
    }

    fn render_one(&self, complaint: &Complaint, text: &mut String) {
        let message = printable(&complaint.message);
        let Some(place) = complaint.place else {
            push(text, format_args!("{}: {message}\n", self.file));
            push_remedy(complaint, 2, text);
            return;
        };
        let (line, column) = self.line_and_column(place.start);
        let begin = self.floor(place.start);
        let begin = self.text[..begin].rfind('\n').map_or(0, |at| at + 1);
        let source = self.text[begin..].lines().next().unwrap_or_default().trim_end();
        // A very long line is shown from a little before the place on.
        let skipped = if column > WIDTH { column - WIDTH / 2 } else { 0 };
        let shown: String = source.chars().skip(skipped).take(WIDTH).collect();
        let length = self.text
            [self.floor(place.start)..self.floor(place.end).max(self.floor(place.start))]
            .lines()
            .next()
            .map_or(1, |piece| piece.trim_end().chars().count())
            .clamp(1, (shown.chars().count() + 1).saturating_sub(column - 1 - skipped).max(1));
        let gutter = line.to_string().len();
        push(
            text,
            format_args!(
                "{}:{line}:{column}: {message}\n{:gutter$} |\n{line} | {}\n{:gutter$} | {:indent$}{}\n",
                self.file,
                "",
                printable(&shown),
                "",
                "",
                "^".repeat(length),
                indent = column - 1 - skipped,
            ),
        );
        push_remedy(complaint, gutter + 1, text);
    }

    /// The nearest character boundary at or before `offset`.
    fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

fn push_remedy(complaint: &Complaint, indent: usize, text: &mut String) {
    if let Some(remedy) = &complaint.remedy {
        push(text, format_args!("{:indent$}= {}\n", "", printable(remedy)));
    }
    text.push('\n');
}

/// `text` without control characters, so that a file cannot steer the terminal it is shown on.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\t' => ' ',
            char if char.is_control() => '\u{fffd}',
            char => char,
        })
        .collect()
}

/// The word of `known` that is most like `word`, if any is near enough to be meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word: String = word.chars().take(80).collect::<String>().to_lowercase();
    let likeness = |candidate: &str| {
        let part = candidate.split('-').any(|part| part.len() > 2 && part == word);
        strsim::jaro_winkler(&word, candidate)
            .max(strsim::normalized_damerau_levenshtein(&word, candidate))
            .max(if part { 0.85 } else { 0.0 })
    };
    known
        .iter()
        .map(|candidate| (likeness(candidate), *candidate))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_shows_file_line_column_and_the_place_underlined() {
        let source = Source { file: "a.yaml".into(), text: "name: x\r\nstrategey: y\r\n".into() };
        let complaint = Complaint::at(Place { start: 9, end: 18 }, "unknown key `strategey`")
            .suggest("strategey", &["strategies", "name"]);
        assert_eq!(
            source.render(&[complaint]),
            "a.yaml:2:1: unknown key `strategey`\n  |\n2 | strategey: y\n  | ^^^^^^^^^\n  \
             = did you mean `strategies`?\n\n1 complaint; nothing was started\n"
        );
    }

    #[test]
    fn places_beyond_the_text_and_inside_characters_are_shown_all_the_same() {
        let source = Source { file: "a".into(), text: "é: ü".into() };
        for start in 0..9 {
            for end in 0..9 {
                source.render(&[Complaint::at(Place { start, end }, "x")]);
            }
        }
    }

    #[test]
    fn far_words_are_not_guessed() {
        assert_eq!(nearest("redis-lau", &["redis-lua", "redlock"]), Some("redis-lua"));
        assert_eq!(nearest("zzz", &["redis-lua", "redlock"]), None);
    }
}
