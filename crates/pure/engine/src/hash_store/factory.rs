// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash store as the registry has it.

use super::recover::Recovery;
use super::{HashStore, HashStoreConfig};
use crate::EngineConfig;
use saker_engine_api::Capabilities;
use saker_segment_store::SegmentStore;

/// Makes hash stores.
#[derive(Clone, Copy, Debug)]
pub struct Factory;

impl crate::Factory for Factory {
    type Engine = HashStore;
    type Recovery = Recovery;
    const NAME: &'static str = "hash_store";
    const SUMMARY: &'static str = "a log, and an index of all pairs in memory";
    const CODE: Option<u8> = Some(0);
    const CAPABILITIES: Capabilities = super::engine::CAPABILITIES;

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> HashStore {
        HashStore::new(told(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(told(config, m), m)
    }
}

/// What every engine is told, as this store's settings on that medium.
fn told(config: &EngineConfig, m: &dyn SegmentStore) -> HashStoreConfig {
    let mut own = HashStoreConfig::new(config.owner, &m.geometry(), m.quota_segments(), config.ring_lasts);
    own.seed = config.seed.unwrap_or(own.seed);
    own.value_bytes_max = own.value_bytes_max.min(config.value_bytes_max);
    if let Some(bytes) = config.checkpoint_bytes {
        (own.checkpoint_bytes_min, own.checkpoint_index_ratio) = (bytes, 0);
    }
    HashStoreConfig { group_keys: config.group_keys, ..own }
}
