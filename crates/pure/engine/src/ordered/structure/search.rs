// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding entries.

use super::Configured;
use crate::ordered::Store;
use crate::ordered::key::{Entry, Key};
use saker_engine_api::{KvError, Snapshot};
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::Meter;
use std::ops::Bound;

/// What a search found, and what it looked at.
pub type Found<T, S> = Step<(Result<T, KvError>, <S as Search>::Trail)>;

/// What searches for many keys found, and what they looked at.
#[derive(Clone, Debug)]
pub struct Sought<T> {
    /// The newest entry of each key, tombstones included; of a search that went no further there is none.
    pub found: Vec<Result<Option<Entry>, KvError>>,
    /// What the searches looked at.
    pub trails: Vec<T>,
    /// Pages that searches want which went no further.
    pub needed: Reads,
    /// Whether there were any.
    pub is_absent: bool,
}

/// Which pairs are visited, and in what order.
#[derive(Clone, Copy, Debug)]
pub struct Visited {
    /// The key that they begin with, or end with.
    pub from: Bound<Key>,
    /// In the falling order of keys.
    pub backwards: bool,
    /// Their values will be read, too.
    pub has_values: bool,
}

impl Visited {
    /// Entries alone, from a key on.
    pub const fn keys_from(from: Bound<Key>) -> Self {
        Self { from, backwards: false, has_values: false }
    }
}

/// Searches of memtables and structure together.
pub trait Search: Configured {
    /// What a search looked at.
    type Trail: Clone + Into<Reads>;

    /// The newest entry of a key, tombstones included: that a snapshot sees, or that there is now. `Need` names all that the
    /// search looks at.
    fn find<M: SegmentStore, W: Meter>(
        store: &Store<Self>,
        key: &Key,
        at: Option<Snapshot>,
        m: &M,
        w: &mut W,
    ) -> Found<Option<Entry>, Self>;

    /// The newest entries of many keys as they are now, in the order of the keys.
    fn find_all<M: SegmentStore, W: Meter>(
        store: &Store<Self>,
        keys: &[Key],
        m: &M,
        w: &mut W,
    ) -> Step<Sought<Self::Trail>> {
        let found = Vec::with_capacity(keys.len());
        let trails = Vec::with_capacity(keys.len());
        let mut sought = Sought { found, trails, needed: Reads::new(), is_absent: false };
        for key in keys {
            sought.found.push(match Self::find(store, key, None, m, w) {
                Step::Done((found, trail)) => {
                    sought.trails.push(trail);
                    found
                }
                Step::Need(pages) => {
                    sought.needed.extend(pages);
                    sought.is_absent = true;
                    Ok(None)
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            });
        }
        Step::Done(sought)
    }

    /// The bytes from `offset` on of a value that is beside the key of an entry which this call has found, as far as they lie in one
    /// piece; none behind its end.
    fn value_inside<'a, M: SegmentStore>(
        store: &'a Store<Self>,
        e: &Entry,
        offset: u32,
        m: &'a M,
    ) -> &'a [u8] {
        let _ = (store, e, offset, m);
        &[]
    }

    /// The operation of a search has ended.
    fn searched<M: SegmentStore, W: Meter>(store: &mut Store<Self>, trail: &Self::Trail, m: &M, w: &mut W) {
        let _ = (store, trail, m, w);
    }

    /// Visits pairs in the order of their keys from one on, or in the falling order up to one, with the value of one that has it beside its
    /// key, if that is at hand in one piece; else with nothing. Whether `visit` ended it.
    fn visit<'a, M: SegmentStore, W: Meter>(
        store: &'a Store<Self>,
        visited: Visited,
        at: Option<Snapshot>,
        visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        m: &'a M,
        w: &mut W,
    ) -> Found<bool, Self>;
}
