// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a map on flash has in memory agrees with itself and with the log.

use super::Dftl;
use crate::page_map::PageMap;
use saker_log::{LiveBytes, ensure};
use saker_segment_store::{SegmentId, Stream};
use std::collections::BTreeSet;

impl PageMap {
    /// What lives in the log is the sectors with a bit and the translation pages that are needed.
    pub(in crate::page_map) fn check_translations(&self, d: &Dftl) -> Result<(), String> {
        d.table.check()?;
        let (bytes, mut seen) = (u64::from(self.config.block_bytes), 0);
        let mut live = LiveBytes::new(&self.log);
        for position in d.live.sectors() {
            seen += 1;
            live.add(position * bytes, bytes, bytes).map_err(|e| format!("a block: {e}"))?;
            let stream = self.log.segment(self.segment_of(position)).stream();
            ensure(stream.holds_records(), || format!("a block is in the stream {stream:?}"))?;
        }
        let mapped = self.mapped;
        ensure(seen == mapped, || format!("{seen} sectors hold blocks, and it counts {mapped}"))?;
        for (page, position) in d.directory.positions() {
            live.add(position * bytes, bytes, bytes).map_err(|e| format!("translation page {page}: {e}"))?;
            let stream = self.log.segment(self.segment_of(position)).stream();
            ensure(stream == Stream::Map, || format!("translation page {page} is in the stream {stream:?}"))?;
        }
        live.compare()?;
        self.check_dirty(d)?;
        let (held, counted) = (self.log.segments_of(Stream::Map), d.segments);
        ensure(held == counted, || format!("{held} segments of translation pages, and it counts {counted}"))?;
        self.check_collected(d.collected())
    }

    fn check_dirty(&self, d: &Dftl) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for (lba, word) in d.table.dirty_in(0..u64::MAX) {
            ensure(lba < self.config.blocks, || format!("block {lba} is beyond the end"))?;
            let Some(position) = word.checked_sub(1).map(u64::from) else { continue };
            ensure(seen.insert(position), || format!("block {lba} has the sector of another"))?;
            ensure(d.live.is(position), || format!("block {lba} is in a sector that holds none"))?;
        }
        Ok(())
    }

    fn check_collected(&self, segment: Option<SegmentId>) -> Result<(), String> {
        let Some(id) = segment else { return Ok(()) };
        let stream = self.log.segment(id).stream();
        ensure(stream == Stream::Map, || format!("translation pages are collected in the stream {stream:?}"))
    }
}
