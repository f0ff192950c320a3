// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flushes and compactions: merging entries into new tables, one page at a time.

use super::LsmStore;
use super::around::{Apart, Here};
use super::builder::Written;
use super::grandparents::Grandparents;
use super::input::Input;
use super::merger::Merger;
use super::policy::{self, Pick};
use super::reserve::{FOR_FLUSHES, FOR_MERGES};
use super::table::Table;
use crate::ordered::key::Key;
use crate::ordered::memtable::Memtable;
use crate::ordered::refs;
use saker_duty::Duty;
use saker_engine_api::{Background, KvError};
use saker_segment_store::{PageAddr, SegmentStore, Step, Stream, ready};
use saker_sim::{Meter, Unit};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A merge on its way.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it computes; nothing while that is done elsewhere.
    pub(super) merger: Merger,
    /// What it takes along when it computes elsewhere, and whether it does.
    pub(super) apart: Option<Box<Apart>>,
    pub(super) is_out: bool,
    /// What it computes elsewhere has the other half.
    pub(super) ticket: Arc<()>,
    /// Whether nothing in it refers to the value log, once that is known.
    pub(super) is_whole: Option<bool>,
    /// Pages that are to be written next, in order.
    pub(super) out: VecDeque<Vec<u8>>,
    /// Those of the open table that were.
    written: Written,
    /// Memory of pages that were written.
    spare: Vec<Vec<u8>>,
    /// Tables that go when it is done; none of a flush.
    replaces: Vec<u64>,
    /// The level of the upper ones among them, and the level that the new ones go to: the same if they are only written
    /// anew.
    from: usize,
    to: usize,
    /// Its first and last key; of compactions.
    span: Option<(Key, Key)>,
    done: Vec<Table>,
    duty: Duty,
    /// Its number among compactions ([`super::Lsm::begin`]).
    number: u32,
    /// Whether it merges files of level 0 into one of that level.
    is_within_level0: bool,
    /// Tables whose pages were moved while it computed elsewhere.
    moved: Vec<Arc<Table>>,
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
        let mut job = Self::rewriting(pick.level, &pick.upper);
        job.merger.cuts = pick.cuts.iter().rev().copied().collect();
        job
    }

    /// Writes tables of a level that follow each other anew, without what is not needed.
    pub fn rewriting(level: usize, tables: &[Arc<Table>]) -> Self {
        let replaces = tables.iter().map(|t| t.id).collect();
        let span = tables.first().zip(tables.last()).map(|(first, last)| (first.first, last.last));
        Self { span, ..Self::new(vec![Input::tables(tables.to_vec())], replaces, (level, level)) }
    }

    fn new(inputs: Vec<Input>, replaces: Vec<u64>, (from, to): (usize, usize)) -> Self {
        Self {
            merger: Merger::of(inputs),
            apart: None,
            is_out: false,
            ticket: Arc::default(),
            is_whole: None,
            out: VecDeque::new(),
            written: Written::default(),
            spare: Vec::new(),
            replaces,
            from,
            to,
            span: None,
            done: Vec::new(),
            duty: Duty::new("a merge is installed, or goes on later"),
            number: 0,
            is_within_level0: false,
            moved: Vec::new(),
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
        let mut job = Self { span: pick.span(), ..Self::new(inputs, replaces, (0, 0)) };
        (job.merger.numbers, job.is_within_level0) = (Some(numbers), true);
        job
    }

    /// Whether it merges files of level 0 into one of that level.
    pub fn is_within_level0(&self) -> bool {
        self.is_within_level0
    }

    /// Whether it reads tables of level 0.
    pub fn is_of_level0(&self) -> bool {
        self.from == 0 && !self.is_flush()
    }

    /// The same merge above those tables.
    pub fn above(mut self, below: Grandparents) -> Self {
        self.merger.below = below;
        self
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
        !self.out.is_empty() || self.merger.is_sealed()
    }

    /// Whether it computes elsewhere, now or the next time.
    pub(super) fn is_apart(&self) -> bool {
        self.is_out || self.apart.is_some()
    }

    /// Whether it can do nothing before it has computed elsewhere: no page of it waits for room.
    pub(super) fn waits_for_task(&self) -> bool {
        self.is_out || self.apart.is_some() && self.out.is_empty()
    }

    pub(super) fn is_flush(&self) -> bool {
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

    /// Its first and last key, of compactions.
    pub fn span(&self) -> Option<(Key, Key)> {
        self.span
    }

    /// The pages of the tables it is writing.
    pub fn pages(&self) -> impl Iterator<Item = PageAddr> {
        self.done.iter().flat_map(Table::all_pages).chain(self.written.pages.iter().copied())
    }

    /// One of them was moved. Whether it is one.
    pub fn rename_page(&mut self, from: PageAddr, to: PageAddr) -> bool {
        if let Some(page) = self.written.pages.iter_mut().find(|page| **page == from) {
            *page = to;
            return true;
        }
        let owner = self.done.iter_mut().find(|table| table.all_pages().any(|page| page == from));
        owner.is_some_and(|table| {
            table.replace_page(from, to);
            true
        })
    }

    /// The pages of an input were moved.
    pub fn refresh(&mut self, moved: &Arc<Table>) {
        if self.is_out {
            return self.moved.push(moved.clone());
        }
        self.merger.inputs.iter_mut().for_each(|input| input.refresh(moved));
    }

    /// What it computes is here again, and is told what has happened meanwhile.
    pub fn is_back(&mut self, merger: Merger) {
        (self.merger, self.is_out) = (merger, false);
        for table in std::mem::take(&mut self.moved) {
            self.refresh(&table);
        }
        self.take_pages();
    }

    /// Pages that were computed are to be written. The memory of those that were is for the next ones.
    pub fn take_pages(&mut self) {
        if let Some(builder) = self.merger.builder() {
            self.out.extend(builder.take_pages());
            builder.spare().append(&mut self.spare);
        }
    }

    /// A page was written there, which stays in memory if its level is pinned.
    fn page_written(&mut self, at: PageAddr, pin: bool) {
        let page = self.out.pop_front().expect("it has a page");
        self.written.pages.push(at);
        self.pages.1 += 1;
        if pin {
            self.written.pinned.push(page);
        } else {
            self.spare.push(page);
        }
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
        if !job.out.is_empty() {
            return Step::Done(Ok(self.write_page(job, m, w)));
        }
        if job.is_out {
            return Step::Done(Ok(Background::Waiting));
        }
        if job.merger.is_sealed() {
            let ended = job.merger.finish(std::mem::take(&mut job.written));
            job.done.extend(ended.map(|(table, memory)| {
                self.own.memory = memory;
                table
            }));
            return Step::Done(Ok(Background::Worked));
        }
        if job.merger.is_corrupt() {
            return Step::Done(Err(KvError::Corrupt));
        }
        if self.goes_out(job) && !job.merger.is_through() {
            return self.prepare(job, m);
        }
        if let Err(e) = ready!(self.load_blocks(job, m, w)) {
            return Step::Done(Err(e));
        }
        let Job { merger, replaces, to, .. } = job;
        merger.go_on(&mut Here { store: self, reads: replaces, to: *to }, w);
        job.take_pages();
        if job.out.is_empty() && job.merger.is_through() {
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
        let page = job.out.front().expect("it has a page");
        let writer = self.log.begin(m, Stream::Table, bytes);
        let at = PageAddr(writer.log_addr().0 / u64::from(bytes));
        self.log.put(m, &writer, 0, page);
        self.log.commit(m, writer);
        self.add_page(at);
        job.page_written(at, pin);
        w.work(Unit::PageSwitch, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        self.own.stats.table_pages_written += 1;
        self.own.stats.traffic.wrote(job.to, u64::from(bytes), job.is_flush());
        Background::Worked
    }

    /// Puts the new tables in the place of the old ones.
    fn install(&mut self, job: &mut Job) {
        debug_assert!(job.merger.is_through(), "all that it merges is in tables");
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
