// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flushes and compactions: merging entries into new tables, one page at a time.

use super::LsmStore;
use super::builder::Builder;
use super::grandparents::Grandparents;
use super::input::Input;
use super::marked::Reason;
use super::pairs::With;
use super::policy::{self, Pick};
use super::reserve::{FOR_FLUSHES, FOR_MERGES};
use super::settings::PAGES_MIN;
use super::table::Table;
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::Memtable;
use crate::ordered::refs;
use saker_duty::Duty;
use saker_engine_api::{Background, KvError};
use saker_segment_store::{SegmentStore, Step, Stream, ready};
use saker_sim::{Meter, Unit};
use std::ops::Range;
use std::sync::Arc;

/// Entries a quantum merges.
const QUANTUM_ENTRIES: u32 = 512;

/// A merge on its way.
#[derive(Clone, Debug)]
pub struct Job {
    /// The newest first.
    pub(super) inputs: Vec<Input>,
    /// Tables that go when it is done; none of a flush.
    replaces: Vec<u64>,
    /// The level of the upper ones among them, and the level that the new ones go to: the same if they are only written
    /// anew.
    from: usize,
    to: usize,
    /// Its first and last key; of compactions.
    span: Option<(Key, Key)>,
    builder: Option<Builder>,
    done: Vec<Table>,
    /// The last entry that came along.
    last: Option<(Key, u64)>,
    /// Tombstones of its key that hide nothing yet.
    tombstones: Vec<(Entry, Reason)>,
    duty: Duty,
    /// Its number among compactions ([`super::Lsm::begin`]).
    number: u32,
    /// Keys before which a table ends, the next one last.
    cuts: Vec<Key>,
    /// What its tables will be merged with.
    below: Grandparents,
    /// Numbers of its tables, if they are not the next ones.
    numbers: Option<Range<u64>>,
    /// Pages of the tables that it reads, and pages that it has written.
    pages: (u64, u64),
}

impl Job {
    /// Writes a memtable to level 0.
    pub fn flush(table: Arc<Memtable>) -> Self {
        Self::new(vec![Input::memtable(table)], Vec::new(), (0, 0))
    }

    /// Merges tables into the next level.
    pub fn compaction(pick: &Pick) -> Self {
        let tables = pick.upper.iter().chain(&pick.lower);
        // Tables of one level follow each other; those of level 0 share keys.
        let mut inputs: Vec<_> = match pick.level {
            0 => pick.upper.iter().map(|t| Input::tables(vec![t.clone()])).collect(),
            _ => vec![Input::tables(pick.upper.clone())],
        };
        inputs.push(Input::tables(pick.lower.clone()));
        let replaces = tables.map(|t| t.id).collect();
        let pages = (pick.pages(), 0);
        Self { span: pick.span(), pages, ..Self::new(inputs, replaces, (pick.level, pick.level + 1)) }
    }

    /// Writes a table of a level anew as several, which end before the cuts of the pick.
    pub fn splitting(pick: &Pick) -> Self {
        let cuts = pick.cuts.iter().rev().copied().collect();
        Self { cuts, ..Self::rewriting(pick.level, &pick.upper) }
    }

    /// Writes tables of a level that follow each other anew, without what is not needed.
    pub fn rewriting(level: usize, tables: &[Arc<Table>]) -> Self {
        let replaces = tables.iter().map(|t| t.id).collect();
        let span = tables.first().zip(tables.last()).map(|(first, last)| (first.first, last.last));
        Self { span, ..Self::new(vec![Input::tables(tables.to_vec())], replaces, (level, level)) }
    }

    fn new(inputs: Vec<Input>, replaces: Vec<u64>, (from, to): (usize, usize)) -> Self {
        Self {
            inputs,
            replaces,
            from,
            to,
            span: None,
            builder: None,
            done: Vec::new(),
            last: None,
            tombstones: Vec::new(),
            duty: Duty::new("a merge is installed, or goes on later"),
            number: 0,
            cuts: Vec::new(),
            below: Grandparents::default(),
            numbers: None,
            pages: (0, 0),
        }
    }

    /// Pages that it will still write at most, of those that it reads.
    pub fn pages_left(&self) -> u64 {
        let (reads, written) = self.pages;
        reads.saturating_sub(written)
    }

    /// Merges files of level 0 into one, whose tables have these numbers.
    pub fn within_level0(pick: &Pick, numbers: Range<u64>) -> Self {
        let inputs = pick.upper.iter().map(|t| Input::tables(vec![t.clone()])).collect();
        let replaces = pick.upper.iter().map(|t| t.id).collect();
        Self { span: pick.span(), numbers: Some(numbers), ..Self::new(inputs, replaces, (0, 0)) }
    }

    /// Whether it merges files of level 0 into one of that level.
    pub fn is_within_level0(&self) -> bool {
        self.numbers.is_some()
    }

    /// Whether it reads tables of level 0.
    pub fn is_of_level0(&self) -> bool {
        self.from == 0 && !self.is_flush()
    }

    /// The same merge above those tables.
    pub fn above(self, below: Grandparents) -> Self {
        Self { below, ..self }
    }

    /// Its store has it where it finds it again, and may go with it.
    pub fn resting(mut self) -> Self {
        self.duty.rest();
        self
    }

    /// Its store takes it from there.
    pub fn taken(mut self) -> Self {
        self.duty.owe();
        self
    }

    /// A compaction with that number.
    pub fn numbered(self, number: u32) -> Self {
        Self { number, ..self }
    }

    /// The number of a compaction.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether it has a page to write or a table to end before it reads on.
    pub fn is_writing(&self) -> bool {
        self.builder.as_ref().is_some_and(|b| b.next_page().is_some() || b.is_sealed())
    }

    fn is_flush(&self) -> bool {
        self.replaces.is_empty()
    }

    /// The level its tables go to.
    pub fn to(&self) -> usize {
        self.to
    }

    /// Whether it reads a table.
    pub fn reads(&self, id: u64) -> bool {
        self.replaces.contains(&id)
    }

    /// The tables that go when it is done.
    pub fn replaces(&self) -> &[u64] {
        &self.replaces
    }

    /// Whether keys of a range may be in what it writes.
    pub fn covers(&self, first: &Key, last: &Key) -> bool {
        self.span.is_some_and(|(from, to)| from <= *last && *first <= to)
    }

    /// The tables it is writing.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.done.iter().chain(self.builder.iter().map(Builder::table))
    }

    /// The same, to move their pages; its inputs' pages move too.
    pub fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.done.iter_mut().chain(self.builder.iter_mut().map(Builder::table_mut))
    }

    /// The pages of an input were moved.
    pub fn refresh(&mut self, moved: &Arc<Table>) {
        self.inputs.iter_mut().for_each(|input| input.refresh(moved));
    }

    /// The input with the next entry: of equal ones the newest.
    fn least(&self) -> Option<usize> {
        let mut least: Option<(usize, &Entry)> = None;
        for (n, input) in self.inputs.iter().enumerate() {
            let Some(e) = input.head() else { continue };
            if least.is_none_or(|(_, other)| e.order(other).is_lt()) {
                least = Some((n, e));
            }
        }
        least.map(|(n, _)| n)
    }
}

impl LsmStore {
    /// One piece of a job. `Idle`: it is finished, and in place.
    pub(super) fn job_step<M: SegmentStore, W: Meter>(
        &mut self,
        job: &mut Job,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        if let Some(builder) = &mut job.builder {
            if builder.next_page().is_some() {
                return Step::Done(Ok(self.write_page(job, m, w)));
            }
            if builder.is_sealed() {
                let ended = job.builder.take().map(Builder::finish);
                job.done.extend(ended.map(|(table, hashes)| {
                    self.own.hashes = hashes;
                    table
                }));
                return Step::Done(Ok(Background::Worked));
            }
        }
        if let Err(e) = ready!(self.load_blocks(job, m, w)) {
            return Step::Done(Err(e));
        }
        self.merge(job, w);
        if job.builder.is_none() && job.least().is_none() && job.inputs.iter().all(|i| i.wants().is_none()) {
            self.install(job);
            return Step::Done(Ok(Background::Idle));
        }
        Step::Done(Ok(Background::Worked))
    }

    fn write_page<M: SegmentStore, W: Meter>(&mut self, job: &mut Job, m: &mut M, w: &mut W) -> Background {
        let left = if job.is_flush() { FOR_FLUSHES } else { FOR_MERGES };
        let reserve = left.with_segments(self.manifest_left());
        let bytes = self.log.geometry().page_bytes;
        if self.log.room(m, Stream::Table, bytes, reserve).is_err() {
            return Background::Waiting;
        }
        let pin = job.to < self.config.pinned_levels as usize;
        let builder = job.builder.as_mut().expect("it has a page");
        let page = builder.next_page().expect("it has a page");
        let writer = self.log.begin(m, Stream::Table, bytes);
        let at = saker_segment_store::PageAddr(writer.log_addr().0 / u64::from(bytes));
        self.log.put(m, &writer, 0, page);
        self.log.commit(m, writer);
        self.add_page(at);
        builder.page_written(at, pin);
        job.pages.1 += 1;
        w.work(Unit::PageSwitch, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        self.own.stats.table_pages_written += 1;
        self.own.stats.traffic.wrote(job.to, u64::from(bytes), job.is_flush());
        Background::Worked
    }

    /// Merges until a page is full, a block is used up, or the quantum is. Every input stands at an entry or at its end.
    fn merge<W: Meter>(&mut self, job: &mut Job, w: &mut W) {
        if job.inputs.iter().any(|i| i.wants().is_some()) {
            return;
        }
        for _ in 0..QUANTUM_ENTRIES {
            let Some(n) = job.least() else { break };
            let e = *job.inputs[n].head().expect("it has an entry");
            if job.last.is_none_or(|(key, _)| key != e.key) && self.seal_if_full(job, &e) {
                return;
            }
            w.work(Unit::Compare, job.inputs.len() as u64);
            w.work(Unit::Move, 1);
            job.inputs[n].touch_ahead(w);
            self.take_along(job, e, n, w);
            job.inputs[n].advance();
            let has_page = job.builder.as_ref().is_some_and(|b| b.next_page().is_some());
            if has_page || job.inputs[n].wants().is_some() {
                return;
            }
        }
        if job.least().is_none()
            && let Some(builder) = &mut job.builder
        {
            builder.seal();
        }
    }

    fn seal_if_full(&mut self, job: &mut Job, next: &Entry) -> bool {
        let is_cut = job.cuts.pop_if(|cut| *cut <= next.key).is_some() || self.meets_too_much(job, next);
        let Some(builder) = &mut job.builder else { return false };
        let is_full = builder.is_full(next, self.config.target_file_pages);
        if is_full && !is_cut {
            builder.note_full();
        }
        if is_full || is_cut {
            builder.seal();
        }
        is_full || is_cut
    }

    /// Whether the open table would be merged with more than a compaction should have, if it had the next entry. A table of few pages goes on:
    /// its description would be a large part of it.
    fn meets_too_much(&mut self, job: &mut Job, next: &Entry) -> bool {
        let (met, page_bytes) = (job.below.come_to(&next.key), self.page_bytes());
        let Some((met, builder)) = met.zip(job.builder.as_ref()) else { return false };
        let has = builder.bytes() as u64;
        let is_too_much = met + has > self.config.compaction_bytes_max(page_bytes);
        let ends = is_too_much && has >= u64::from(PAGES_MIN) * page_bytes;
        self.own.stats.picks.ended_early += u64::from(ends);
        ends
    }

    /// Takes an entry along if it is wanted. A tombstone that hides nothing outside of the job waits for what it hides
    /// in it.
    fn take_along<W: Meter>(&mut self, job: &mut Job, e: Entry, input: usize, w: &mut W) {
        if job.last.is_some_and(|(key, _)| key != e.key) {
            job.tombstones.clear();
        }
        let Some(reason) = self.judge(job, &e) else { return };
        if e.is_tombstone() && !self.hides_others(job, &e) {
            return job.tombstones.push((e, reason));
        }
        for (tombstone, reason) in std::mem::take(&mut job.tombstones) {
            self.push(job, tombstone, None, reason);
        }
        self.push(job, e, Some(input), reason);
        w.work(Unit::CopyByte, if e.is_inside() { u64::from(e.addr.value_bytes_inside()) } else { 0 });
    }

    /// Adds an entry to the open table, with the value that is beside the head of that input.
    fn push(&mut self, job: &mut Job, e: Entry, input: Option<usize>, reason: Reason) {
        let Job { builder, inputs, below, numbers, .. } = job;
        let builder = builder.get_or_insert_with(|| {
            below.begin();
            let (page_bytes, bits) = (self.log.geometry().page_bytes, self.config.bloom_bits_per_key);
            let number = match numbers {
                Some(own) => own.next().expect("there is one for each page that it reads"),
                None => self.own.next_number(),
            };
            let hashes = std::mem::take(&mut self.own.hashes);
            let layout = self.config.layout(page_bytes);
            Builder::new(number, e.key, page_bytes, bits, layout).with_memory(hashes)
        });
        if let Some((segment, bytes)) = refs::referred(&self.log, &self.births, &e) {
            builder.refs_mut().add(segment, e.stamp, bytes, &self.births);
        }
        builder.push(e, input.map_or(With::NOTHING, |n| inputs[n].with()));
        builder.kept_mut().add(reason);
    }

    /// Why an entry is still wanted: the newest of its key, one that a snapshot sees, and tombstones while anything
    /// could be below them.
    fn judge(&mut self, job: &mut Job, e: &Entry) -> Option<Reason> {
        let newer = job.last.filter(|(key, _)| *key == e.key).map(|(_, version)| version);
        job.last = Some((e.key, e.version));
        if let Some(newer) = newer {
            self.forget_record(e);
            return self.own.snapshot_within(e.version, newer).map(Reason::Snapshot);
        }
        if !e.is_tombstone() {
            return Some(Reason::Newest);
        }
        if let Some(snapshot) = self.own.snapshot_within(0, e.version) {
            return Some(Reason::Snapshot(snapshot));
        }
        self.hides_others(job, e).then_some(Reason::Hides(e.version))
    }

    /// Whether a tombstone may hide something that is not merged with it.
    fn hides_others(&self, job: &Job, e: &Entry) -> bool {
        let elders = || self.own.levels.level(0).iter().filter(|t| !job.reads(t.id));
        job.to == 0 && elders().any(|t| t.covers(&e.key)) || self.own.levels.deeper_has(job.to, &e.key)
    }

    /// Puts the new tables in the place of the old ones.
    fn install(&mut self, job: &mut Job) {
        debug_assert!(job.builder.is_none() && job.least().is_none(), "all that it merges is in tables");
        job.duty.rest();
        let is_within = job.is_within_level0();
        self.own.stats.picks.within_level0 += u64::from(is_within);
        for (n, mut table) in job.done.drain(..).enumerate() {
            table.joins = is_within && n > 0;
            refs::count(&mut self.log, &self.births, &table.refs, true);
            self.own.levels.add(job.to, Arc::new(table));
        }
        if job.is_flush() {
            let oldest = self.own.frozen.pop_front().expect("a flush has a memtable");
            refs::count(&mut self.log, &self.births, &oldest.refs, false);
            self.own.stats.flushes += 1;
            self.used = Some(oldest);
            return self.measure_for_writes();
        }
        self.own.stats.compactions += 1;
        let (from, page_bytes) = (job.from, self.page_bytes());
        for id in &job.replaces {
            let table = self.own.levels.remove(*id).expect("the job's inputs stay until it is done");
            if from < job.to && self.own.cursors[from].is_none_or(|last| table.last > last) {
                self.own.cursors[from] = Some(table.last);
            }
            refs::count(&mut self.log, &self.births, &table.refs, false);
            self.own.stats.traffic.levels[job.to].read += table.pages_total() * page_bytes;
            self.own.leaving.dying.extend(table.all_pages());
        }
        self.turn_cursor(from);
        self.measure_for_writes();
    }

    /// The cursor starts again when nothing is behind it.
    fn turn_cursor(&mut self, level: usize) {
        let behind = |last| self.own.levels.level(level).iter().any(|t| t.first > last);
        if !self.own.cursors[level].is_some_and(behind) {
            self.own.cursors[level] = None;
        }
    }

    /// Tables that meet nothing below just go down a level.
    pub(super) fn move_down(&mut self, pick: &Pick) -> bool {
        let apart =
            |a: &Arc<Table>| pick.upper.iter().all(|b| a.id == b.id || !a.overlaps(&b.first, &b.last));
        let pinned = pick.level + 1 == self.config.pinned_levels as usize;
        let full = policy::blocks_of_full(&self.config, self.page_bytes());
        if pinned
            || !pick.lower.is_empty()
            || !pick.upper.iter().all(apart)
            || policy::are_small(&pick.upper, full)
            || self.would_meet_too_much(pick)
        {
            return false;
        }
        self.own.stats.picks.moved_along += pick.upper.len() as u64 - 1;
        for table in &pick.upper {
            let table = self.own.levels.remove(table.id).expect("picked from the levels");
            self.own.stats.traffic.levels[pick.level + 1].moved += table.pages_total() * self.page_bytes();
            self.own.levels.add(pick.level + 1, table);
        }
        self.measure_for_writes();
        true
    }
}
