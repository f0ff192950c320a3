//! The hash store as an [`Engine`].

use super::{HashStore, recover::Recovery};
use saker_engine_api::{
    Answers, Background, Condition, Engine, GroupError, GroupSource, KvError, Memory, Recover, Sink, Source,
    StoreStats,
};
use saker_log::LogStats;
use saker_log::recover::Damage;
use saker_medium::{Completion, Medium, Step, Tag};
use saker_sim::Meter;

impl Engine for HashStore {
    type Recovery = Recovery;

    fn emptied<M: Medium>(&self, m: &M) -> Self {
        Self::new(*self.config(), m)
    }

    #[inline]
    fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        Self::store(self, key, value, condition, m, w)
    }

    #[inline]
    fn retrieve<M: Medium, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        Self::retrieve(self, key, sink, m, w)
    }

    #[inline]
    fn delete<M: Medium, W: Meter>(&mut self, key: &[u8], m: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        Self::delete(self, key, m, w)
    }

    #[inline]
    fn exist<M: Medium, W: Meter>(&mut self, key: &[u8], _: &mut M, w: &mut W) -> Step<Result<(), KvError>> {
        Step::Done(Self::exist(self, key, w))
    }

    fn list<M: Medium, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        _: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        Step::Done(Self::list(self, from, visit, w))
    }

    fn group_bytes_max(&self) -> u32 {
        Self::group_bytes_max(self)
    }

    #[inline]
    fn group<M: Medium, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), GroupError<G::Malformed>>> {
        Self::group(self, source, answers, m, w)
    }

    fn bind<'k>(
        &mut self,
        name: &[u8],
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
    ) -> Result<(), KvError> {
        Self::bind(self, name, keys)
    }

    fn flush<M: Medium>(&mut self, m: &mut M) -> Tag {
        Self::flush(self, m)
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        Self::is_flushed(self, tag, finished)
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        Self::completed(self, done, m);
    }

    #[inline]
    fn has_debt<M: Medium>(&self, m: &M) -> bool {
        Self::has_debt(self, m)
    }

    fn background<M: Medium, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Step<Background> {
        Self::background(self, finished, m, w)
    }

    #[inline]
    fn foresee<W: Meter>(&self, key: &[u8], w: &mut W) {
        if let Some(place) = self.index.place(key) {
            self.index.touch(place, w);
        }
    }

    fn reserve(&mut self, pairs: u64) {
        self.index.reserve(pairs as usize);
    }

    fn place_of<M: Medium>(&mut self, key: &[u8], _: &mut M) -> Option<(u64, u32)> {
        self.enter_pending();
        let loc = self.index.get(self.index.place(key)?)?;
        Some((loc.position(), loc.bytes()))
    }

    fn settle(&mut self) {
        self.enter_pending();
    }

    fn stats(&self) -> StoreStats {
        Self::stats(self)
    }

    fn log_stats(&self) -> LogStats {
        Self::log_stats(self)
    }

    fn memory(&self) -> Memory {
        Self::memory(self)
    }

    fn live_bytes(&self) -> u64 {
        Self::live_bytes(self)
    }

    fn capacity_bytes<M: Medium>(&self, m: &M) -> u64 {
        Self::capacity_bytes(self, m)
    }

    fn pairs_that_fit<M: Medium>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        self.pairs_that_fit(key_bytes, value_bytes, m)
    }

    fn digest(&self) -> u64 {
        Self::digest(self)
    }
}

impl Recover for Recovery {
    type Engine = HashStore;

    fn step<M: Medium>(&mut self, m: &mut M) -> Step<Result<bool, Damage>> {
        Self::step(self, m)
    }

    fn completed<M: Medium>(&mut self, done: &Completion, m: &mut M) {
        Self::completed(self, done, m);
    }

    fn finish(self) -> HashStore {
        Self::finish(self)
    }
}
