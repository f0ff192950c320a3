// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checkpoints of a map on flash: the dirty entries, then the versions of the translation pages. An entry that is made clean
//! between the two is in a translation page that is named later.
//!
//! A chunk is `ENTRIES u64`, then `block u64, map word u32` for each entry; or `PAGES u64` with the number of a translation page in its
//! lower half, then `version u64` for that one and each that follows, 0 where there is none.

use super::Dftl;
use crate::page_map::PageMap;
use crate::page_map::gc::Progress;
use saker_segment_store::{SegmentStore, Stall, Stream, Tag};

/// Begins a chunk of entries.
pub(super) const ENTRIES: u64 = 1 << 63;
/// Begins a chunk of versions.
pub(super) const PAGES: u64 = 1 << 62;
/// Bytes of an entry in a chunk.
pub(super) const ENTRY_BYTES: usize = 12;
/// Bytes of a version.
pub(super) const VERSION_BYTES: usize = 8;

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// Dirty entries of blocks from this one on.
    Entries(u64),
    /// Versions of translation pages from this one on.
    Pages(usize),
}

impl Default for Chunks {
    fn default() -> Self {
        Self::Entries(0)
    }
}

impl Dftl {
    /// Bytes of a checkpoint's chunks, if as much is dirty as may be.
    pub(in crate::page_map) fn checkpoint_payload(&self) -> u64 {
        let (entries, pages) = (self.table.most(), self.directory.pages());
        (entries * ENTRY_BYTES + pages * VERSION_BYTES) as u64
    }

    /// A checkpoint begins.
    pub(in crate::page_map) fn begin_chunks(&mut self) {
        self.chunks = Chunks::default();
        self.directory.begin_naming();
    }

    /// The next chunk of at most so many bytes, and what comes after it; `None`: there is no other.
    fn next_chunk(&self, most: usize) -> Option<(Vec<u8>, Chunks)> {
        let mut payload = Vec::with_capacity(most);
        let first = match self.chunks {
            Chunks::Entries(from) => {
                payload.extend(ENTRIES.to_le_bytes());
                let mut next = from;
                for (lba, word) in self.table.dirty_in(from..u64::MAX).take((most - 8) / ENTRY_BYTES) {
                    payload.extend(lba.to_le_bytes());
                    payload.extend(word.to_le_bytes());
                    next = lba + 1;
                }
                if next > from {
                    return Some((payload, Chunks::Entries(next)));
                }
                payload.clear();
                0
            }
            Chunks::Pages(first) => first,
        };
        let end = self.directory.pages().min(first + (most - 8) / VERSION_BYTES);
        if first == end {
            return None;
        }
        payload.extend((PAGES | first as u64).to_le_bytes());
        payload.extend((first..end).flat_map(|page| self.directory.version(page).to_le_bytes()));
        Some((payload, Chunks::Pages(end)))
    }

    /// A chunk is written.
    fn chunk_written(&mut self, next: Chunks) {
        if let Chunks::Pages(end) = next {
            let first = if let Chunks::Pages(first) = self.chunks { first } else { 0 };
            (first..end).for_each(|page| self.directory.name(page));
        }
        self.chunks = next;
    }
}

impl PageMap {
    /// Whether a checkpoint can begin: no block is being deallocated, and no more is dirty than the table has room for.
    pub(in crate::page_map) fn may_cut(&self) -> bool {
        self.dftl.as_ref().is_none_or(|d| d.trimming.is_empty() && d.table.dirty() <= d.table.most())
    }

    /// Writes the next chunk of at most so many bytes, or goes on to the end.
    pub(in crate::page_map) fn write_map_chunk<M: SegmentStore>(
        &mut self,
        most: usize,
        finished: Tag,
        m: &mut M,
    ) -> Progress {
        let Some(d) = &self.dftl else { return Progress::Idle };
        let next = d.next_chunk(most);
        let has_room = self.log.left_in_segment(Stream::Checkpoint) > 2 * most as u64
            || m.free_segments() > 1 + d.segments_left();
        let mut running = self.checkpoint.running.take().expect("a checkpoint is running").taken();
        let wrote = match &next {
            _ if !has_room => Err(Stall::NoSegment),
            None => running.finish(&mut self.log, m, finished),
            Some((payload, _)) => running.chunk(&mut self.log, m, payload),
        };
        self.checkpoint.running = Some(running.resting());
        if wrote.is_err() {
            return Progress::Waiting;
        }
        if let (Some((_, next)), Some(d)) = (next, &mut self.dftl) {
            d.chunk_written(next);
            if next == Chunks::Pages(d.directory.pages()) && !self.config.ring_lasts {
                // What it names is on the medium before its end is.
                self.log.seal_stream(Stream::Map, m);
            }
        }
        Progress::Worked
    }

    /// The running checkpoint is whole, or given up.
    pub(in crate::page_map) fn end_naming(&mut self, is_whole: bool) {
        let gone = self.dftl.as_mut().map(|d| d.directory.end_naming(is_whole));
        gone.into_iter().flatten().for_each(|position| self.drop_translation(Some(position)));
    }
}
