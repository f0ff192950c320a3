// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding a key: section by section, grain by grain, comparing whole keys (Original, section III, steps 2 to 4).
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

use super::HashFtl;
use super::record::Head;
use super::stats::Cause;
use saker_engine_api::KvError;
use saker_log::page_of;
use saker_segment_store::{CellError, Looked, Page, Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::collections::BTreeSet;

/// Where a key is, or could be.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The pair, if there is one.
    pub pair: Option<Pair>,
    /// The hash index it has or would get; `None`: no index is left for it.
    pub slot: Option<u64>,
    /// Indexes before it on its way that nobody has passed so far, if the key is to be written.
    pub to_pass: Vec<u64>,
    /// Pages that were looked at.
    pub looked: Looked,
    /// The key's first hash index.
    pub home: u64,
    /// Indexes passed on the way.
    pub passed: u64,
    /// Whether the key is not there, and an index is looked for behind those that others will take.
    is_beyond: bool,
}

/// What a key is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    Reading,
    Writing,
}

/// A pair that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Its grain.
    pub grain: u64,
    /// Its head.
    pub head: Head,
}

/// A key as found in a record.
struct Candidate {
    head: Head,
    is_it: bool,
}

impl HashFtl {
    /// Looks for a key. The sections of its way stay in memory until the operation ends.
    pub(super) fn find<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        why: For,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Found, KvError>> {
        self.operation += 1;
        self.search((key, why), &BTreeSet::new(), m, w)
    }

    /// The same within an operation, to which the hash indexes in `taken` are as good as used: it will enter other keys there.
    pub(super) fn search<M: SegmentStore, W: Meter>(
        &mut self,
        (key, why): (&[u8], For),
        taken: &BTreeSet<u64>,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Found, KvError>> {
        let Some(home) = self.probe.home(key) else { return Step::Done(Err(KvError::KeySize)) };
        let mut found = Found {
            pair: None,
            slot: None,
            to_pass: Vec::new(),
            looked: std::mem::take(&mut self.spare).emptied(),
            home,
            passed: 0,
            is_beyond: false,
        };
        let mut collisions = 0;
        for n in 0..self.probe.probes_max() {
            found.passed = n;
            let slot = self.probe.slot(home, n);
            let (id, _) = self.table.split(slot);
            let at = match self.load(id, Cause::User, m, w) {
                Step::Done(Ok(at)) => at,
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(reads) => return self.need(&found.looked, home, n, reads, m),
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            let entry = self.entry(at, slot, w);
            let Some(grain) = entry.grain() else {
                if taken.contains(&slot) {
                    if !entry.is_passed() && found.slot.is_none() && why == For::Writing {
                        found.to_pass.push(slot);
                    }
                    found.is_beyond |= !entry.is_passed();
                    continue;
                }
                if found.slot.is_none() {
                    found.slot = Some(slot);
                }
                if entry.is_passed() && !found.is_beyond {
                    continue;
                }
                self.count_lookup(n + 1, collisions);
                return Step::Done(Ok(found));
            };
            let (page, _) = self.page_of_grain(grain);
            found.looked.note(page);
            let candidate = match self.candidate(grain, key, m) {
                Step::Done(Ok(candidate)) => candidate,
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(reads) => return self.need(&found.looked, home, n, reads, m),
                Step::Blocked(stall) => return Step::Blocked(stall),
            };
            self.ftl_stats.kv_pages_read += 1;
            w.work(Unit::Compare, 1);
            if candidate.is_it {
                self.count_lookup(n + 1, collisions);
                found.slot = Some(slot);
                found.pair = Some(Pair { grain, head: candidate.head });
                return Step::Done(Ok(found));
            }
            collisions += 1;
            if !entry.is_passed() && found.slot.is_none() && why == For::Writing {
                found.to_pass.push(slot);
            }
        }
        self.count_lookup(self.probe.probes_max(), collisions);
        Step::Done(Ok(found))
    }

    /// The pages that a search has looked at.
    pub(super) fn pages_of_way<M: SegmentStore>(&self, found: &Found, m: &M) -> Reads {
        match self.need::<(), M>(&found.looked, found.home, found.passed, Reads::new(), m) {
            Step::Need(reads) => reads,
            _ => Reads::new(),
        }
    }

    fn count_lookup(&mut self, probes: u64, collisions: u64) {
        self.ftl_stats.lookups += 1;
        self.ftl_stats.probes += probes;
        self.ftl_stats.collisions += collisions;
    }

    /// What was looked at is looked at again. A section that came from a page here can be driven out before that: its page is
    /// asked for with the others, or commands with more sections than the cache holds would wait for each other's for ever.
    pub(super) fn need<T, M: SegmentStore>(
        &self,
        looked: &Looked,
        home: u64,
        probes: u64,
        mut reads: Reads,
        m: &M,
    ) -> Step<T> {
        let sections = (0..=probes).map(|n| self.table.split(self.probe.slot(home, n)).0);
        let place_of = |id| self.table.places.get(self.undivided(id).unwrap_or(id) as usize);
        let pages = sections.filter_map(|id| place_of(id)?.page());
        reads.extend(pages.filter(|page| matches!(page_of(&self.log, m, *page), Page::Resident { .. })));
        reads.extend(looked.as_slice());
        reads.sort_unstable();
        reads.dedup();
        Step::Need(reads)
    }

    /// The head of the record at a grain, and whether it is `key`'s.
    fn candidate<M: SegmentStore>(&self, grain: u64, key: &[u8], m: &M) -> Step<Result<Candidate, KvError>> {
        let (page, at) = self.page_of_grain(grain);
        let data = match page_of(&self.log, m, page) {
            Page::Resident { data, .. } => data.get(at as usize..).unwrap_or_default(),
            Page::Absent => return Step::Need(vec![page]),
            Page::Erased | Page::Torn | Page::Failed => return Step::Done(Err(CellError::Read.into())),
        };
        let found = Head::decode(data).and_then(|head| Some((head, head.key_in(data)?)));
        let found = found.map(|(head, known)| Candidate { head, is_it: known == key });
        Step::Done(found.ok_or(KvError::Corrupt))
    }

    /// The key of the record at a grain, if its page is here.
    pub(super) fn key_at<M: SegmentStore>(&self, grain: u64, m: &M) -> Step<Result<Vec<u8>, KvError>> {
        let (page, at) = self.page_of_grain(grain);
        let data = match page_of(&self.log, m, page) {
            Page::Resident { data, .. } => data.get(at as usize..).unwrap_or_default(),
            Page::Absent => return Step::Need(vec![page]),
            Page::Erased | Page::Torn | Page::Failed => return Step::Done(Err(CellError::Read.into())),
        };
        let key = Head::decode(data).and_then(|head| head.key_in(data).map(<[u8]>::to_vec));
        Step::Done(key.ok_or(KvError::Corrupt))
    }
}
