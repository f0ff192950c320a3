// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash FTL as an [`Engine`].

use super::lookup::For;
use super::record::HEAD_BYTES;
use super::{HashFtl, HashFtlConfig, settings};
use saker_engine_api::{
    Background, Capabilities, Capability, Condition, Context, Engine, Hints, Inspect, Job, KvError, Memory,
    Put, Settings, Sink, Source, StoreStats, Unsupported, Version,
};
use saker_log::{LogFlip, LogStats};
use saker_segment_store::{Completion, Flip, SegmentStore, Step, Stream, Tag};
use saker_sim::{Free, Meter};
use saker_value_log::lengths::most_pairs;

/// What it can do beyond single pairs.
pub(super) const CAPABILITIES: Capabilities = Capabilities::of(&[
    Capability::List,
    Capability::Places,
    Capability::Reset,
    Capability::LiveSettings,
    Capability::Transactions,
    Capability::Bind,
]);

impl Engine for HashFtl {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn store<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        self.counted(|this| this.store_once(key, value, condition, cx))
    }

    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        if self.prefetch.is_empty() {
            return self.counted(|this| this.retrieve_once(key, sink, cx));
        }
        self.retrieve_or_prefetched(key, sink, cx)
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        self.counted(|this| this.delete_once(key, cx))
    }

    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        self.counted(|this| this.exists_once(key, cx))
    }

    fn flush<M: SegmentStore>(&mut self, m: &mut M) -> Tag {
        if !self.config.ring_lasts {
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
        Job::upkeep_if(self.has_debt(m) || self.prefetch.is_wanted())
    }

    fn jobs<M: SegmentStore>(&self, m: &M, visit: &mut dyn FnMut(Job)) {
        self.jobs_side_by_side(m, visit);
    }

    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        job: Job,
        finished: Tag,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        if job.is_upkeep() {
            return self.quantum(finished, cx.medium, cx.meter);
        }
        self.quantum_of(job, finished, cx.medium, cx.meter)
    }

    fn stats(&self) -> StoreStats {
        self.stats
    }

    /// In all segments: pairs, sections, invalid mappings.
    fn value_bytes_max(&self) -> u32 {
        self.config.value_bytes_max
    }

    fn live_bytes(&self) -> u64 {
        self.log.live_bytes()
    }

    fn capacity_bytes<M: SegmentStore>(&self, m: &M) -> u64 {
        self.capacity_for(self.stats.pairs, self.data_bytes, self.lengths.longest(), m)
    }

    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        if value_bytes > self.config.value_bytes_max {
            return 0;
        }
        let grains = self.config.grains(HEAD_BYTES + key_bytes + value_bytes);
        let bytes = self.grain_bytes_of(grains);
        let longest = self.lengths.floor().max(bytes as u32);
        let fit = most_pairs(bytes, |pairs| self.capacity_for(pairs, pairs * bytes, longest, m));
        fit.min(self.config.slots)
    }

    fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        let pairs = self.data_bytes - self.tombstone_bytes;
        for n in [self.version, pairs, self.stats.pairs, self.stats.pair_bytes] {
            digest.number(n);
        }
        digest.value()
    }

    fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.check_all(m)
    }

    fn reset<M: SegmentStore>(&self, m: &M) -> Result<Self, Unsupported> {
        Ok(Self::new(HashFtlConfig { ..*self.config() }, m))
    }

    fn retune(&mut self, asked: &Settings, m: &dyn SegmentStore) -> Result<(), Unsupported> {
        let usual = HashFtlConfig::usual_cache_bytes(&m.geometry(), m.quota_segments());
        self.config.cache_bytes = settings::cache_bytes(asked).unwrap_or(usual);
        self.table.cache.set_limit(self.config.cache_bytes);
        self.gives_back = true;
        self.give_back();
        Ok(())
    }
}

impl Hints for HashFtl {
    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError> {
        self.bind_keys(name, keys)
    }
}

impl Inspect for HashFtl {
    fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    fn memory(&self) -> Memory {
        let all = self.ftl_memory();
        let sum: u64 = all.named().iter().map(|(_, bytes)| bytes).sum();
        Memory {
            index_bytes: all.cache_bytes,
            directory_bytes: sum - all.cache_bytes - all.segment_bytes,
            segment_bytes: all.segment_bytes,
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.ftl_stats().named();
        all.extend(self.ftl_memory().named());
        all.push(("prefetch_hits", self.prefetch.hits()));
        all
    }

    fn settings(&self) -> Settings {
        settings::told(self.config())
    }

    fn place_of<M: SegmentStore>(&mut self, key: &[u8], m: &mut M) -> Option<(u64, u32)> {
        let Step::Done(Ok(found)) = self.find(key, For::Reading, m, &mut Free) else { return None };
        let pair = found.pair?;
        Some((pair.grain * u64::from(self.config().grain_bytes), pair.head.bytes()))
    }

    /// Searches look at keys in records, so the key stays, and the checksum does not match instead.
    fn spoils<M: SegmentStore>(&self, wrong: LogFlip, m: &M) -> Option<LogFlip> {
        let (page, at) = self.record_around(wrong.page, wrong.flip.at as u32, m)?;
        Some(LogFlip { page, flip: Flip { at: u64::from(at), mask: 0xff } })
    }
}
