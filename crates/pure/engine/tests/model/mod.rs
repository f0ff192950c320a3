//! Every engine of the registry passes the suites.

mod groups;

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
