//! Settings that images keep.

use saker::{EngineKind, Settings};

/// Settings that an image of that engine keeps, each in the middle of what it takes.
pub fn kept_settings(engine: EngineKind) -> Settings {
    let kept = engine.settings().iter().filter(|setting| setting.place().is_some());
    let asked: Vec<_> = kept.map(|setting| (setting.name, setting.range().1 / 2)).collect();
    Settings::told(&asked)
}
