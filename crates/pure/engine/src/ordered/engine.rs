//! The store behind the contract of engines.

use super::structure::Structure;
use super::{Key, Recovery, Store};
use saker_engine_api::{
    Answers, Background, Condition, Engine, GroupError, GroupSource, KvError, Memory, Pairs, Recover, Scan,
    Scanned, Sink, Snapshot, Source, StoreStats,
};
use saker_log::LogStats;
use saker_log::recover::Damage;
use saker_medium::{Completion, Medium, Step, Tag};
use saker_sim::{Free, Meter};

impl<S: Structure> Engine for Store<S> {
    type Recovery = Recovery<S>;

    fn emptied<M: Medium>(&self, m: &M) -> Self {
        Self::new(self.config, m)
    }

    fn store<M: Medium, W: Meter, V: Source>(
        &mut self,
        key: &[u8],
        value: &mut V,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        self.store(key, value, condition, m, w)
    }

    fn retrieve<M: Medium, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        Self::retrieve(self, key, sink, m, w)
    }

    fn delete<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        self.delete(key, m, w)
    }

    fn exist<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        Self::exist(self, key, m, w)
    }

    fn list<M: Medium, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        Self::list(self, from, visit, m, w)
    }

    fn has_snapshots(&self) -> bool {
        true
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        Some(self.snapshot())
    }

    fn share(&mut self, snapshot: Snapshot) {
        self.own.share(snapshot);
    }

    fn release(&mut self, snapshot: Snapshot) {
        self.release(snapshot);
    }

    fn scan<M: Medium, W: Meter, P: Pairs>(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut P,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Scanned, KvError>> {
        Self::scan(self, scan, pairs, m, w)
    }

    fn group_bytes_max(&self) -> u32 {
        self.group_bytes_max()
    }

    fn group<M: Medium, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), GroupError<G::Malformed>>> {
        self.group(source, answers, m, w)
    }

    fn flush<M: Medium>(&mut self, m: &mut M) -> Tag {
        self.flush(m)
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.is_flushed(tag, finished)
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        self.completed(done, m);
    }

    fn has_debt<M: Medium>(&self, m: &M) -> bool {
        self.has_debt(m)
    }

    fn background<M: Medium, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Step<Background> {
        self.background(finished, m, w)
    }

    fn place_of<M: Medium>(&mut self, key: &[u8], m: &mut M) -> Option<(u64, u32)> {
        let Step::Done(Ok(Some(entry))) = self.find_pair(&Key::new(key)?, &*m, &mut Free) else {
            return None;
        };
        Some((entry.loc.position(), entry.loc.bytes()))
    }

    fn stats(&self) -> StoreStats {
        self.stats()
    }

    fn log_stats(&self) -> LogStats {
        self.log_stats()
    }

    fn memory(&self) -> Memory {
        self.memory()
    }

    fn live_bytes(&self) -> u64 {
        self.value_log_bytes()
    }

    fn capacity_bytes<M: Medium>(&self, m: &M) -> u64 {
        self.capacity_bytes(m)
    }

    fn pairs_that_fit<M: Medium>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        self.pairs_that_fit(key_bytes, value_bytes, m)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = S::counters(self);
        counters.push(("group_records", self.groups.records));
        counters.push(("group_members", self.groups.members));
        counters
    }

    fn digest(&self) -> u64 {
        self.digest()
    }
}

impl<S: Structure> Recover for Recovery<S> {
    type Engine = Store<S>;

    fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        self.step(m)
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        self.completed(done, m);
    }

    fn finish(self) -> Store<S> {
        self.finish()
    }
}
