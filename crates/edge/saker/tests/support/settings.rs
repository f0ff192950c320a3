// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings that images keep.

use saker::{EngineKind, Setting, Settings};

/// Settings that an image of that engine keeps, each in the middle of what it takes.
pub fn kept_settings(engine: EngineKind) -> Settings {
    // What is kept for a hybrid's main tree decides nothing of the engine's own flash, and is refused where there is no main tree.
    let own = |setting: &&Setting| setting.place().is_some() && setting.name != "main_min_blob_size";
    let kept = engine.settings().iter().filter(own);
    let asked: Vec<_> = kept.map(|setting| (setting.name, setting.range().1 / 2)).collect();
    Settings::told(&asked)
}

/// The same as options of a URL, each behind a `&`.
#[allow(dead_code, reason = "not every program of tests writes URLs with them")]
pub fn options(engine: EngineKind, asked: &Settings) -> String {
    let option = |(name, number): (&str, u64)| {
        let setting = engine.settings().iter().find(|setting| setting.name == name).expect("a setting");
        format!("&{name}={}", setting.written(number))
    };
    asked.iter().map(option).collect()
}
