// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices so small, and settings so tight, that every mechanism of an engine is at work within some thousand operations.

use super::Side;
use saker_assembly::Build;
use saker_device::{EngineKind, NamespaceConfig};
use saker_engine::{EngineConfig, Settings};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_profile::Profile;
use saker_segment_store::Geometry;
use saker_sim::Chance;

/// What a history is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The engine.
    pub engine: EngineKind,
    /// Where it runs.
    pub side: Side,
    /// The seed of the script, of key order and of what cuts leave. With every fourth one some programs fail.
    pub seed: u64,
    /// Whether a capacitor keeps the power-safe page buffer.
    pub capacitor: bool,
    /// The memtable of `lsm` and the write buffer of `tree`, in bytes.
    pub write_buffer_bytes: u64,
    /// Which `min_blob_size` of `lsm`: the place of its word; 0: all values are in the value log.
    pub min_blob_size: u64,
    /// A tenth of the flash: for histories that are cut, of which there are many.
    pub short: bool,
}

/// Flash pages, in bytes.
const PAGE_BYTES: u32 = 2048;
const SHORT_PAGE_BYTES: u32 = 1024;
/// With a seed that is a multiple of it, some programs fail.
const FAULTS_EVERY: u64 = 4;
/// Extents of HostKV's log, in bytes.
pub(super) const EXTENT_BYTES: u64 = 256 << 10;
/// Logical blocks, and HostKV's pages.
const BLOCK_BYTES: u32 = 4096;

impl Setup {
    /// The usual one, with a capacitor.
    pub fn new(engine: EngineKind, side: Side, seed: u64) -> Self {
        Self {
            engine,
            side,
            seed,
            capacitor: true,
            write_buffer_bytes: 16 << 10,
            min_blob_size: 0,
            short: false,
        }
    }

    /// The longest value of the script, in bytes.
    pub(super) fn value_bytes_max(&self) -> u64 {
        match (self.side, self.short) {
            (Side::Host, _) => 6000,
            (_, false) => 3600,
            (_, true) => 900,
        }
    }

    /// The device.
    pub(super) fn build(&self) -> Build {
        let geometry = match (self.side, self.short) {
            (Side::Host, _) => geometry(BLOCK_BYTES, 32, 96),
            (_, false) => geometry(PAGE_BYTES, 32, 48),
            (_, true) => geometry(SHORT_PAGE_BYTES, 16, 30),
        };
        let namespace = match self.side {
            Side::Host => {
                NamespaceConfig::block(1, &geometry, geometry.segments, self.capacitor, BLOCK_BYTES)
            }
            _ => NamespaceConfig::kv(1, &geometry, geometry.segments, self.seed),
        };
        let profile = Profile::builtin("tiny").expect("built in");
        let shape = Shape { geometry, channels: 2, luns: 4 };
        let mut build = Build::with(&profile, shape, vec![namespace], self.seed).with_engine(self.engine);
        build.host_page_bytes = BLOCK_BYTES;
        if self.seed.is_multiple_of(FAULTS_EVERY) {
            build.faults =
                FaultPlan { seed: self.seed, program: Chance::one_in(250), ..FaultPlan::default() };
        }
        let config = &mut build.config;
        config.capacitor = self.capacitor;
        config.checkpoint_bytes = Some(u64::from(geometry.segment_pages * geometry.page_bytes));
        build.ask(&self.settings(u64::from(geometry.page_bytes)));
        build
    }

    /// Memory so small that it fills often.
    fn settings(&self, page_bytes: u64) -> Settings {
        let cache_pages = if self.engine.has_grains() { 3 } else { 16 };
        let tight = Settings::told(&[
            ("write_buffer_size", self.write_buffer_bytes),
            ("target_file_size_base", 16 << 10),
            ("max_bytes_for_level_base", 4 * self.write_buffer_bytes),
            ("cache_bytes", cache_pages * page_bytes),
        ]);
        match self.min_blob_size {
            0 => tight,
            choice => Settings::told(&[("min_blob_size", choice)]).over(&tight),
        }
    }

    /// Settings of an engine that is no device's.
    pub(super) fn engine_config(build: &Build) -> EngineConfig {
        let config = &build.config;
        EngineConfig {
            seed: Some(config.identity),
            checkpoint_bytes: config.checkpoint_bytes,
            settings: build.settings.within(build.engine.settings()),
            ..EngineConfig::new(1, config.capacitor)
        }
    }
}

fn geometry(page_bytes: u32, segment_pages: u32, segments: u32) -> Geometry {
    Geometry { page_bytes, oob_bytes: 96, segment_pages, segments }
}
