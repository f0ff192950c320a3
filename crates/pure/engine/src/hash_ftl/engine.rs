//! The hash FTL as drivers see it.

use super::recover::Recovery;
use super::{HashFtl, HashFtlConfig};
use saker_engine_api::{Background, Condition, Engine, KvError, Memory, Recover, Sink, Source, StoreStats};
use saker_log::LogStats;
use saker_log::recover::Damage;
use saker_medium::{Completion, Medium, Step, Tag};
use saker_sim::{Free, Meter};

impl Engine for HashFtl {
    type Recovery = Recovery;

    fn emptied<M: Medium>(&self, m: &M) -> Self {
        Self::new(HashFtlConfig { ..*self.config() }, m)
    }

    fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
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
        self.retrieve(key, sink, m, w)
    }

    fn delete<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        self.delete(key, m, w)
    }

    fn exist<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        self.exist(key, m, w)
    }

    fn list<M: Medium, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        self.list(from, visit, m, w)
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
        let Step::Done(Ok(found)) = self.find(key, m, &mut Free) else { return None };
        let pair = found.pair?;
        Some((pair.grain * u64::from(self.config().grain_bytes), pair.head.bytes()))
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
        self.live_bytes()
    }

    fn capacity_bytes<M: Medium>(&self, m: &M) -> u64 {
        self.capacity_bytes(m)
    }

    fn pairs_that_fit<M: Medium>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        self.pairs_that_fit(key_bytes, value_bytes, m)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.ftl_stats().named();
        all.extend(self.ftl_memory().named());
        all
    }

    fn digest(&self) -> u64 {
        self.digest()
    }
}

impl Recover for Recovery {
    type Engine = HashFtl;

    fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        self.step(m)
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        self.completed(done, m);
    }

    fn finish(self) -> HashFtl {
        self.finish()
    }
}
