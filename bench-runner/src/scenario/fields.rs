//! Reads a block of keys: each key is asked for by name, and what nobody asked for is a complaint.

use crate::complaint::{Complaint, Place};
use crate::yaml::{Node, Pair, Shape};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

/// A block of keys that is being read.
pub struct Fields<'n> {
    what: &'static str,
    pairs: &'n [Pair],
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Opens `node`, which goes by the name `what`; complains unless it is a block of keys.
    pub fn open(
        node: &'n Node,
        what: &'static str,
        complaints: &mut Vec<Complaint>,
    ) -> Option<Self> {
        if let Shape::Map(pairs) = &node.shape {
            return Some(Self { what, pairs, asked: Vec::new() });
        }
        complaints.push(
            Complaint::at(
                node.place,
                format!("{what} must be a block of keys, not {}", node.kind()),
            )
            .remedy("write keys with values, or remove it to have the defaults"),
        );
        None
    }

    /// The value of `key`, if it stands there.
    pub fn take(&mut self, key: &'static str) -> Option<&'n Node> {
        self.take_pair(key).map(|pair| &pair.value)
    }

    /// `key` and its value, if it stands there.
    pub fn take_pair(&mut self, key: &'static str) -> Option<&'n Pair> {
        self.asked.push(key);
        self.pairs.iter().find(|pair| pair.key == key)
    }

    /// Complains if `key` stands there, because this build does not have it.
    pub fn not_built(&mut self, key: &'static str, complaints: &mut Vec<Complaint>) {
        if let Some(pair) = self.pairs.iter().find(|pair| pair.key == key) {
            complaints.push(not_built(pair.place, key));
            self.asked.push(key);
        }
    }

    /// Complains about every key that nobody asked for.
    pub fn finish(self, complaints: &mut Vec<Complaint>) {
        for pair in self.pairs {
            if !self.asked.contains(&pair.key.as_str()) {
                complaints.push(
                    Complaint::at(
                        pair.place,
                        format!("unknown key `{}` in {}", pair.key, self.what),
                    )
                    .suggest(&pair.key, &self.asked),
                );
            }
        }
    }
}

/// The complaint about something that is planned and not there yet.
pub fn not_built(place: Place, name: &str) -> Complaint {
    Complaint::at(place, format!("`{name}` is not built yet"))
        .remedy("`lockbench list` shows what this build has")
}
