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
use saker_log::SegmentState;
use saker_log::recover::Damage;

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

    /// The map is whole: counts what lives in the log by it.
    pub(super) fn count_words(&mut self) -> Result<(), Damage> {
        let bytes = u64::from(self.config.block_bytes);
        let words = std::mem::take(&mut self.map);
        for position in words.iter().filter_map(|word| word.checked_sub(1)) {
            let id = self.segment_of(u64::from(position));
            let known = self.log.find_segment(id).is_some_and(|s| s.state != SegmentState::Absent);
            if !known {
                let what = format!("it names segment {}, which this namespace does not hold", id.0);
                return Err(Damage::Checkpoint { owner: self.config.owner, what });
            }
            self.log.add_live(id, bytes);
            self.mapped += 1;
        }
        self.map = words;
        Ok(())
    }
}
