// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every engine is told.

use saker_engine_api::Settings;
use saker_log::reserve::landing_pages;
use saker_segment_store::SegmentStore;
use saker_value_log::group::KeyCost;

/// What every engine is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Seed of its hash; belongs to the image. `None`: the engine's own.
    pub seed: Option<u64>,
    /// Whether the power-safe page buffer survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes, if less than the engine takes.
    pub value_bytes_max: u32,
    /// A checkpoint is due when so many bytes were written; `None`: as the engine likes.
    pub checkpoint_bytes: Option<u64>,
    /// What the keys of a group cost.
    pub group_keys: KeyCost,
    /// Nothing may be written.
    pub read_only: bool,
    /// What was asked for by name.
    pub settings: Settings,
}

impl EngineConfig {
    /// Nothing asked for but what cannot be left out.
    pub fn new(owner: u16, ring_lasts: bool) -> Self {
        Self {
            owner,
            seed: None,
            ring_lasts,
            value_bytes_max: u32::MAX,
            checkpoint_bytes: None,
            group_keys: KeyCost::default(),
            read_only: false,
            settings: Settings::NONE,
        }
    }
    /// The same with no value longer than what the page buffer can take, which so many owners share. A value is landed as a
    /// whole: with too few slots it would wait for ever.
    #[must_use]
    pub fn landing_in(self, m: &dyn SegmentStore, owners: u16) -> Self {
        let pages = u32::from(landing_pages(m.page_buffer().slots(), owners));
        let landing = pages.saturating_mul(m.geometry().page_bytes);
        Self { value_bytes_max: self.value_bytes_max.min(landing), ..self }
    }
}
