// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV: the engine that DiskKV runs in the device, run at the host over a block namespace (SAKER
//! section 3.1).
//!
//! How it waits for a block command: it does not. An operation that needs pages is parked with the list of
//! them; [`HostKv::advance`] takes completions from the queue pair, hands them to the engine, and executes
//! parked operations again. Background work goes on in quanta ([`HostKv::quantum`]). Who calls these, and when, is the
//! driver's business: the caller itself in real time, an actor in `virtual`, where each quantum takes its time on a core.

mod background;
mod batch;
mod blocks;
mod full;
mod held;
mod op;
mod open;
mod parked;
mod queue_pair;
mod scan;
mod segments;
mod settings;
mod turns;
mod work;

pub use blocks::{BlockDone, BlockQueue};
pub use op::{Answer, Batch, Begun, Op, Outcome, Ticket};
pub use queue_pair::KvBlockQueue;
pub use segments::{BlockCacheStats, BlockSegments, HOST_PAGE_BYTES, SegmentStats, Whose, extent_bytes};
pub use settings::SettingRefused;
pub use work::Work;

use background::Workers;
use batch::packed;
use parked::Parked;
use saker_engine::{
    AnyEngine, Condition, Context, Engine, Hints, Inspect, StoreStats, Version, WriteCondition,
};
use saker_log::LogStats;
use saker_nvme::Key;
use saker_segment_store::{CellError, Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use scan::Taken;
use settings::Asked;
use std::collections::VecDeque;
use turns::{Turn, Turns};
use work::with_meter;

use crate::cache::{CacheStats, ReadCache};

/// A key-value store at the host.
pub struct HostKv {
    store: AnyEngine,
    asked: Asked,
    medium: BlockSegments,
    cache: Option<ReadCache>,
    snapshots: Taken,
    /// Scans that have ended.
    scans_ended: u64,
    /// Boxed: each time that one is tried it leaves its place, and those behind it move.
    parked: VecDeque<Box<Parked>>,
    next_ticket: u64,
    workers: Workers,
    /// Times that an operation had to wait for pages.
    waits: u64,
    turns: Turns,
}

impl HostKv {
    /// Counters of the read cache; zeros without one.
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.as_ref().map_or_else(CacheStats::default, ReadCache::stats)
    }

    /// So many pairs will come: memory for their index is brought in, and laid out for them if there are none yet.
    pub fn reserve(&mut self, pairs: u64) {
        self.store.reserve(pairs);
    }

    /// Counters of the engine.
    pub fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    /// Counters of the engine's own mechanisms, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.store.counters()
    }

    /// One of them; `None`: there is none of that name.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.store.counter(name)
    }

    /// The engine's name.
    pub fn engine_name(&self) -> &'static str {
        self.store.name()
    }

    /// The engine's digest of everything that operations can observe.
    pub fn digest(&self) -> u64 {
        self.store.digest()
    }

    /// Counters of the engine's log.
    pub fn log_stats(&self) -> LogStats {
        self.store.log_stats()
    }

    /// Longest value that it takes, in bytes.
    pub fn value_bytes_max(&self) -> u32 {
        self.store.value_bytes_max()
    }

    /// Bytes that live, and that may live at once.
    pub fn fill_bytes(&self) -> (u64, u64) {
        (self.store.live_bytes(), self.store.capacity_bytes(&self.medium))
    }

    /// Modelled memory of the engine.
    pub fn memory(&self) -> saker_engine::Memory {
        self.store.memory()
    }

    /// Times that an operation could not go on before pages had come.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// What the block cache did; zeros without one.
    pub fn block_cache_stats(&self) -> BlockCacheStats {
        self.medium.block_cache_stats()
    }

    /// Block commands so far.
    pub fn medium_stats(&self) -> SegmentStats {
        self.medium.stats()
    }

    /// The queue below, for its counters.
    pub fn queue(&self) -> &dyn BlockQueue {
        self.medium.queue()
    }

    /// Whether no block command is on its way.
    pub fn is_still(&self) -> bool {
        self.medium.is_still()
    }

    /// Rings the doorbell if anything was submitted.
    pub fn ring(&mut self) {
        self.medium.queue_mut().ring();
    }

    /// Operations that have not completed.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// Starts an operation. `Ok`: it is complete already. `Err`: it is on its way; [`HostKv::advance`] will tell.
    pub fn submit(&mut self, op: Op, work: Work<'_>) -> Result<Outcome, Ticket> {
        with_meter!(work, w => match self.submit_to(Parked::new(Ticket(self.next_ticket), op), w) {
            Begun::Ended(outcome) => Ok(outcome),
            Begun::Parked(ticket) => Err(ticket),
            Begun::Stopped(_) => unreachable!("it did not ask to be given back"),
        })
    }

    /// The same, but a write that finds writes stopped is given back: at once ([`Begun::Stopped`]), or when it has waited for something
    /// else ([`Answer::Stopped`]). Nothing has happened then, nobody waits, and no period without writes begins. For who has another
    /// place for it.
    pub fn submit_unless_stopped(&mut self, op: Op, work: Work<'_>) -> Begun {
        let parked = Parked { escapes: true, ..Parked::new(Ticket(self.next_ticket), op) };
        with_meter!(work, w => self.submit_to(parked, w))
    }

    fn submit_to<W: Meter>(&mut self, mut parked: Parked, w: &mut W) -> Begun {
        if let Some(value) = self.cached(&parked.op, w) {
            return Begun::Ended(Ok(Answer::Value(value)));
        }
        if let Op::Batch(batch) = &parked.op {
            packed(batch, w);
        }
        loop {
            match self.run(&mut parked, w) {
                Some(outcome) => return Begun::Ended(outcome),
                None if parked.was_stopped => return self.give_back(parked),
                // Its tokens are there already, or its pages are.
                None if self.has_turn_at_once(&mut parked) => {}
                None if self.goes_on(&parked) => {}
                None => break,
            }
        }
        self.next_ticket += 1;
        let ticket = parked.ticket;
        self.parked.push_back(Box::new(parked));
        Begun::Parked(ticket)
    }

    /// An operation that is not to wait for the end of a stop.
    #[cold]
    fn give_back(&mut self, parked: Parked) -> Begun {
        self.medium.release_pages(&parked.pages);
        Begun::Stopped(parked.op)
    }

    /// Whether background work keeps up with writes, as of the last operation or quantum.
    pub fn write_condition(&self) -> WriteCondition {
        self.store.write_condition()
    }

    /// Takes completions and goes on with what waited. True if anything happened.
    pub fn advance(&mut self, work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        with_meter!(work, w => self.advance_to(w, done))
    }

    fn advance_to<W: Meter>(&mut self, w: &mut W, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        let mut any = self.medium.poll();
        while let Some(completion) = self.medium.take_completion() {
            self.note_failed_sync(&completion);
            self.store.completed(&completion, &mut self.medium);
            any = true;
        }
        if !any && self.parked.is_empty() {
            return false;
        }
        self.workers.is_idle &= !any;
        self.look_at_turns();
        self.turns.begin_round();
        let mut place = 0;
        while place < self.parked.len() {
            if !self.may_go_on(&self.parked[place]) {
                place += 1;
                continue;
            }
            let Some(mut parked) = self.parked.remove(place) else { break };
            match self.run_on(&mut parked, w) {
                Some(outcome) => {
                    any = true;
                    done(parked.ticket, outcome);
                }
                None => {
                    self.parked.insert(place, parked);
                    place += 1;
                }
            }
        }
        self.look_at_turns();
        any
    }

    /// Whether an operation that waits can be tried. Most cannot: they are looked at where they stand, as moving them would cost more.
    fn may_go_on(&self, parked: &Parked) -> bool {
        let has_to_wait = parked.turn == Turn::Waits
            || self.store.keeps_waiting(parked.stopped)
            || self.is_still_full(parked);
        (!has_to_wait || self.medium.is_gone()) && self.medium.all_here(&parked.pages)
    }

    /// It is tried, and again while what it needs is here already.
    fn run_on<W: Meter>(&mut self, parked: &mut Parked, w: &mut W) -> Option<Outcome> {
        loop {
            let outcome = self.run(parked, w);
            if parked.was_stopped {
                self.medium.release_pages(&parked.pages);
                return Some(Ok(Answer::Stopped));
            }
            if outcome.is_some() || !self.goes_on(parked) {
                return outcome;
            }
        }
    }

    /// Whether it has just asked for pages all of which were at hand.
    fn goes_on(&self, parked: &Parked) -> bool {
        parked.asked && self.medium.all_here(&parked.pages)
    }

    /// What a read finds in the cache. What is there is what the store has: only completed operations change either.
    fn cached(&self, op: &Op, w: &mut impl Meter) -> Option<Vec<u8>> {
        let (Some(cache), Op::Get(key)) = (&self.cache, op) else { return None };
        cache.get(&Key::new(key).ok()?, w, <[u8]>::to_vec)
    }

    /// An operation has been executed: the cache follows the store.
    fn note(&self, op: &Op, outcome: &Outcome, w: &mut impl Meter) {
        let (Op::Get(key) | Op::Put(key, _) | Op::Delete(key)) = op else {
            if let Op::Batch(batch) = op {
                self.note_batch(batch, outcome, w);
            }
            return;
        };
        with_cached(self.cache.as_ref(), key, |cache, key| match (op, outcome) {
            (Op::Get(_), Ok(Answer::Value(value))) => cache.insert(key, value, w),
            (Op::Put(_, value), Ok(_)) => cache.update(key, Some(value), w),
            (Op::Get(_), _) => {}
            _ => cache.remove(key),
        });
    }

    /// Executes an operation once. `None`: it must wait.
    fn run<W: Meter>(&mut self, parked: &mut Parked, w: &mut W) -> Option<Outcome> {
        parked.asked = false;
        parked.full.tried();
        if parked.turn != Turn::Has {
            return self.execute(parked, w);
        }
        self.store.let_pass(1);
        let outcome = self.execute(parked, w);
        self.store.let_pass(0);
        outcome
    }

    fn execute<W: Meter>(&mut self, parked: &mut Parked, w: &mut W) -> Option<Outcome> {
        if self.medium.is_gone() && !parked.op.only_reads() {
            self.medium.release_pages(&parked.pages);
            return Some(Err(CellError::HostIo.into()));
        }
        let m = &mut self.medium;
        let step = match &parked.op {
            Op::Put(key, value) => {
                let put = self.store.store(key, &mut &value[..], Condition::Always, &mut Context::new(m, w));
                put.map(|put| put.map(|put| done(put.ended())))
            }
            Op::Get(key) => {
                let mut value = Vec::new();
                let found = self.store.retrieve(key, &mut value, &mut Context::new(m, w));
                found.map(|found| found.map(|_| Answer::Value(value)))
            }
            Op::Delete(key) => self.store.delete(key, &mut Context::new(m, w)).map(|r| r.map(done)),
            Op::Exists(key) => {
                self.store.exists(key, &mut Context::new(m, w)).map(|r| r.map(|()| Answer::Done))
            }
            Op::Batch(batch) => self.run_batch(batch, w),
            Op::Scan { .. } => self.run_scan(parked, w),
            Op::Snapshot => Step::Done(self.take_snapshot()),
            Op::Release(number) => Step::Done(self.release_snapshot(*number)),
            Op::Flush => return self.run_flush(parked),
        };
        match step {
            Step::Done(outcome) if outcome.is_err() && self.waits_for_scans(parked, &outcome) => None,
            Step::Done(outcome) => {
                self.medium.release_pages(&parked.pages);
                self.note_admitted(&parked.op, &outcome);
                self.note(&parked.op, &outcome, w);
                Some(outcome)
            }
            Step::Need(pages) => {
                self.need(parked, pages, w);
                None
            }
            // It goes on holding its pages: it is to try again.
            Step::Blocked(stall) => {
                self.hold_back(parked, stall);
                None
            }
        }
    }

    /// It needs pages. What is found in the block cache costs a look under a lock each, as in RocksDB's.
    fn need<W: Meter>(&mut self, parked: &mut Parked, pages: Reads, w: &mut W) {
        let whose = if matches!(parked.op, Op::Scan { .. }) { Whose::Scan } else { Whose::Operation };
        let hits = self.medium.bring_instead(&pages, &parked.pages, whose);
        w.work(Unit::Probe, hits);
        w.work(Unit::Lock, hits);
        self.waits += u64::from(!self.medium.all_here(&pages));
        (parked.pages, parked.asked) = (pages, true);
    }

    #[cold]
    fn run_scan<W: Meter>(&mut self, parked: &mut Parked, w: &mut W) -> Step<Outcome> {
        let Op::Scan { from, backwards, entries, snapshot } = &parked.op else {
            unreachable!("asked for scans only")
        };
        let mut scanning =
            match parked.scanning.take().map_or_else(|| self.begin_scan(*snapshot), |on| Ok(*on)) {
                Ok(scanning) => scanning,
                Err(ended) => return Step::Done(ended),
            };
        let step = self.scan_on(&mut scanning, (from, *backwards, *entries), w);
        if matches!(step, Step::Done(_)) {
            self.end_scan(&scanning);
        } else {
            parked.scanning = Some(Box::new(scanning));
        }
        step
    }

    fn run_flush(&mut self, parked: &mut Parked) -> Option<Outcome> {
        let m = &mut self.medium;
        let after = *parked.after.get_or_insert_with(|| self.store.flush(m));
        if !self.store.is_flushed(after, m.finished()) {
            return None;
        }
        let synced = *parked.synced.get_or_insert_with(|| m.sync());
        (m.finished() >= synced).then_some(parked.failed.map_or(Ok(Answer::Done), |why| Err(why.into())))
    }
}

/// A write answers that it is done.
fn done(_: Version) -> Answer {
    Answer::Done
}

/// Shows a key's cache, if there is one and it takes keys of that length.
fn with_cached(cache: Option<&ReadCache>, key: &[u8], note: impl FnOnce(&ReadCache, &Key)) {
    if let (Some(cache), Ok(key)) = (cache, Key::new(key)) {
        note(cache, &key);
    }
}
