// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What may be stored, and what is kept back.

use super::Configured;
use crate::ordered::Store;
use crate::ordered::inside::Inside;
use crate::ordered::memtable::Memtable;
use saker_segment_store::SegmentStore;

/// What is in a store, as far as it takes room.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Entries.
    pub entries: u64,
    /// Those of them whose values are beside them.
    pub inside: Inside,
    /// Bytes of the longest record.
    pub longest: u32,
}

/// Room that the structure takes.
pub trait Room: Configured {
    /// Entries in it, replaced ones that have not been met included.
    fn entries(&self) -> u64;

    /// Bytes of records that may live at once, with such content.
    fn capacity_for<M: SegmentStore>(store: &Store<Self>, content: &Content, m: &M) -> u64;

    /// Entries in it whose values are beside them, replaced ones that have not been met included.
    fn inside(&self) -> Inside {
        Inside::NONE
    }

    /// Bytes of the pages that it needs, of so many bytes each, as far as what is in it counts for that.
    fn structure_bytes(&self, page_bytes: u64) -> u64 {
        let _ = page_bytes;
        0
    }

    /// Free segments that deletes leave.
    fn for_deletes<M: SegmentStore>(store: &Store<Self>, m: &M) -> u32;

    /// Whether so few segments are free that taking in what memtables hold comes before anything that adds to it.
    fn is_short<M: SegmentStore>(store: &Store<Self>, m: &M) -> bool {
        let _ = (store, m);
        false
    }

    /// Whether nothing of its own goes on in the background that could make room.
    fn is_quiet(&self) -> bool;

    /// Whether what it keeps would take fewer segments if it lay closer, and background work sees to that.
    fn can_be_packed<M: SegmentStore>(store: &Store<Self>, m: &M) -> bool {
        let _ = (store, m);
        false
    }

    /// Whether there is something to find out although nothing has been written since that was last done; `copies`: entries that
    /// collections have entered anew, and that are there twice.
    fn has_unknown(&self, mem: &Memtable, copies: u64) -> bool;

    /// Whether it keeps something that only released snapshots saw.
    fn keeps_for_released(&self) -> bool {
        false
    }

    /// Whether everything is where nothing counts that is not needed.
    fn is_merged(&self, config: &Self::Config, page_bytes: u64) -> bool;
}
