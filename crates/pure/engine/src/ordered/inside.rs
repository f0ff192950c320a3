// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values beside their keys ([`Settings::may_be_inside`](super::Settings::may_be_inside)): on their way in, and out to who asked.
//!
//! Such a put is a record of the log like any other, so it survives what others survive. The memtable has a copy of the value, and the
//! log has the record only until a manifest says that the structure has taken the memtable in: it counts and goes as a tombstone's does.
//! Segments in which nothing else is go then without anything being copied.
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

use super::Store;
use super::key::{Entry, Key};
use super::structure::Structure;
use saker_engine_api::{KvError, Sink};
use saker_log::{Bytes, LogAddr};
use saker_segment_store::{SegmentId, SegmentStore};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;

/// Entries whose values are beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// How many.
    pub entries: u64,
    /// Bytes of their records, with which they count.
    pub bytes: u64,
}

impl Inside {
    /// None.
    pub const NONE: Self = Self { entries: 0, bytes: 0 };

    /// So many entries that count with so many bytes together.
    pub const fn of(entries: u64, bytes: u64) -> Self {
        Self { entries, bytes }
    }

    /// What an entry counts with.
    #[inline]
    pub fn of_entry(e: &Entry) -> Self {
        if e.is_inside() { Self::of(1, u64::from(e.addr.record_bytes())) } else { Self::NONE }
    }

    /// Both together.
    #[inline]
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self::of(self.entries + more.entries, self.bytes + more.bytes)
    }

    /// Not more than others.
    #[must_use]
    pub fn at_most(self, most: Self) -> Self {
        Self::of(self.entries.min(most.entries), self.bytes.min(most.bytes))
    }

    /// Without so many, as far as there are so many.
    #[must_use]
    pub fn but(self, gone: Self) -> Self {
        Self::of(self.entries.saturating_sub(gone.entries), self.bytes.saturating_sub(gone.bytes))
    }

    /// Without those that are not here any more.
    #[inline]
    #[must_use]
    pub const fn without(self, gone: Self) -> Self {
        Self::of(self.entries - gone.entries, self.bytes - gone.bytes)
    }
}

impl<S: Structure> Store<S> {
    /// A record of so many bytes, with a value that stays beside its key, is in a segment of the log: it is needed until a manifest
    /// that begins from now on is complete.
    pub(super) fn note_passing(&mut self, id: SegmentId, bytes: u32) {
        self.log.add_until_checkpoint(id, u64::from(bytes));
        self.longest.know(bytes);
        self.log.note_length(id, bytes);
    }

    /// The entry of a pair of which the log has the value at `from`: the memtable gets a copy. `None` if the log does not have it.
    pub(super) fn take_inside<M: SegmentStore>(
        &mut self,
        (key, version): (Key, u64),
        (from, bytes): (LogAddr, u32),
        m: &M,
    ) -> Option<Entry> {
        let mut copied = 0;
        let value = Bytes::new(from, bytes);
        let stamp = self.mem.take_value(|values| copied = value.append_to(&self.log, m, values));
        let addr = RecordAddr::inside(key.len() as u8, bytes);
        (copied == bytes as usize).then_some(Entry { key, version, addr, stamp })
    }

    /// Gives the first `wanted` bytes of a value that is beside its key to the sink.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] if it is not there, [`KvError::Transfer`] if the sink refuses them.
    pub(super) fn deliver_inside<M: SegmentStore, K: Sink>(
        &self,
        e: &Entry,
        wanted: u32,
        sink: &mut K,
        m: &M,
    ) -> Result<(), KvError> {
        let mut done = 0;
        while done < wanted {
            let chunk = S::value_inside(self, e, done, m);
            let chunk = chunk.get(..(wanted - done) as usize).unwrap_or(chunk);
            if chunk.is_empty() {
                return Err(KvError::Corrupt);
            }
            sink.write(done, chunk).map_err(|_| KvError::Transfer)?;
            done += chunk.len() as u32;
        }
        Ok(())
    }

    /// Retrieves a value that is beside its key: its pages have been looked at.
    pub(super) fn retrieve_inside<M: SegmentStore, W: Meter, K: Sink>(
        &self,
        e: &Entry,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Result<u32, KvError> {
        let bytes = e.addr.value_bytes_inside();
        let wanted = bytes.min(sink.room());
        w.work(Unit::Decode, 1);
        w.work(Unit::CopyByte, if sink.is_copied_by_core() { u64::from(wanted) } else { 0 });
        self.deliver_inside(e, wanted, sink, m).map(|()| bytes)
    }
}
