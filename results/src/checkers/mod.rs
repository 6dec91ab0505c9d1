//! The checkers, one file each.

use crate::checker::{Checker, History};
use crate::trial::Check;
use crate::verdict::Finding;

mod grant_born_dead;
mod leak;
mod lost_update;
mod lost_wake_up;
mod mutual_exclusion;
mod non_owner_release;
mod oversell;
mod starvation;

/// The checker behind an entry of `checks`.
pub fn checker(check: &Check) -> Box<dyn Checker> {
    match check {
        Check::MutualExclusion => Box::new(mutual_exclusion::MutualExclusion),
        Check::NonOwnerRelease => Box::new(non_owner_release::NonOwnerRelease),
        Check::GrantBornDead => Box::new(grant_born_dead::GrantBornDead),
        Check::LostWakeUp { bound_ns } => {
            Box::new(lost_wake_up::LostWakeUp { bound_ns: *bound_ns })
        }
        Check::Starvation => Box::new(starvation::Starvation),
        Check::Leak => Box::new(leak::Leak),
        Check::Oversell => Box::new(oversell::Oversell),
        Check::LostUpdate => Box::new(lost_update::LostUpdate),
    }
}

/// What each of `checks` finds in `history`, in their order.
pub fn all_findings(checks: &[Check], history: &History) -> Vec<Finding> {
    checks.iter().map(|check| checker(check).check(history)).collect()
}
