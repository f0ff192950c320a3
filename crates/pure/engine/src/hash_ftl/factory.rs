// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash FTLs as the registry has them: points among the settings of one store.

use super::config::{DOUBLES_AT_PERCENT, ORIGINAL_GRAIN_BYTES, PLUS_GRAIN_BYTES};
use super::recover::Recovery;
use super::{HashFtl, HashFtlConfig, settings};
use crate::factory::Pages;
use crate::{EngineConfig, Factory};
use saker_engine_api::settings::Idle;
use saker_engine_api::{Capabilities, Setting, Settings};
use saker_segment_store::{Geometry, SegmentStore};

/// Makes Original FTLs.
#[derive(Clone, Copy, Debug)]
pub struct Original;

impl Factory for Original {
    type Engine = HashFtl;
    type Recovery = Recovery;
    const NAME: &'static str = "hash_original";
    const SUMMARY: &'static str = "grains of 512 bytes, and a hash table on flash";
    const CODE: Option<u8> = Some(1);
    const CAPABILITIES: Capabilities = super::engine::CAPABILITIES;
    const SETTINGS: &'static [Setting] = &settings::SETTINGS;
    const PAGES: Pages = Pages::Grains;

    fn oob_bytes(page_bytes: u32, asked: &Settings) -> u32 {
        HashFtlConfig::oob_bytes(page_bytes, grain_bytes(asked, ORIGINAL_GRAIN_BYTES))
    }

    fn fits(page_bytes: u32, asked: &Settings) -> Result<(), String> {
        fits(page_bytes, grain_bytes(asked, ORIGINAL_GRAIN_BYTES))
    }

    fn idle(asked: &Settings) -> Vec<Idle> {
        idle(asked, original_on)
    }

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> HashFtl {
        HashFtl::new(original(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(original(config, m), m)
    }
}

/// Makes Plus FTLs.
#[derive(Clone, Copy, Debug)]
pub struct Plus;

impl Factory for Plus {
    type Engine = HashFtl;
    type Recovery = Recovery;
    const NAME: &'static str = "hash_plus";
    const SUMMARY: &'static str = "grains of 64 bytes, and a hash table of live entries on flash";
    const CODE: Option<u8> = Some(2);
    const CAPABILITIES: Capabilities = super::engine::CAPABILITIES;
    const SETTINGS: &'static [Setting] = &settings::SETTINGS;
    const PAGES: Pages = Pages::Grains;

    fn oob_bytes(page_bytes: u32, asked: &Settings) -> u32 {
        HashFtlConfig::oob_bytes(page_bytes, grain_bytes(asked, PLUS_GRAIN_BYTES))
    }

    fn fits(page_bytes: u32, asked: &Settings) -> Result<(), String> {
        fits(page_bytes, grain_bytes(asked, PLUS_GRAIN_BYTES))
    }

    fn idle(asked: &Settings) -> Vec<Idle> {
        idle(asked, HashFtlConfig::plus)
    }

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> HashFtl {
        HashFtl::new(plus(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(plus(config, m), m)
    }
}

/// Makes Original FTLs with a table that doubles.
#[derive(Clone, Copy, Debug)]
pub struct Doubling;

impl Factory for Doubling {
    type Engine = HashFtl;
    type Recovery = Recovery;
    const NAME: &'static str = "hash_doubling";
    const SUMMARY: &'static str = "hash_original with a table that starts small and doubles";
    const CODE: Option<u8> = Some(5);
    const CAPABILITIES: Capabilities = super::engine::CAPABILITIES;
    const SETTINGS: &'static [Setting] = &settings::SETTINGS;
    const PAGES: Pages = Pages::Grains;

    fn oob_bytes(page_bytes: u32, asked: &Settings) -> u32 {
        HashFtlConfig::oob_bytes(page_bytes, grain_bytes(asked, ORIGINAL_GRAIN_BYTES))
    }

    fn fits(page_bytes: u32, asked: &Settings) -> Result<(), String> {
        fits(page_bytes, grain_bytes(asked, ORIGINAL_GRAIN_BYTES))
    }

    fn idle(asked: &Settings) -> Vec<Idle> {
        idle(asked, doubling_on)
    }

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> HashFtl {
        HashFtl::new(doubling(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(doubling(config, m), m)
    }
}

fn grain_bytes(asked: &Settings, own: u32) -> u32 {
    settings::grain_bytes(asked).unwrap_or(own)
}

fn fits(page_bytes: u32, grain_bytes: u32) -> Result<(), String> {
    if page_bytes.is_multiple_of(grain_bytes) {
        return Ok(());
    }
    Err(format!("pages of {page_bytes} bytes are not whole grains of {grain_bytes}"))
}

/// An engine's own settings on some flash: what else they say does not follow from its shape.
fn idle(asked: &Settings, own: fn(u16, &Geometry, u32, bool) -> HashFtlConfig) -> Vec<Idle> {
    let some = Geometry { page_bytes: 4096, oob_bytes: 0, segment_pages: 256, segments: 64 };
    settings::idle(asked, &own(1, &some, some.segments, true))
}

fn original_on(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> HashFtlConfig {
    HashFtlConfig::original(owner, geometry, quota_segments, ring_lasts, ORIGINAL_GRAIN_BYTES)
}

fn doubling_on(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> HashFtlConfig {
    let original = original_on(owner, geometry, quota_segments, ring_lasts);
    HashFtlConfig { doubles_at_percent: Some(DOUBLES_AT_PERCENT), ..original }
}

fn original(config: &EngineConfig, m: &dyn SegmentStore) -> HashFtlConfig {
    told(config, original_on(config.owner, &m.geometry(), m.quota_segments(), config.ring_lasts))
}

fn plus(config: &EngineConfig, m: &dyn SegmentStore) -> HashFtlConfig {
    told(config, HashFtlConfig::plus(config.owner, &m.geometry(), m.quota_segments(), config.ring_lasts))
}

fn doubling(config: &EngineConfig, m: &dyn SegmentStore) -> HashFtlConfig {
    let original = original(config, m);
    let percent = original.doubles_at_percent.or(Some(DOUBLES_AT_PERCENT));
    HashFtlConfig { doubles_at_percent: percent, ..original }
}

/// What every engine is told, as such a store's settings.
fn told(config: &EngineConfig, own: HashFtlConfig) -> HashFtlConfig {
    let own = HashFtlConfig {
        seed: config.seed.unwrap_or(own.seed),
        value_bytes_max: own.value_bytes_max.min(config.value_bytes_max),
        ..own
    };
    settings::apply(&config.settings, own)
}
