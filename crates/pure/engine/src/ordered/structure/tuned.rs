// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings by name, and those that change while the store is open.

use super::Configured;
use crate::ordered::Store;
use saker_engine_api::Settings;
use saker_segment_store::SegmentStore;

/// What is told of settings, and what may still be asked for.
pub trait Tuned: Configured {
    /// The settings of a store of pages of so many bytes, by name.
    fn told(config: &Self::Config, page_bytes: u32) -> Settings;

    /// The store's settings, with the live ones as they are asked for now.
    fn retuned(config: Self::Config, asked: &Settings, m: &dyn SegmentStore) -> Self::Config;

    /// The store has the settings: what was derived from others is derived anew.
    fn adapt(store: &mut Store<Self>);
}
