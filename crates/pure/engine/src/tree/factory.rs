// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tree store as the registry has it.

use super::config::{self, TreeConfig};
use super::{Recovery, TreeStore};
use crate::EngineConfig;
use saker_engine_api::{Capabilities, Setting, Settings};
use saker_segment_store::{Geometry, SegmentStore};

/// Makes tree stores.
#[derive(Clone, Copy, Debug)]
pub struct Factory;

impl crate::Factory for Factory {
    type Engine = TreeStore;
    type Recovery = Recovery;
    const NAME: &'static str = "tree";
    const SUMMARY: &'static str = "a copy-on-write B+tree with its values in a log";
    const CODE: Option<u8> = Some(4);
    const CAPABILITIES: Capabilities = crate::ordered::CAPABILITIES;
    const COUNTS_PAIRS: bool = false;
    const SETTINGS: &'static [Setting] = &config::SETTINGS;

    fn sized(geometry: &Geometry, quota_segments: u32) -> Settings {
        let config = TreeConfig::new(1, geometry, quota_segments, false);
        Settings::told(&[
            ("cache_bytes", config.node_cache_bytes),
            ("write_buffer_size", config.write_buffer_size),
        ])
    }

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> TreeStore {
        TreeStore::new(told(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(told(config, m), m)
    }
}

/// What every engine is told, as this store's settings on that medium.
fn told(config: &EngineConfig, m: &dyn SegmentStore) -> TreeConfig {
    let mut own = TreeConfig::new(config.owner, &m.geometry(), m.quota_segments(), config.ring_lasts);
    own.value_bytes_max = own.value_bytes_max.min(config.value_bytes_max);
    own.checkpoint_bytes_min = config.checkpoint_bytes.unwrap_or(own.checkpoint_bytes_min);
    config::apply(&config.settings, own)
}
