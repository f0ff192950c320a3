// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Searches for many keys at once: table by table, so that the cache misses of all of them overlap.
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

use super::LsmStore;
use super::inside::Whose;
use super::table::Table;
use crate::ordered::key::{Entry, Key};
use crate::ordered::structure::Sought;
use saker_engine_api::KvError;
use saker_segment_store::{Looked, Reads, SegmentStore, Stall, Step};
use saker_sim::{Meter, Unit};

/// A key that no memtable has, on its way through the tables.
struct Seeker<'a, C> {
    key: &'a Key,
    hash: u64,
    /// Which of the keys it is.
    n: usize,
    /// The tables that are left to be asked.
    candidates: C,
    /// The next of them that may have the key, and the block to look at.
    next: Option<(Whose, &'a Table, usize)>,
}

impl LsmStore {
    /// The newest entries of the keys, as everything is now. All pages that are looked at are in `needed`.
    pub(super) fn find_all<M: SegmentStore, W: Meter>(
        &self,
        keys: &[Key],
        m: &M,
        w: &mut W,
    ) -> Result<Sought<Looked>, Stall> {
        let mut sought = Sought {
            found: vec![Ok(None); keys.len()],
            trails: Vec::new(),
            needed: Reads::with_capacity(keys.len()),
            is_absent: false,
        };
        let mut seekers = self.seekers(keys, &mut sought.found, w);
        while !seekers.is_empty() {
            for seeker in &mut seekers {
                self.go_on(seeker, m, w);
            }
            let mut stalled = None;
            seekers.retain(|seeker| {
                let Some(next) = seeker.next else { return false };
                match self.look(seeker.key, next, &mut sought.needed, m, w) {
                    Step::Done(Ok(None)) => return true,
                    Step::Done(found) => {
                        sought.found.get_mut(seeker.n).into_iter().for_each(|place| *place = found)
                    }
                    Step::Need(_) => sought.is_absent = true,
                    Step::Blocked(stall) => stalled = Some(stall),
                }
                false
            });
            if let Some(stall) = stalled {
                return Err(stall);
            }
        }
        Ok(sought)
    }

    /// Looks into the memtables; the others begin with the youngest table.
    fn seekers<'a, W: Meter>(
        &'a self,
        keys: &'a [Key],
        found: &mut [Result<Option<Entry>, KvError>],
        w: &mut W,
    ) -> Vec<Seeker<'a, impl Iterator<Item = (Whose, &'a Table)> + use<'a, W>>> {
        w.work(Unit::Probe, 2 * keys.len() as u64);
        if w.touches() {
            for key in keys {
                let hash = key.hash();
                self.mem.touch(hash, w);
                self.candidates(key).for_each(|(_, table)| table.filter.touch(hash, w));
            }
        }
        let mut seekers = Vec::with_capacity(keys.len());
        for (n, (key, found)) in keys.iter().zip(found).enumerate() {
            let hash = key.hash();
            match self.find_buffered(key, hash, u64::MAX) {
                None => seekers.push(Seeker { key, hash, n, candidates: self.candidates(key), next: None }),
                buffered => *found = Ok(buffered),
            }
        }
        seekers
    }

    /// To the next table whose filter has the key.
    fn go_on<'a, M: SegmentStore, W: Meter>(
        &'a self,
        seeker: &mut Seeker<'a, impl Iterator<Item = (Whose, &'a Table)>>,
        m: &M,
        w: &mut W,
    ) {
        let may_have = |(_, table): &(Whose, &Table)| {
            w.work(Unit::Probe, 1);
            table.filter.may_contain(seeker.hash)
        };
        let next = seeker.candidates.find(may_have);
        seeker.next = next.map(|(whose, table)| (whose, table, self.near(table, seeker.key, u64::MAX, m, w)));
    }

    fn look<M: SegmentStore, W: Meter>(
        &self,
        key: &Key,
        (whose, table, first): (Whose, &Table, usize),
        needed: &mut Reads,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        let mut looked = Looked::new();
        let found = self.find_in((table, first), key, u64::MAX, &mut looked, m, w);
        needed.extend(looked.as_slice());
        match found {
            Step::Need(pages) => {
                needed.extend(pages);
                Step::Need(Reads::new())
            }
            found => found.map(|found| found.map(|e| e.map(|e| whose.mark(e)))),
        }
    }
}
