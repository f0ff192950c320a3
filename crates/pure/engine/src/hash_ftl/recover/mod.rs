// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery: every page of the owner is read once. Of the records of a hash index the newest counts, unless its section was
//! written later without it. What validity needs, the table, and what must be in memory follow from that.
//!
//! Pages of invalid mappings are not trusted: where the page buffer can be lost, a record can come back that they call invalid. They
//! are begun anew.
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

mod groups;
mod levels;
mod settle;
mod twice;
mod winners;

use super::record::Kind;
use super::table::entry::Entry;
use super::table::{image, parse};
use super::walk::Walked;
use super::{HashFtl, HashFtlConfig};
use saker_engine_api::Recover;
use saker_log::page_of;
use saker_log::recover::{Damage, LogImage, Progress, Recovered, scan_page, survey};
use saker_segment_store::header::crc32c;
use saker_segment_store::{Completion, Page, PageAddr, PageHeader, Reads, SegmentStore, Step, Stream, ready};
use std::collections::BTreeSet;
use winners::{Displaced, Winner, Winners};

/// Pages a step reads.
const STEP_PAGES: usize = 32;
/// Sections a step settles.
const STEP_SECTIONS: usize = 4096;

/// The newest page of a section.
#[derive(Clone, Debug)]
struct Written {
    page: PageAddr,
    sequence: u64,
    stamp: u64,
    charge: u32,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
enum Phase {
    Survey,
    /// Segments left, and the next page of the last of them.
    Scan(Vec<Recovered>, u32),
    /// The next section whose records are judged.
    Judge(usize),
    /// The next displaced pair that is compared with those on its way.
    Compare(usize),
    /// The next section whose entries are compared with what flash has.
    Settle(usize),
    Over,
}

/// A recovery on its way. Call [`Recovery::step`] until it is done.
#[derive(Clone, Debug)]
pub struct Recovery {
    store: HashFtl,
    phase: Phase,
    winners: Winners,
    displaced: Vec<Displaced>,
    written: Vec<Option<Box<Written>>>,
    /// Hash indexes that a pair was displaced from.
    passed: Vec<u64>,
    /// Sections, told apart as records are, with a pair that is not needed because another section has a newer one of its key.
    left_out: BTreeSet<u32>,
    /// The group whose records are being read, or the last one.
    group: groups::Group,
    /// The highest level of a table that doubles of which something was found.
    level: u32,
}

impl Recovery {
    /// Begins to recover a store.
    pub fn new(config: HashFtlConfig, m: &dyn SegmentStore) -> Self {
        let mut store = HashFtl::new(config, m);
        if let Some(levels) = store.probe.levels() {
            store.probe.set_level(levels.last());
        }
        let sections = store.table.places.len();
        Self {
            winners: Winners::new(sections, store.table.section_slots),
            displaced: Vec::new(),
            written: vec![None; sections],
            passed: Vec::new(),
            left_out: BTreeSet::new(),
            group: groups::Group::default(),
            level: 0,
            phase: Phase::Survey,
            store,
        }
    }

    fn scan<M: SegmentStore>(
        &mut self,
        mut left: Vec<Recovered>,
        mut page: u32,
        m: &M,
    ) -> Step<Result<Progress, Damage>> {
        let Some(segment) = left.last().copied() else {
            self.phase = Phase::Judge(0);
            return Step::Done(Ok(Progress::More));
        };
        let geometry = self.store.log.geometry();
        let window_at = |page| -> Reads {
            (page..segment.pages).take(STEP_PAGES).map(|n| geometry.page(segment.id, n)).collect()
        };
        let window = window_at(page);
        if window.is_empty() {
            left.pop();
            self.phase = Phase::Scan(left, 0);
            return Step::Done(Ok(Progress::More));
        }
        if window.iter().any(|at| matches!(page_of(&self.store.log, m, *at), Page::Absent)) {
            self.phase = Phase::Scan(left, page);
            return Step::Need(window);
        }
        for at in window {
            let seen = match segment.stream {
                Stream::Map => self.see_sections(at, m),
                _ => self.see_records(at, m),
            };
            match seen {
                Step::Done(Ok(())) => page += 1,
                Step::Done(Err(damage)) => return Step::Done(Err(damage)),
                Step::Need(mut reads) => {
                    // A record can go on far behind the window, which is looked at first next time.
                    reads.extend(window_at(page));
                    reads.sort_unstable();
                    reads.dedup();
                    self.phase = Phase::Scan(left, page);
                    return Step::Need(reads);
                }
                other => {
                    self.phase = Phase::Scan(left, page);
                    return other.map(|_| Ok(Progress::More));
                }
            }
        }
        self.phase = Phase::Scan(left, page);
        Step::Done(Ok(Progress::More))
    }

    /// What flash has of a section by itself.
    fn written(&self, id: u32) -> Option<&Written> {
        self.written.get(id as usize)?.as_deref()
    }

    fn take_written(&mut self, id: u32) -> Option<Box<Written>> {
        self.written.get_mut(id as usize)?.take()
    }

    fn see_records<M: SegmentStore>(&mut self, page: PageAddr, m: &M) -> Step<Result<(), Damage>> {
        let records = match ready!(self.store.records_in(page, |_| true, &mut Reads::new(), m)) {
            Ok(records) => records,
            Err(damage) => return Step::Done(Err(damage)),
        };
        let mut groups = ready!(self.groups_among(&records, m)).into_iter();
        for r in &records {
            if r.head.kind == Kind::Group {
                self.group = groups.next().unwrap_or_default();
                if let Some(last) = self.group.lost_sequences() {
                    self.store.log.retire_sequences(last);
                }
            }
            if r.head.kind == Kind::Group || r.head.in_group && !self.group.covers(r) {
                self.store.version = self.store.version.max(r.head.version + 1);
                self.store.validity.found_dead(r.slot, r.grain, r.grains);
                continue;
            }
            // The record was just read.
            let key = match self.store.key_at(r.grain, m) {
                Step::Done(Ok(key)) => key,
                _ => Vec::new(),
            };
            if let Some(home) = self.store.probe.home(&key)
                && self.store.probe.slot(home, 0) != r.slot
            {
                self.displaced.push(Displaced { home, slot: r.slot, version: r.head.version });
            }
            self.see_level(self.store.table.split(r.written).0);
            self.see_record(r, crc32c(&key));
        }
        Step::Done(Ok(()))
    }

    fn see_record(&mut self, r: &Walked, key: u32) {
        self.store.version = self.store.version.max(r.head.version + 1);
        let new = Winner::new(r, key);
        let (id, offset) = self.store.table.split(r.slot);
        let old = self.winners.get(id as usize, offset);
        let loser = if old.is_none_or(|old| old.version() < new.version()) {
            self.winners.set(id as usize, offset, new);
            old
        } else {
            Some(new)
        };
        if let Some(loser) = loser {
            self.store.validity.found_dead(r.slot, loser.grain(), loser.grains());
        }
    }

    fn see_sections<M: SegmentStore>(&mut self, page: PageAddr, m: &M) -> Step<Result<(), Damage>> {
        let scanned = match ready!(scan_page(&self.store.log, m, page)) {
            Ok(Some(scanned)) => scanned,
            Ok(None) => return Step::Done(Ok(())),
            Err(damage) => return Step::Done(Err(damage)),
        };
        let Page::Resident { data, oob } = page_of(&self.store.log, m, page) else {
            return Step::Done(Ok(()));
        };
        let owner_oob = PageHeader::owner_oob(oob);
        let geometry = self.store.log.geometry();
        let bad = || Damage::page(&geometry, page, "it is not a page of sections");
        let images = parse::decode(self.store.config.layout, data, owner_oob);
        let Some((images, stamp)) = images.zip(parse::stamp(owner_oob)) else {
            return Step::Done(Err(bad()));
        };
        let (layout, page_bytes) = (self.store.config.layout, self.store.log.geometry().page_bytes);
        let charges = image::charges(layout, &images, false, page_bytes);
        for (image, charge) in images.into_iter().zip(charges) {
            self.see_level(image.id);
            let Some(known) = self.written.get_mut(image.id as usize) else { return Step::Done(Err(bad())) };
            if known.as_ref().is_none_or(|k| k.sequence < scanned.sequence) {
                let sequence = scanned.sequence;
                *known = Some(Box::new(Written { page, sequence, stamp, charge, entries: image.entries }));
            }
        }
        self.store.version = self.store.version.max(stamp);
        Step::Done(Ok(()))
    }
}

/// Old invalid mappings are not read: nothing in them is needed.
fn to_scan(image: LogImage) -> Vec<Recovered> {
    let mut segments = image.segments;
    segments.retain(|r| r.stream != Stream::Invalid);
    segments
}

/// Whether a record says that there is a pair.
fn is_pair(winner: Winner) -> bool {
    winner.kind() == Kind::Pair
}

impl Recover for Recovery {
    type Engine = HashFtl;

    fn step<M: SegmentStore>(&mut self, m: &mut M) -> Step<Result<Progress, Damage>> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Survey => {
                self.phase = Phase::Survey;
                let image = match ready!(survey(&mut self.store.log, m)) {
                    Ok(image) => image,
                    Err(damage) => return Step::Done(Err(damage)),
                };
                self.phase = Phase::Scan(to_scan(image), 0);
            }
            Phase::Scan(left, page) => return self.scan(left, page, m),
            Phase::Judge(next) => self.judge_some(next),
            Phase::Compare(next) => return self.compare_some(next, m),
            Phase::Settle(next) => self.settle_some(next),
            Phase::Over => return Step::Done(Ok(Progress::Finished)),
        }
        Step::Done(Ok(Progress::More))
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.store.log.completed(done, m);
    }

    fn finish(self) -> HashFtl {
        self.store
    }
}
