// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings by name. What decides how grains and sections lie on flash is chosen when a namespace is made.

use super::config::{Choice, FirstLevel, HashFtlConfig, Layout, SLOTS_MAX, Validity};
use saker_engine_api::settings::{BitField, Idle, Phase, Setting, Settings, Values};

/// How validity is known.
const VALIDITY: &str = "validity";
/// How sections are laid out.
const LAYOUT: &str = "layout";
/// The smallest unit that is written.
const GRAIN: &str = "grain_bytes";

/// Memory for sections.
const CACHE: &str = "cache_bytes";
/// Mappings of a page of them.
const PAGE_MAPPINGS: &str = "page_mappings";
/// Which superblock is collected.
const VICTIMS: &str = "victims";
/// When a fixed table doubles.
const DOUBLES: &str = "doubles_at_percent";

/// What the engine itself has.
const OWN: &str = "own";
const GRAINS: [&str; 8] = [OWN, "64", "128", "256", "512", "1024", "2048", "4096"];
const GRAIN_BYTES_MIN: u32 = 64;

const fn stored(
    name: &'static str,
    values: Values,
    (shift, bits): (u32, u32),
    help: &'static str,
) -> Setting {
    Setting { name, values, phase: Phase::Stored(BitField { shift, bits }), default: OWN, help }.checked()
}

/// All of them.
pub static SETTINGS: [Setting; 7] = [
    Setting {
        name: CACHE,
        values: Values::Number(0, 1 << 48),
        phase: Phase::Live,
        default: "a sixteenth of a table of 512-byte grains",
        help: "memory for sections of the table",
    },
    Setting {
        name: PAGE_MAPPINGS,
        values: Values::Number(1, u32::MAX as u64),
        phase: Phase::AtOpen,
        default: "as many as fit",
        help: "invalid mappings that a page of them takes at most",
    },
    Setting {
        name: VICTIMS,
        values: Values::Words(&["cost_benefit", "greedy"]),
        phase: Phase::AtOpen,
        default: "cost_benefit",
        help: "which superblock is collected: by gain, age and cost, or the one with the fewest valid grains",
    },
    stored(GRAIN, Values::Words(&GRAINS), (12, 4), "the smallest unit that is written"),
    stored(
        VALIDITY,
        Values::Words(&[OWN, "grain_bitmap", "invalid_pages"]),
        (16, 2),
        "how valid grains are known",
    ),
    stored(
        LAYOUT,
        Values::Words(&[OWN, "fixed", "live_only"]),
        (18, 2),
        "how sections of the table are laid out",
    ),
    stored(
        DOUBLES,
        Values::Number(0, 100),
        (20, 7),
        "a fixed table starts small and doubles at that load; 0: own",
    ),
];

/// Settings that do nothing beside the others, of an engine that has this of its own.
pub fn idle(settings: &Settings, own: &HashFtlConfig) -> Vec<Idle> {
    let (asked, mut idle) = (apply(settings, *own), Vec::new());
    if asked.layout != Layout::Fixed && asked.doubles_at_percent.is_some() {
        let why = "only fixed sections double, and they are live_only";
        idle.push(match own.doubles_at_percent {
            None => Idle { name: DOUBLES, why, todo: "add layout=fixed, or leave it out" },
            Some(_) => Idle { name: LAYOUT, why, todo: "use engine hash_plus, or leave it out" },
        });
    }
    if asked.validity != Validity::InvalidPages && asked.page_mappings.is_some() {
        let why = "a bitmap of grains has no mappings";
        idle.push(Idle { name: PAGE_MAPPINGS, why, todo: "add validity=invalid_pages, or leave it out" });
    }
    idle
}

/// Asks for a grain of so many bytes, if there is such a choice.
pub fn grain_choice(bytes: u32) -> Option<u64> {
    GRAINS.iter().position(|word| word.parse() == Ok(bytes)).map(|at| at as u64)
}

/// Bytes of a grain, if they were asked for.
pub fn grain_bytes(settings: &Settings) -> Option<u32> {
    let choice = settings.get(GRAIN)?.checked_sub(1)?;
    Some(GRAIN_BYTES_MIN << choice)
}

/// Bytes of the cache, if they were asked for.
pub fn cache_bytes(settings: &Settings) -> Option<u64> {
    settings.get(CACHE)
}

/// A store's settings by name. A layout that no word asks for is the engine's own.
pub fn told(config: &HashFtlConfig) -> Settings {
    let validity = match config.validity {
        Validity::GrainBitmap => 1,
        Validity::InvalidPages => 2,
    };
    let layout = match config.layout {
        Layout::Fixed => 1,
        Layout::LiveOnly { first_level: FirstLevel::Growing, offsets_when_full: false } => 2,
        Layout::LiveOnly { .. } => 0,
    };
    let grain = grain_choice(config.grain_bytes).unwrap_or(0);
    let doubles = config.doubles_at_percent.map_or(0, u64::from);
    let mut all = vec![(CACHE, config.cache_bytes), (GRAIN, grain), (VALIDITY, validity)];
    all.extend([(LAYOUT, layout), (DOUBLES, doubles)]);
    all.extend((config.victims == Choice::Greedy).then_some((VICTIMS, 1)));
    all.extend(config.page_mappings.map(|n| (PAGE_MAPPINGS, u64::from(n))));
    Settings::told(&all)
}

/// A store's settings with what was asked for; there are as many hash indexes as grains.
pub fn apply(settings: &Settings, config: HashFtlConfig) -> HashFtlConfig {
    let grain_bytes = grain_bytes(settings).unwrap_or(config.grain_bytes);
    let doubles = settings.get(DOUBLES).filter(|percent| *percent > 0);
    HashFtlConfig {
        cache_bytes: cache_bytes(settings).unwrap_or(config.cache_bytes),
        grain_bytes,
        slots: (config.slots * u64::from(config.grain_bytes) / u64::from(grain_bytes)).min(SLOTS_MAX),
        validity: match settings.get(VALIDITY) {
            Some(1) => Validity::GrainBitmap,
            Some(2) => Validity::InvalidPages,
            _ => config.validity,
        },
        layout: match settings.get(LAYOUT) {
            Some(1) => Layout::Fixed,
            Some(2) => Layout::LiveOnly { first_level: FirstLevel::Growing, offsets_when_full: false },
            _ => config.layout,
        },
        victims: match settings.get(VICTIMS) {
            Some(0) => Choice::CostBenefit,
            Some(_) => Choice::Greedy,
            None => config.victims,
        },
        page_mappings: settings.get(PAGE_MAPPINGS).map(|n| n as u32).or(config.page_mappings),
        doubles_at_percent: doubles.map(|percent| percent as u8).or(config.doubles_at_percent),
        ..config
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_segment_store::Geometry;

    const GEOMETRY: Geometry =
        Geometry { page_bytes: 4096, oob_bytes: 640, segment_pages: 256, segments: 64 };

    fn config(asked: &[(&str, u64)]) -> HashFtlConfig {
        let mut settings = Settings::NONE;
        asked.iter().for_each(|(name, value)| settings.set(&SETTINGS, name, *value).unwrap());
        apply(&settings, HashFtlConfig::original(1, &GEOMETRY, 64, true, 512))
    }

    #[test]
    fn every_setting_reaches_the_configuration() {
        let plain = config(&[]);
        assert_eq!(plain, HashFtlConfig::original(1, &GEOMETRY, 64, true, 512));
        for setting in &SETTINGS {
            assert!(config(&[(setting.name, setting.range().1)]) != plain, "{}", setting.name);
        }
        let own = SETTINGS.iter().filter(|setting| setting.place().is_some());
        own.for_each(|setting| assert_eq!(config(&[(setting.name, 0)]), plain, "{}", setting.name));
    }

    #[test]
    fn what_does_nothing_is_named() {
        let plus = HashFtlConfig::plus(1, &GEOMETRY, 64, true);
        let doubling = HashFtlConfig { doubles_at_percent: Some(80), ..config(&[]) };
        let names = |own: &HashFtlConfig, asked: &[(&'static str, u64)]| {
            idle(&Settings::told(asked), own).iter().map(|idle| idle.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&plus, &[(DOUBLES, 50), (PAGE_MAPPINGS, 8)]), [DOUBLES]);
        assert_eq!(names(&plus, &[(DOUBLES, 50), (LAYOUT, 1)]), [""; 0]);
        assert_eq!(names(&plus, &[(DOUBLES, 0)]), [""; 0]);
        assert_eq!(names(&config(&[]), &[(DOUBLES, 50), (PAGE_MAPPINGS, 8)]), [PAGE_MAPPINGS]);
        assert_eq!(names(&config(&[]), &[(VALIDITY, 2), (PAGE_MAPPINGS, 8)]), [""; 0]);
        assert_eq!(names(&doubling, &[(LAYOUT, 2)]), [LAYOUT]);
        assert_eq!(names(&doubling, &[(DOUBLES, 50)]), [""; 0]);
    }

    #[test]
    fn what_is_told_asks_for_the_same() {
        let most = |setting: &Setting| (setting.name, setting.range().1);
        for asked in [vec![], SETTINGS.iter().map(most).collect::<Vec<_>>()] {
            let there = config(&asked);
            assert_eq!(apply(&told(&there), config(&[])), there);
        }
        assert_eq!(told(&config(&[(CACHE, 7)])).get(CACHE), Some(7));
    }

    #[test]
    fn grains_are_chosen_by_their_bytes() {
        for word in &GRAINS[1..] {
            let bytes = word.parse().unwrap();
            let asked = config(&[(GRAIN, grain_choice(bytes).unwrap())]);
            assert_eq!((asked.grain_bytes, asked.slots), (bytes, 64 * 256 * 4096 / u64::from(bytes)));
        }
        assert_eq!(grain_choice(100), None);
    }
}
