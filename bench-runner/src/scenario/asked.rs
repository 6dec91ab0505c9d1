//! How the lock is asked for, and what a strategy or workload overrides of that.

use std::time::Duration;

use crate::complaint::Complaint;
use crate::scenario::fields::{Fields, Placed};
use crate::scenario::values::{Bounds, Length, flag, length};
use crate::yaml::{Node, Pair, Shape};

/// Length and kind of lease.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lease {
    /// How long.
    pub length: Length,
    /// Whether the client keeps it alive.
    pub renewed: bool,
}

/// What one block says about the lock; `None` where it says nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// The lease.
    pub lease: Option<Placed<Lease>>,
    /// How long a caller waits.
    pub patience: Option<Placed<Length>>,
    /// Whether work may outlive the lease.
    pub allow_short_lease: Option<bool>,
}

impl Overrides {
    /// The keys that belong to the lock wherever they stand.
    pub const KEYS: [&'static str; 3] = ["lease", "patience", "allow-short-lease"];

    /// What holds where `over` stands above `self`.
    #[must_use]
    pub fn under(&self, over: &Self) -> Self {
        Self {
            lease: over.lease.clone().or_else(|| self.lease.clone()),
            patience: over.patience.clone().or_else(|| self.patience.clone()),
            allow_short_lease: over.allow_short_lease.or(self.allow_short_lease),
        }
    }
}

/// Shortest lease.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(1);

/// The block `lock`.
pub fn read_lock(node: &Node, complaints: &mut Vec<Complaint>) -> Overrides {
    let Some(mut fields) = Fields::open(node, "lock", complaints) else {
        return Overrides::default();
    };
    let overrides = take(&mut fields, complaints);
    fields.finish(complaints);
    overrides
}

/// The keys of the lock in the block of a strategy or workload.
pub fn read_overrides(pairs: &[Pair], complaints: &mut Vec<Complaint>) -> Overrides {
    let node =
        Node { shape: Shape::Map(pairs.to_vec()), place: crate::complaint::Place::default() };
    Fields::open(&node, "lock", complaints)
        .map(|mut fields| take(&mut fields, complaints))
        .unwrap_or_default()
}

fn take(fields: &mut Fields<'_>, complaints: &mut Vec<Complaint>) -> Overrides {
    let [lease_key, patience_key, allow_key] = Overrides::KEYS;
    let lease = fields
        .take(lease_key)
        .and_then(|node| lease(node, complaints).map(|value| Placed { value, place: node.place }));
    let patience = fields.take(patience_key).and_then(|node| {
        length("patience", Bounds::from(Duration::ZERO), node, complaints)
            .map(|value| Placed { value, place: node.place })
    });
    let allow_short_lease =
        fields.take(allow_key).and_then(|node| flag(allow_key, node, complaints));
    Overrides { lease, patience, allow_short_lease }
}

fn lease(node: &Node, complaints: &mut Vec<Complaint>) -> Option<Lease> {
    let bounds = Bounds::from(SHORTEST_LEASE);
    if matches!(node.shape, Shape::Map(_)) {
        let mut fields = Fields::open(node, "lease", complaints)?;
        let renewed = fields.take("renewed");
        fields.finish(complaints);
        let Some(renewed) = renewed else {
            complaints.push(
                Complaint::at(node.place, "this lease has no length")
                    .remedy("write lease: 2s, or lease: { renewed: 30s }"),
            );
            return None;
        };
        let length = length("lease", bounds, renewed, complaints)?;
        return own_multiple(node, length, complaints)
            .map(|length| Lease { length, renewed: true });
    }
    let length = length("lease", bounds, node, complaints)?;
    own_multiple(node, length, complaints).map(|length| Lease { length, renewed: false })
}

fn own_multiple(node: &Node, length: Length, complaints: &mut Vec<Complaint>) -> Option<Length> {
    if matches!(length, Length::Leases(_)) {
        complaints.push(
            Complaint::at(node.place, "the lease cannot be a multiple of itself")
                .remedy("write a duration, or a multiple of the work"),
        );
        return None;
    }
    Some(length)
}
