// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading ahead: a compaction asks for a stretch of each of its tables at once, so that reads of the medium overlap.
//!
//! As RocksDB's: what a compaction reads of a table comes in buffers of `compaction_readahead_size`, one at a time for each input, and the
//! merge waits for it (facebook/rocksdb, `table/block_based/block_prefetcher.cc`, `PrefetchIfNeeded`, `num_buffers` 1 where reads are not
//! asynchronous; `include/rocksdb/options.h` line 1281 has the default, 2 MiB). Here stretches begin at multiples of that size, so that
//! nothing has to be remembered of a call that says `Need`.

use super::LsmStore;
use super::job::Job;
use super::table::Table;
use saker_segment_store::Reads;

impl LsmStore {
    /// Pages of a stretch; 0: nothing is read ahead.
    pub(super) fn ahead_pages(&self) -> usize {
        (self.config.compaction_readahead_size / self.page_bytes()) as usize
    }

    /// What a merge needs when an input has come to the end of a stretch: the next one of that, and what the others have not yet looked at.
    pub(super) fn reads_ahead(&self, job: &Job) -> Reads {
        let mut reads = Reads::new();
        for input in &job.merger.inputs {
            let Some((table, n)) = input.next().filter(|(table, _)| table.pinned.is_empty()) else {
                continue;
            };
            let (first, last) = self.place_of_block(table, n);
            let is_new = self.begins_stretch(table, n, first);
            if is_new && input.wants().is_none() {
                // It asks when it comes there.
                continue;
            }
            let ahead = self.ahead_pages().max(1);
            let end = ((first / ahead + 1) * ahead).max(last + 1).min(table.pages.len());
            reads.extend(table.pages.get(first..end).unwrap_or_default());
        }
        reads
    }

    /// Whether nothing of the stretch that a block begins in was looked at before that block.
    fn begins_stretch(&self, table: &Table, n: usize, first: usize) -> bool {
        let before = n.checked_sub(1).map(|before| self.place_of_block(table, before).1);
        before.is_none_or(|before| before < first && first.is_multiple_of(self.ahead_pages().max(1)))
    }
}
