// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading records where they lie: what every store whose values are in a log shares.
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

use saker_log::{Bytes, Log};
use saker_segment_store::SegmentStore;
use saker_segment_store::crc::Crc32c;

/// The records of a log.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// Where they are.
    pub log: &'a Log,
}

impl Records<'_> {
    /// Checksum of bytes 4..used of a resident record.
    pub fn range_crc<M: SegmentStore>(&self, range: Bytes, used: u32, m: &M) -> u32 {
        if let Some(whole) = range.chunk(self.log, m, 4).get(..(used as usize).saturating_sub(4)) {
            return crate::record::record_crc(whole);
        }
        let mut digest = Crc32c::new();
        let mut at = 4;
        while at < used {
            let chunk = range.chunk(self.log, m, at);
            if chunk.is_empty() {
                break;
            }
            let covered = chunk.get(..(used - at) as usize).unwrap_or(chunk);
            digest.update(covered);
            at += covered.len() as u32;
        }
        digest.finish()
    }
}
