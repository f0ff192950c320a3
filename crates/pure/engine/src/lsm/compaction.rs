// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compactions, as many at once as there are threads for them.
//!
//! A round is a piece of each. It costs the processor what the longest of them does: the threads have cores of their own. Pages
//! are brought for all of them together, and before any goes on, so that a call that says `Need` has changed nothing.

use super::grandparents::Grandparents;
use super::job::Job;
use super::policy::{self, Pick};
use super::table::Table;
use super::{Lsm, LsmConfig, LsmStore};
use crate::ordered::background::Piece;
use saker_engine_api::Background;
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::ops::Range;
use std::sync::Arc;

/// Numbers that a flush leaves for merges within level 0 that go on beside it: for as many pages as no device has in its level 0.
const LEFT_BY_FLUSHES: u64 = 1 << 24;

/// Work of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Units([u64; Unit::COUNT]);

impl Meter for Units {
    #[inline(always)]
    fn work(&mut self, unit: Unit, n: u64) {
        self.0[unit as usize] += n;
    }
}

impl Units {
    fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n].max(other.0[n])))
    }

    fn pay<W: Meter>(&self, w: &mut W) {
        Unit::ALL.iter().zip(self.0).filter(|(_, n)| *n > 0).for_each(|(unit, n)| w.work(*unit, n));
    }
}

/// A job that is finished is work that was done.
pub(super) fn worked_if_idle(step: Piece) -> Piece {
    match step {
        Step::Done(Ok(Background::Idle)) => Step::Done(Ok(Background::Worked)),
        step => step,
    }
}

impl Lsm {
    /// A compaction begins, with a number that no other one has.
    pub(super) fn begin(&mut self, job: Job) {
        let is_free = |n: &u32| self.compactions.iter().all(|other| other.number() != *n);
        let number = (0..).find(is_free).expect("there are few");
        self.compactions.push(job.numbered(number).resting());
    }

    /// The number of the next table.
    pub(super) fn next_number(&mut self) -> u64 {
        self.next_table += 1;
        self.next_table - 1
    }

    /// A flush begins. Tables of level 0 are in the order of their numbers, also when those before it are merged while it goes on: what is
    /// merged gets numbers that the flush leaves. Alone a compaction merges none within the level.
    fn leave_numbers(&mut self, config: &LsmConfig) {
        let left = if config.compaction_threads > 1 { LEFT_BY_FLUSHES } else { 0 };
        self.numbers = self.next_table..self.next_table + left;
        self.next_table += left;
    }

    /// Numbers for what a merge within level 0 writes. `None`: the flush left fewer.
    fn numbers_within_level0(&mut self, pick: &Pick) -> Option<Range<u64>> {
        // Each table has a page of blocks at least, and what is merged takes no more pages than it had, but for what their ends leave empty.
        let most = 4 * pick.upper.iter().map(|t| t.pages_total()).sum::<u64>();
        let left = if self.flush.is_some() { self.numbers.clone() } else { self.next_table..u64::MAX };
        let numbers = left.start..left.start.checked_add(most)?;
        if numbers.end > left.end {
            return None;
        }
        match self.flush {
            Some(_) => self.numbers.start = numbers.end,
            None => self.next_table = numbers.end,
        }
        Some(numbers)
    }

    /// The next step towards one level.
    pub(super) fn next_to_one_level(&self, config: &LsmConfig, pages: (u64, u32)) -> Option<Pick> {
        policy::pick_all(config, &self.levels, &self.cursors, pages)
    }
}

impl LsmStore {
    /// A piece of writing the oldest frozen memtable to level 0.
    pub(super) fn flush_step<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Piece {
        if self.is_full() && self.may_freeze() && !self.trim(m) {
            self.freeze();
        }
        let Some(oldest) = self.own.frozen.front() else { return Step::Done(Ok(Background::Idle)) };
        let mut job = match self.own.flush.take() {
            Some(job) => job.taken(),
            None => {
                let job = Job::flush(Arc::clone(oldest));
                self.own.leave_numbers(&self.config);
                job
            }
        };
        let step = self.job_step(&mut job, m, w);
        if !matches!(step, Step::Done(Ok(Background::Idle))) {
            self.own.flush = Some(job.resting());
        }
        worked_if_idle(step)
    }

    /// A round of compactions.
    pub(super) fn compaction_step<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Piece {
        if self.own.flush.as_ref().is_some_and(|flush| flush.is_out) {
            // Nothing is merged while a memtable is flushed.
            return Step::Done(Ok(Background::Waiting));
        }
        if self.start_compactions(m) {
            return Step::Done(Ok(Background::Worked));
        }
        if self.own.compactions.len() < 2 {
            let Some(job) = self.own.compactions.pop() else { return Step::Done(Ok(Background::Idle)) };
            let mut job = job.taken();
            let step = self.job_step(&mut job, m, w);
            if !matches!(step, Step::Done(Ok(Background::Idle))) {
                self.own.compactions.push(job.resting());
            }
            return worked_if_idle(step);
        }
        let mut jobs = std::mem::take(&mut self.own.compactions).into_iter().map(Job::taken).collect();
        let round = self.round(&mut jobs, m, w);
        // What ended is in place.
        jobs.append(&mut self.own.compactions);
        self.own.compactions = jobs.into_iter().map(Job::resting).collect();
        round
    }

    fn round<M: SegmentStore, W: Meter>(&mut self, jobs: &mut Vec<Job>, m: &mut M, w: &mut W) -> Piece {
        let (mut reads, mut longest) = (Reads::new(), Units::default());
        for job in jobs.iter_mut().filter(|job| !job.is_writing() && !job.is_apart()) {
            let mut units = Units::default();
            match self.load_blocks(job, m, &mut units) {
                Step::Done(Ok(())) => {}
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(pages) => reads.extend(pages),
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
            longest = longest.max(units);
        }
        if !reads.is_empty() {
            longest.pay(w);
            return Step::Need(reads);
        }
        let mut outcome = Background::Waiting;
        let mut n = 0;
        while n < jobs.len() {
            let mut units = Units::default();
            match self.job_step(&mut jobs[n], m, &mut units) {
                Step::Done(Ok(Background::Idle)) => {
                    jobs.remove(n);
                    outcome = Background::Worked;
                    continue;
                }
                Step::Done(Ok(Background::Worked)) => outcome = Background::Worked,
                Step::Done(Ok(Background::Waiting)) | Step::Need(_) | Step::Blocked(_) => {}
                Step::Done(Err(e)) => return Step::Done(Err(e)),
            }
            longest = longest.max(units);
            n += 1;
        }
        longest.pay(w);
        Step::Done(Ok(outcome))
    }

    /// Starts what is due while threads are free. True if tables went down a level, which is all a call does.
    pub(super) fn start_compactions<M: SegmentStore>(&mut self, m: &M) -> bool {
        if self.upkeep.is_urgent && self.puts_off_merges(m) {
            return false;
        }
        let more = self.room_beyond(m);
        let pages = (self.page_bytes(), self.longest.bytes());
        while self.own.compactions.len() < self.config.threads() {
            let pick = if self.reveal.merges() {
                // Towards one level one goes on alone.
                let pick = self
                    .own
                    .compactions
                    .is_empty()
                    .then(|| self.own.next_to_one_level(&self.config, pages))
                    .flatten();
                if pick.is_none() {
                    self.start_rewriting();
                    return false;
                }
                pick
            } else {
                let (levels, cursors, jobs) = (&self.own.levels, &self.own.cursors, &self.own.compactions);
                policy::pick(&self.config, levels, cursors, pages, more, jobs)
            };
            let Some(pick) = pick else {
                self.own.none_to_begin = true;
                return false;
            };
            if !pick.cuts.is_empty() {
                self.own.begin(Job::splitting(&pick));
                continue;
            }
            if pick.is_within {
                let Some(numbers) = self.own.numbers_within_level0(&pick) else {
                    self.own.none_to_begin = true;
                    return false;
                };
                self.own.begin(Job::within_level0(&pick, numbers));
                continue;
            }
            if self.move_down(&pick) {
                return true;
            }
            let below = Grandparents::new(&policy::grandparents(&self.own.levels, &pick), pages.0);
            self.own.stats.picks.expanded += u64::from(pick.level > 0 && pick.upper.len() > 1);
            self.own.begin(Job::compaction(&pick).above(below));
        }
        false
    }

    /// Whether tables that go down would be merged with too much there. What is merged towards one level is merged with all.
    pub(super) fn would_meet_too_much(&mut self, pick: &Pick) -> bool {
        let (page_bytes, levels) = (self.page_bytes(), &self.own.levels);
        let asked = self.config.compaction_bytes_max(page_bytes);
        let too_much =
            |t: &Arc<Table>| policy::would_meet_too_much(levels, (pick.level, t), page_bytes, asked);
        let is_too_much = !self.reveal.merges() && pick.upper.iter().any(too_much);
        self.own.stats.picks.not_moved += u64::from(is_too_much);
        is_too_much
    }
}

#[cfg(test)]
mod tests;
