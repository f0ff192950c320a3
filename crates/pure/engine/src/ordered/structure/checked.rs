// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether the structure agrees with itself.

use super::Configured;
use crate::ordered::Store;
use saker_log::LiveBytes;

/// What a check of the store asks of its structure.
pub trait Checked: Configured {
    /// Says what contradicts itself, if anything does, and adds to `live` what it needs: its pages, and what it refers to in the
    /// value log. Memtables are the store's.
    fn check(store: &Store<Self>, live: &mut LiveBytes<'_>) -> Result<(), String>;
}
