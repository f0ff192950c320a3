// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading the chunks of checkpoints of the map (see `checkpoint.rs` for their layout).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::PageMap;

impl PageMap {
    /// Enters a chunk; false if it is not one of this map.
    pub(super) fn enter_chunk(&mut self, payload: &[u8]) -> bool {
        let Some((first, words)) = payload.split_first_chunk::<8>() else { return false };
        let first = u64::from_le_bytes(*first) as usize;
        let (words, rest) = words.as_chunks();
        let end = first.saturating_add(words.len());
        let Some(slots) = self.map.get_mut(first..end).filter(|_| rest.is_empty()) else { return false };
        for (slot, word) in slots.iter_mut().zip(words) {
            *slot = u32::from_le_bytes(*word);
        }
        true
    }
}
