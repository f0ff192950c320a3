// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading ahead: a collection asks for a stretch of its segment at once, and then for what the searches for the records there look at. So
//! reads of the medium overlap. One by one, each would wait for dies that other commands keep busy, and writes would wait for them all.
//!
//! While writes are not close to waiting, a collection reads page by page: that disturbs other reads less.
//!
//! Stretches begin at multiples of their length, as those of compactions do: nothing has to be remembered of a call that says `Need`.

use super::GcCursor;
use crate::ordered::Store;
use crate::ordered::key::Key;
use crate::ordered::structure::Structure;
use saker_segment_store::{PageAddr, Reads, SegmentStore, Step};
use saker_sim::Free;
use saker_value_log::walk::{Next, Walked};

/// What a collection reads at once: as much as RocksDB's compactions do (`compaction_readahead_size`, `include/rocksdb/options.h`).
const AHEAD_BYTES: u64 = 2 << 20;
/// Records whose searches are asked for at once. Of short ones a stretch has thousands, and a quantum has no time to search for all.
const RECORDS_AHEAD: u32 = 256;

impl<S: Structure> Store<S> {
    /// What a collection asks for that cannot go on without `reads`. If writes are close to waiting: these, the rest of their stretch, and
    /// what the searches for the records there look at, as far as those are here.
    pub(super) fn with_stretch<M: SegmentStore>(&self, gc: &GcCursor, mut reads: Reads, m: &M) -> Reads {
        if gc.is_repair() || !self.is_pressed(m) {
            return reads;
        }
        let stretch = self.rest_of_stretch(gc, &reads);
        let end = stretch.last().copied();
        reads.extend(stretch);
        let mut walker = gc.walker;
        for _ in 0..RECORDS_AHEAD {
            match self.records().walk(&mut walker, m) {
                Step::Done(Ok(Next::Record(r))) if Some(r.page.addr) > end => break,
                Step::Done(Ok(Next::Record(r))) => self.search_looks_at(&r, &mut reads, m),
                Step::Done(Ok(Next::Unfinished | Next::Broken(_))) => {}
                Step::Done(Ok(Next::End) | Err(_)) | Step::Need(_) | Step::Blocked(_) => break,
            }
        }
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    /// Pages of the segment from where the collection is to the end of the stretch in which the last of `reads` is.
    fn rest_of_stretch(&self, gc: &GcCursor, reads: &Reads) -> Vec<PageAddr> {
        let (geometry, walker) = (self.log.geometry(), &gc.walker);
        let own = reads.iter().filter(|page| geometry.segment_of(**page) == walker.segment);
        let last = own.map(|page| geometry.index_of(*page)).max().unwrap_or(walker.page).max(walker.page);
        let length = ((AHEAD_BYTES / self.page_bytes()) as u32).max(1);
        let end = ((last / length + 1) * length).min(walker.pages);
        (walker.page..end).map(|index| geometry.page(walker.segment, index)).collect()
    }

    /// Adds what the search for a record looks at. Its work counts when the record moves.
    fn search_looks_at<M: SegmentStore>(&self, r: &Walked, reads: &mut Reads, m: &M) {
        let Some(key) = Key::new(&r.key[..usize::from(r.header.key_bytes)]) else { return };
        if self.is_passing(&r.header) {
            return;
        }
        match S::find(self, &key, None, m, &mut Free) {
            Step::Need(pages) => reads.extend(pages),
            Step::Done((_, trail)) => reads.extend(trail.into()),
            Step::Blocked(_) => {}
        }
    }
}
