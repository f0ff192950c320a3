// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The LSM store as the registry has it.

use super::{LsmConfig, LsmStore, Recovery, settings};
use crate::EngineConfig;
use saker_engine_api::settings::Idle;
use saker_engine_api::{Capabilities, Setting, Settings};
use saker_segment_store::{Geometry, SegmentStore};

/// Makes LSM stores.
#[derive(Clone, Copy, Debug)]
pub struct Factory;

impl crate::Factory for Factory {
    type Engine = LsmStore;
    type Recovery = Recovery;
    const NAME: &'static str = "lsm";
    const SUMMARY: &'static str = "an LSM-tree with its values in a log";
    const CODE: Option<u8> = Some(3);
    const CAPABILITIES: Capabilities = crate::ordered::CAPABILITIES;
    const COUNTS_PAIRS: bool = false;
    const SETTINGS: &'static [Setting] = &settings::SETTINGS;

    fn fits(page_bytes: u32, asked: &Settings) -> Result<(), String> {
        settings::fits(page_bytes, asked)
    }

    fn idle(settings: &Settings) -> Vec<Idle> {
        settings::idle(settings)
    }

    fn sized(geometry: &Geometry, quota_segments: u32) -> Settings {
        let config = LsmConfig::new(1, geometry, quota_segments, false);
        Settings::told(&[
            ("write_buffer_size", config.write_buffer_size),
            ("max_bytes_for_level_base", config.max_bytes_for_level_base),
        ])
    }

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> LsmStore {
        LsmStore::new(told(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(told(config, m), m)
    }
}

/// What every engine is told, as this store's settings on that medium.
fn told(config: &EngineConfig, m: &dyn SegmentStore) -> LsmConfig {
    let geometry = m.geometry();
    let mut own = LsmConfig::new(config.owner, &geometry, m.quota_segments(), config.ring_lasts);
    own.value_bytes_max = own.value_bytes_max.min(config.value_bytes_max);
    own.checkpoint_bytes_min = config.checkpoint_bytes.unwrap_or(own.checkpoint_bytes_min);
    settings::apply(&config.settings, own, &geometry)
}
