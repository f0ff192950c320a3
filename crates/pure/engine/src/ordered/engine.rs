// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store of ordered keys as an [`Engine`].

use super::Store;
use super::ample::Ample;
use super::inside::Inside;
use super::key::{Entry, Key};
use super::landing::Incoming;
use super::longest::Longest;
use super::memtable::Position;
use super::reserve::DELETES_LEAVE;
use super::structure::{Content, Structure, Write};
use saker_engine_api::{
    Background, Capabilities, Capability, Condition, Context, Engine, Hints, Inspect, Job, JobKind, KvError,
    Memory, Put, Settings, Sink, Source, StoreStats, Task, Unsupported, Version, Versioned, WriteCondition,
};
use saker_log::append::Reserve;
use saker_log::{LogAddr, LogStats, Segment};
use saker_segment_store::{Completion, SegmentStore, Step, Stream, Tag, ready};
use saker_sim::{Free, Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::land::land;
use saker_value_log::lengths::most_pairs;
use saker_value_log::packing::Packing;
use saker_value_log::record::{Header, Kind, record_bytes};

/// What such a store can do beyond single pairs.
pub(crate) const CAPABILITIES: Capabilities = {
    use Capability::{Bind, Groups, List, LiveSettings, Places, Reset, Scan, Snapshots, Transactions};
    Capabilities::of(&[List, Snapshots, Scan, Groups, Bind, Places, Reset, LiveSettings, Transactions])
};

impl<S: Structure> Engine for Store<S> {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn store<M: SegmentStore, W: Meter, V: Source>(
        &mut self,
        key: &[u8],
        value: &mut V,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        let (m, w) = cx.parts();
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        let value_bytes = value.bytes();
        if value_bytes > self.settings.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        if let Err(refused) = ready!(self.meets(&name, condition, m, w)) {
            return Step::Done(Err(refused));
        }
        let held = value.bytes_held();
        let plan = self.plan_record(Incoming { key_bytes: key.len() as u32, value_bytes, held }, m);
        let (inside, replaced) = match ready!(self.may_store(&name, (plan, value_bytes), m, w)) {
            Ok(admitted) => admitted,
            Err(refused) => return Step::Done(Err(refused)),
        };
        let (bytes, room) = (plan.bytes, self.take_room(plan, m));
        let (addr, stamp) = (RecordAddr::new(room.position(), bytes, key.len() as u8), room.stamp);
        let stays = !inside && self.settings.may_be_inside(value_bytes);
        let header = self.header(Kind::Pair, key.len(), value_bytes);
        let header = Header { pad_bytes: plan.pad_bytes, stays, ..header };
        if land(&self.log, (&room.writer, room.from), header, key, value, m).is_err() {
            self.abandon_record(room, m);
            return Step::Done(Err(KvError::Transfer));
        }
        self.commit_record(room, m);
        let e = if inside {
            self.note_passing(self.segment_at(addr.position()), bytes);
            let value = LogAddr(addr.position() + u64::from(header.value_at()));
            w.work(Unit::CopyByte, u64::from(value_bytes));
            let e = self.take_inside((name, self.version), (value, value_bytes), m);
            e.expect("the record was just written")
        } else {
            Entry { key: name, version: self.version, addr, stamp }
        };
        self.note_put(&e, value_bytes);
        self.enter(e, replaced);
        self.written(key.len() + value_bytes as usize, m);
        w.work(Unit::Encode, 1);
        w.work(
            Unit::CopyByte,
            u64::from(bytes - value_bytes + self.copied_by_core(&plan, value.bytes_by_core())),
        );
        w.work(Unit::ChecksumByte, u64::from(bytes));
        w.work(Unit::Probe, 2);
        Step::Done(Ok(Put::Done(Version(header.version))))
    }

    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        self.retrieve_at(key, None, sink, cx.medium, cx.meter)
    }

    fn retrieve_versioned<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Versioned, KvError>> {
        self.retrieve_and_remember(key, sink, cx.medium, cx.meter)
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        let (m, w) = cx.parts();
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        let old = match ready!(self.find_pair(&name, m, w)) {
            Ok(Some(old)) => old,
            Ok(None) => return Step::Done(Err(KvError::NotFound)),
            Err(e) => return Step::Done(Err(e)),
        };
        if let Some(e) = self.upkeep.error() {
            return Step::Done(Err(e));
        }
        let user_bytes = key.len() as u64;
        if let Err(refused) = ready!(self.may_write(Write::Delete, user_bytes, KvError::CapacityExceeded)) {
            return Step::Done(Err(refused));
        }
        let reserve = Reserve { slots: DELETES_LEAVE, segments: self.for_delete(m) };
        let record = Incoming { key_bytes: key.len() as u32, value_bytes: 0, held: 0 };
        let plan = self.plan_record(record, m);
        if let Err(refused) = ready!(self.room_for(plan, reserve, m)) {
            return Step::Done(Err(refused));
        }
        let (bytes, room) = (plan.bytes, self.take_room(plan, m));
        let header = self.header(Kind::Tombstone, key.len(), 0);
        let (id, stamp) = (self.segment_at(room.position()), room.stamp);
        land(&self.log, (&room.writer, room.from), header, key, &mut &[][..], m)
            .expect("nothing is fetched for a tombstone");
        self.commit_record(room, m);
        self.log.add_until_checkpoint(id, u64::from(bytes));
        let replaced = self.replaced_by(Some(old));
        self.enter(Entry { key: name, version: self.version, addr: RecordAddr::NONE, stamp }, replaced);
        self.written(key.len(), m);
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        Step::Done(Ok(Version(header.version)))
    }

    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        let found = self.find_pair(&name, cx.medium, cx.meter);
        found.map(|found| found.and_then(|e| e.map(|_| ()).ok_or(KvError::NotFound)))
    }

    fn flush<M: SegmentStore>(&mut self, m: &mut M) -> Tag {
        if !self.settings.ring_lasts {
            self.log.seal_stream(Stream::User, m);
            self.log.seal_stream(Stream::Gc, m);
        }
        m.last_tag()
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.log.is_safe(tag, finished)
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.note_completed(done, m);
    }

    fn job<M: SegmentStore>(&self, m: &M) -> Option<Job> {
        Job::upkeep_if(self.has_debt(m) || self.wants_values())
    }

    fn jobs<M: SegmentStore>(&self, m: &M, visit: &mut dyn FnMut(Job)) {
        if self.has_debt(m) {
            S::jobs(self, m, visit);
        } else if self.wants_values() {
            visit(Job::UPKEEP);
        }
    }

    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        job: Job,
        finished: Tag,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        if job.is_upkeep() {
            self.upkeep.is_urgent = job == Job::URGENT;
            return self.quantum(finished, cx.medium, cx.meter);
        }
        self.quantum_beside(job, finished, cx.medium, cx.meter)
    }

    fn did(&self) -> JobKind {
        self.upkeep.did.unwrap_or(JobKind::Upkeep)
    }

    fn write_condition(&self) -> WriteCondition {
        self.own.condition()
    }

    fn puts_off<M: SegmentStore>(&mut self, m: &M) -> bool {
        self.owes_only_structure(m) && S::puts_off(self, m)
    }

    fn next_task(&mut self) -> Option<Box<dyn Task>> {
        S::next_task(self)
    }

    fn task_done(&mut self, task: Box<dyn Task>) {
        S::task_done(self, task);
    }

    fn keeps_waiting(&self, stopped: WriteCondition) -> bool {
        let goes_on = self.upkeep.error().is_none() && !self.upkeep.is_stuck();
        stopped.is_stopped() && stopped == self.own.condition() && goes_on
    }

    fn let_pass(&mut self, writes: u32) {
        self.own.let_pass(writes);
    }

    fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.entries_at_most(), pair_bytes: self.content_bytes(), ..self.kv }
    }

    fn value_bytes_max(&self) -> u32 {
        self.settings.value_bytes_max
    }

    fn live_bytes(&self) -> u64 {
        self.content_bytes()
    }

    /// What the segments hold, less the spare ones, manifests, the structure with room for replacing it, what is lost in each
    /// segment, and a share that keeps collections cheap.
    fn capacity_bytes<M: SegmentStore>(&self, m: &M) -> u64 {
        S::capacity_for(self, &self.content_with(0, Inside::NONE, 0), m)
    }

    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        if value_bytes > self.settings.value_bytes_max {
            return 0;
        }
        let bytes = record_bytes(key_bytes, value_bytes);
        let longest = bytes.max(Longest::default().bytes());
        let each = self.inside_of(self.settings.may_be_inside(value_bytes), bytes);
        most_pairs(u64::from(bytes), |entries| {
            let inside = Inside::of(entries * each.entries, entries * each.bytes);
            S::capacity_for(self, &Content { entries, inside, longest }, m)
        })
    }

    fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        for e in self.mem.range(Position::Start) {
            digest.bytes(&e.key.padded()[..e.key.len()]);
            digest.number(e.version);
            digest.number(e.addr.word());
        }
        self.own.digest(&mut digest);
        digest.number(self.version);
        digest.number(self.log.live_bytes());
        self.own.frozen().for_each(|table| digest.number(table.len() as u64));
        digest.value()
    }

    fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.check_all(m)
    }

    fn reset<M: SegmentStore>(&self, m: &M) -> Result<Self, Unsupported> {
        Ok(Self::new(self.config, m))
    }

    fn retune(&mut self, asked: &Settings, m: &dyn SegmentStore) -> Result<(), Unsupported> {
        self.config = S::retuned(self.config, asked, m);
        self.settings = self.config.into();
        self.ample = Ample::default();
        S::adapt(self);
        Ok(())
    }
}

impl<S: Structure> Hints for Store<S> {
    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError> {
        self.bind_keys(name, keys)
    }
}

impl<S: Structure> Inspect for Store<S> {
    fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    /// Memtables count as the index, what the structure keeps and the DMA log table as its directory.
    fn memory(&self) -> Memory {
        let held = u64::from(self.log.segments_held()) * size_of::<Segment>() as u64;
        let fills_gaps = self.settings.packing.is_some_and(Packing::fills_gaps);
        let table = if fills_gaps { self.landing.memory_bytes() } else { 0 };
        let directory_bytes = self.own.memory_bytes(self.page_bytes()) + table + self.recent.bytes();
        Memory { index_bytes: self.memtable_bytes(), directory_bytes, segment_bytes: held }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = S::counters(self);
        counters.push(("group_records", self.groups.records));
        counters.push(("group_members", self.groups.members));
        counters.push(("prefetch_hits", self.prefetch.hits()));
        counters
    }

    fn counter(&self, name: &str) -> Option<u64> {
        let all = || self.counters().into_iter().find_map(|(known, n)| (known == name).then_some(n));
        S::counter(self, name).or_else(all)
    }

    fn settings(&self) -> Settings {
        S::told(&self.config, self.log.geometry().page_bytes)
    }

    fn place_of<M: SegmentStore>(&mut self, key: &[u8], m: &mut M) -> Option<(u64, u32)> {
        let Step::Done(Ok(Some(entry))) = self.find_pair(&Key::new(key)?, &*m, &mut Free) else {
            return None;
        };
        (!entry.is_inside()).then(|| (entry.addr.position(), entry.addr.bytes()))
    }
}
