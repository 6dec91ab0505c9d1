//! The only module that reads YAML: text to a tree whose every key and value knows its place.
//!
//! Scalars stay the text that stands in the file, so nothing is coerced before somebody knows what is wanted.

use std::collections::HashMap;

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span, StrInput};

use crate::complaint::{Complaint, Place};

/// Longest text that is parsed, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Most nodes of a tree, those that aliases repeat included.
const MAX_NODES: usize = 20_000;
/// After so many complaints, keys are not looked at any more.
const MAX_COMPLAINTS: usize = 200;
/// Deepest nesting.
const MAX_DEPTH: usize = 32;

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub shape: Shape,
    /// Where it stands.
    pub place: Place,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A word, a number, a text.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// Keys with values, in the order of the file, each key once.
    Map(Vec<Pair>),
}

/// A scalar as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Its text; escapes are resolved.
    pub text: String,
    /// Whether it stands without quotes.
    pub plain: bool,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Whether it is nothing: left empty, `~` or `null`.
    pub fn is_empty(&self) -> bool {
        matches!(&self.shape, Shape::Scalar(scalar)
            if scalar.plain && matches!(scalar.text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Its kind, in words.
    pub fn kind(&self) -> &'static str {
        match &self.shape {
            _ if self.is_empty() => "nothing",
            Shape::Scalar(_) => "a single value",
            Shape::List(_) => "a list",
            Shape::Map(_) => "a block of keys",
        }
    }
}

/// Reads the one document in `text`. Complaints that still allow a tree (duplicate keys) are added to `complaints`.
///
/// # Errors
///
/// The complaint that there is no tree at all.
pub fn read(text: &str, complaints: &mut Vec<Complaint>) -> Result<Node, Complaint> {
    if text.len() > MAX_BYTES {
        return Err(Complaint::of_file(format!(
            "the file is longer than {} KiB",
            MAX_BYTES / 1024
        ))
        .remedy("a scenario is a page or two; is this the right file?"));
    }
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        disallow_directives: true,
    };
    let parser = Parser::new_from_str_with_options(text, options);
    Builder { text, parser, anchors: HashMap::new(), nodes: 0, complaints }.document()
}

struct Builder<'t, 'c> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    complaints: &'c mut Vec<Complaint>,
}

impl<'t> Builder<'t, '_> {
    fn document(mut self) -> Result<Node, Complaint> {
        let root = loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) => {}
                Event::StreamEnd | Event::DocumentEnd => {
                    return Err(Complaint::of_file("the file holds no scenario")
                        .remedy("`lockbench init` writes one to begin with"));
                }
                event => break self.node(event, span, 0)?,
            }
        };
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(..) => {
                    return Err(Complaint::at(place(self.text, span), "a second document begins")
                        .remedy("one file holds one scenario"));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Complaint> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(unreadable(self.text, &error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Complaint> {
        let place = place(self.text, span);
        self.count(1, place)?;
        if depth > MAX_DEPTH {
            return Err(Complaint::at(place, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let before = self.nodes;
        let (shape, end, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(tag) = tag {
                    self.complaints.push(refused_tag(place, &tag.original()));
                }
                let plain = style == ScalarStyle::Plain;
                (Shape::Scalar(Scalar { text: text.into_owned(), plain }), place.end, anchor)
            }
            Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag)
                if tag.is_some() =>
            {
                let _ = anchor;
                let tag = tag.map(|tag| tag.original()).unwrap_or_default();
                return Err(refused_tag(place, &tag));
            }
            Event::SequenceStart(_, anchor, _) => {
                let (items, end) = self.list(depth)?;
                (Shape::List(items), end, anchor)
            }
            Event::MappingStart(_, anchor, _) => {
                let (pairs, end) = self.map(depth)?;
                (Shape::Map(pairs), end, anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, place),
            _ => return Err(Complaint::at(place, "a value is missing here")),
        };
        let node = Node { shape, place: Place { start: place.start, end: end.max(place.start) } };
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before + 1));
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<Node, Complaint> {
        let Some((node, size)) = self.anchors.get(&anchor) else {
            return Err(Complaint::at(place, "this alias stands inside what it names"));
        };
        let size = *size;
        let node = node.clone();
        self.count(size, place)?;
        Ok(node)
    }

    fn count(&mut self, more: usize, place: Place) -> Result<(), Complaint> {
        self.nodes += more;
        if self.nodes > MAX_NODES {
            return Err(Complaint::at(place, format!("more than {MAX_NODES} values"))
                .remedy("aliases that repeat aliases multiply"));
        }
        Ok(())
    }

    fn list(&mut self, depth: usize) -> Result<(Vec<Node>, usize), Complaint> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => return Ok((items, place(self.text, span).end)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<(Vec<Pair>, usize), Complaint> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut merged: Vec<Pair> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let end = place(self.text, span).end;
                for pair in merged {
                    if !pairs.iter().any(|own: &Pair| own.key == pair.key) {
                        pairs.push(pair);
                    }
                }
                return Ok((pairs, end));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            match key.shape {
                Shape::Scalar(Scalar { text, plain: true }) if text == "<<" => {
                    merged.extend(merge(value)?);
                }
                Shape::Scalar(Scalar { text, .. }) => {
                    self.add(&mut pairs, Pair { key: text, place: key.place, value });
                }
                _ => return Err(Complaint::at(key.place, "a key must be a single word")),
            }
        }
    }

    fn add(&mut self, pairs: &mut Vec<Pair>, pair: Pair) {
        if self.complaints.len() >= MAX_COMPLAINTS {
            return;
        }
        let Some(first) = pairs.iter().find(|first| first.key == pair.key) else {
            pairs.push(pair);
            return;
        };
        let line = self.text[..first.place.start].matches('\n').count() + 1;
        self.complaints.push(
            Complaint::at(pair.place, format!("duplicate key `{}`", pair.key))
                .remedy(format!("it stands in line {line} already; keep one of the two")),
        );
    }
}

fn merge(value: Node) -> Result<Vec<Pair>, Complaint> {
    match value.shape {
        Shape::Map(pairs) => Ok(pairs),
        Shape::List(items) => {
            let mut all: Vec<Pair> = Vec::new();
            for item in items {
                for pair in merge(item)? {
                    if !all.iter().any(|own| own.key == pair.key) {
                        all.push(pair);
                    }
                }
            }
            Ok(all)
        }
        Shape::Scalar(_) => Err(Complaint::at(value.place, "`<<` merges blocks of keys only")),
    }
}

fn refused_tag(place: Place, tag: &str) -> Complaint {
    Complaint::at(place, format!("tags such as `{tag}` mean nothing here"))
        .remedy("write the value without its tag")
}

fn place(text: &str, span: Span) -> Place {
    let range = span.byte_range().unwrap_or(text.len()..text.len());
    Place { start: range.start.min(text.len()), end: range.end.min(text.len()) }
}

fn unreadable(text: &str, error: &granit_parser::ScanError) -> Complaint {
    let start = error.marker().byte_offset().unwrap_or_else(|| {
        text.char_indices().nth(error.marker().index()).map_or(text.len(), |(at, _)| at)
    });
    let info = error.info();
    if info.contains("recursion limit") {
        return Complaint::at(
            Place { start, end: start + 1 },
            format!("nested deeper than {MAX_DEPTH} levels"),
        );
    }
    let complaint = Complaint::at(Place { start, end: start + 1 }, format!("not YAML: {info}"));
    let line = text[..start.min(text.len())].rfind('\n').map_or(0, |at| at + 1);
    if text.get(line..).is_some_and(|rest| {
        rest.lines().next().is_some_and(|line| {
            line.chars().take_while(|char| char.is_whitespace()).any(|char| char == '\t')
        })
    }) {
        return complaint.remedy("indent with spaces, not with tabs");
    }
    complaint
}

#[cfg(test)]
mod tests;
