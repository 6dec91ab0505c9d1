//! `control-none`: no lock and no guard, which must be convicted.

use crate::catalog::no_lock::{self, NOTHING};
use crate::options::{self, NoOptions};
use crate::strategy::{Entry, Role};

/// The entry of the catalogue.
pub(super) const ENTRY: Entry = Entry {
    name: "control-none",
    summary: "no lock and no guard: must be convicted",
    page: PAGE,
    role: Role::Control { guilty: true },
    claims: NOTHING,
    renews: true,
    needs: &[],
    one_process: false,
    schema: options::schema::<NoOptions>,
    build: no_lock::build,
};

const PAGE: &str = "\
A control with a known answer: every acquire is granted at once, so the judge must convict it in every run. A run in which it
is not convicted has shown nothing about the other strategies either.

**On the wire.** Nothing.

**Does not promise.** Anything.
";
