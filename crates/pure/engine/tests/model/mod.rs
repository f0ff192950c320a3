// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine of the registry passes the suites.

mod groups;
mod side_by_side;

use saker_engine::EngineKind;
use saker_engine_suite::Subject;

/// An engine on small flash. The hash store keeps fewer segments back, and does with half of them.
fn subject(kind: EngineKind) -> Subject {
    let segments = if kind == EngineKind::HASH_STORE { 20 } else { 40 };
    // Tables or nodes and the room to merge them take their share of 40 segments.
    let least_pairs = if kind.counts_pairs() { 400 } else { 250 };
    Subject { segments, least_pairs, ..Subject::new(kind) }
}

/// A module of tests for each engine.
macro_rules! all_suites {
    ($($name:ident $kind:ident;)*) => {
        $(saker_engine_suite::tests!($name, subject(EngineKind::$kind));)*
    };
}

saker_engine::for_each_engine!(all_suites);

/// The LSM store with values in its tree: those of fewer bytes than `min_blob_size`.
const fn with_values(settings: &'static [(&'static str, &'static str)]) -> Subject {
    Subject { settings, ..Subject::new(EngineKind::LSM) }
}

saker_engine_suite::tests!(lsm_from_64, with_values(&[("min_blob_size", "64")]));
saker_engine_suite::tests!(lsm_from_4096, with_values(&[("min_blob_size", "4096"), ("block_size", "512")]));
saker_engine_suite::tests!(
    lsm_auto,
    with_values(&[("min_blob_size", "auto"), ("write_buffer_size", "2048")])
);
saker_engine_suite::tests!(lsm_unlimited, with_values(&[("min_blob_size", "unlimited")]));
