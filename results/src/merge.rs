//! Several histories as one, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::{Event, Nanos};
use crate::history_reader::HistoryReader;

/// Merges histories by time; events of one file keep their order.
pub(crate) struct Merge {
    readers: Vec<HistoryReader>,
    /// The next event of each reader.
    heads: Vec<Option<Event>>,
    /// Times of the heads, earliest first.
    order: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Merge {
    pub(crate) fn new(mut readers: Vec<HistoryReader>) -> Self {
        let heads: Vec<_> = readers.iter_mut().map(Iterator::next).collect();
        let order = heads.iter().enumerate();
        let order = order.filter_map(|(place, head)| head.map(|event| Reverse((event.at, place))));
        Self { order: order.collect(), readers, heads }
    }
}

impl Iterator for Merge {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let Reverse((_, place)) = self.order.pop()?;
        let event = std::mem::replace(&mut self.heads[place], self.readers[place].next());
        if let Some(head) = self.heads[place] {
            self.order.push(Reverse((head.at, place)));
        }
        event
    }
}
