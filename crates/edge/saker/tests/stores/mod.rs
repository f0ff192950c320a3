// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores that threads share, their ranges and spaces, and their futures, on every engine.

mod futures;
mod images;
mod ranges;
mod spaces;

use saker::{EngineKind, Store};

/// A device of an engine.
fn store(engine: &EngineKind) -> Store {
    Store::open(&url(engine)).expect("opens")
}

fn url(engine: &EngineKind) -> String {
    format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name())
}
