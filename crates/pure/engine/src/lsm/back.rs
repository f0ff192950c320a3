// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans in falling order: the last key before a place in any source, then the entry of that key that is to be seen.

use super::LsmStore;
use super::levels::LEVELS;
use super::lookup::Seen;
use super::table::Table;
use crate::ordered::key::{Entry, Key};
use saker_engine_api::KvError;
use saker_segment_store::{Looked, Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::ops::Bound;

impl LsmStore {
    /// Visits the pairs that a version sees in the falling order of their keys, from `end` on. Whether `visit` ended it; and
    /// the pages looked at.
    pub(super) fn visit_back<'a, M: SegmentStore, W: Meter>(
        &'a self,
        mut end: Bound<Key>,
        version: u64,
        mut visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        m: &'a M,
        w: &mut W,
    ) -> Step<(Result<bool, KvError>, Looked)> {
        let mut looked = Looked::new();
        loop {
            let key = match self.last_key(end, &mut looked, m, w) {
                Step::Done(Ok(Some(key))) => key,
                Step::Done(Ok(None)) => return Step::Done((Ok(false), looked)),
                Step::Done(Err(e)) => return Step::Done((Err(e), looked)),
                Step::Need(_) | Step::Blocked(_) => return Step::Need(looked.take()),
            };
            let found = match self.find(&key, version, m, w) {
                Step::Done((found, pages)) => {
                    pages.as_slice().iter().for_each(|page| looked.note(*page));
                    found
                }
                Step::Need(pages) => {
                    pages.into_iter().for_each(|page| looked.note(page));
                    return Step::Need(looked.take());
                }
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            match found {
                Err(e) => return Step::Done((Err(e), looked)),
                Ok(Some(e)) if !e.is_tombstone() && !visit(&e, &[]) => return Step::Done((Ok(true), looked)),
                Ok(_) => end = Bound::Excluded(key),
            }
        }
    }

    /// The last key before `end` in any source. `Need`: `looked` has the pages.
    fn last_key<M: SegmentStore, W: Meter>(
        &self,
        end: Bound<Key>,
        looked: &mut Looked,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Key>, KvError>> {
        let frozen = self.own.frozen.iter().filter_map(|table| table.last_key(end)).max();
        let (mut last, mut is_absent) = (self.mem.last_key(end).max(frozen), false);
        for table in self.tables_before(end) {
            w.work(Unit::Probe, 1);
            match self.last_in(table, end, looked, m) {
                Step::Done(Ok(key)) => last = last.max(key),
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(_) | Step::Blocked(_) => is_absent = true,
            }
        }
        if is_absent { Step::Need(Reads::new()) } else { Step::Done(Ok(last)) }
    }

    /// The tables that can have the last key before `end`.
    fn tables_before(&self, end: Bound<Key>) -> impl Iterator<Item = &Table> {
        let begins = move |table: &Table| is_before(&table.first, end);
        let young = self.own.levels.level(0).iter().map(AsRef::as_ref).filter(move |t| begins(t));
        let deeper = (1..LEVELS).filter_map(move |n| {
            let tables = self.own.levels.level(n);
            let behind = tables.partition_point(|t| begins(t));
            tables[..behind].last().map(AsRef::as_ref)
        });
        young.chain(deeper)
    }

    /// The last key before `end` of a table whose first is.
    fn last_in<M: SegmentStore>(
        &self,
        table: &Table,
        end: Bound<Key>,
        looked: &mut Looked,
        m: &M,
    ) -> Step<Result<Option<Key>, KvError>> {
        if is_before(&table.last, end) {
            return Step::Done(Ok(Some(table.last)));
        }
        let n = match end {
            Bound::Unbounded => table.index.len(),
            Bound::Included(k) | Bound::Excluded(k) => {
                table.index.behind(k.word(), |(key, _)| is_before(key, end))
            }
        };
        let n = n.saturating_sub(1);
        self.note_page(table, n, looked);
        let block = match self.block(table, n, m) {
            Seen::Here(block) => block,
            Seen::Absent => return Step::Need(Reads::new()),
            Seen::Bad(e) => return Step::Done(Err(e)),
        };
        let behind = match end {
            Bound::Unbounded => block.count(),
            Bound::Excluded(key) => block.lower_bound(&key, u64::MAX),
            // Versions begin at 1: behind all of this key.
            Bound::Included(key) => block.lower_bound(&key, 0),
        };
        Step::Done(Ok(behind.checked_sub(1).and_then(|at| block.get(at)).map(|e| e.key)))
    }
}

fn is_before(key: &Key, end: Bound<Key>) -> bool {
    match end {
        Bound::Unbounded => true,
        Bound::Excluded(end) => *key < end,
        Bound::Included(end) => *key <= end,
    }
}
