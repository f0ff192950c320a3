// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash store as an [`Engine`].

use super::HashStore;
use super::ops::Admission;
use super::reserve::FOR_DELETES;
use saker_engine_api::{
    Background, Capabilities, Capability, Condition, Context, Engine, Hints, Inspect, Job, KvError, Memory,
    Put, Sink, Source, StoreStats, Unsupported, Version,
};
use saker_log::{LogStats, Segment};
use saker_segment_store::{Completion, SegmentStore, Stall, Step, Stream, Tag, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::land::{land, land_whole};
use saker_value_log::lengths::most_pairs;
use saker_value_log::record::{Kind, record_bytes};

/// What it can do beyond single pairs.
pub(super) const CAPABILITIES: Capabilities = {
    use Capability::{Bind, Groups, List, Places, PrefetchHint, Reserve, Reset, Transactions};
    Capabilities::of(&[List, Groups, PrefetchHint, Bind, Reserve, Places, Reset, Transactions])
};

impl Engine for HashStore {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    #[inline]
    fn store<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        let (m, w) = cx.parts();
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        let value_bytes = value.bytes();
        if value_bytes > self.config.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        let bytes = record_bytes(key.len() as u32, value_bytes);
        match self.admit(place, bytes, condition, m, w) {
            Ok(Admission::Now) => {}
            Ok(Admission::AfterCheckpoint) => {
                self.checkpoint.want();
                return Step::Blocked(Stall::NoSegment);
            }
            Err(refused) => return Step::Done(Err(refused)),
        }
        let header = self.header(Kind::Pair, key.len(), value_bytes);
        let log_addr = if let Some((log_addr, record)) = self.log.short(m, Stream::User, bytes) {
            if land_whole(record, header, key, value).is_err() {
                return Step::Done(Err(KvError::Transfer));
            }
            self.log.commit_short(m, Stream::User, bytes);
            log_addr
        } else {
            match ready!(self.append_pair(header, key, value, m)) {
                Ok(log_addr) => log_addr,
                Err(e) => return Step::Done(Err(e)),
            }
        };
        let addr = RecordAddr::new(log_addr.0, bytes, key.len() as u8);
        self.version += 1;
        self.stats.user_bytes_written += (key.len() + value_bytes as usize) as u64;
        self.enter_soon(place, addr, w);
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes - value_bytes + value.bytes_by_core()));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        w.work(Unit::Probe, 2);
        Step::Done(Ok(Put::Done(Version(header.version))))
    }

    #[inline]
    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        self.deliver_value(key, sink, cx.medium, cx.meter)
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        let (m, w) = cx.parts();
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.enter_pending();
        w.work(Unit::Probe, 2);
        if self.index.get(place).is_none() {
            return Step::Done(Err(KvError::NotFound));
        }
        let bytes = record_bytes(key.len() as u32, 0);
        if let Err(stall) = self.log.room(m, Stream::User, bytes, FOR_DELETES) {
            return Step::Blocked(stall);
        }
        if !self.credit.pay(bytes) {
            self.credit.end();
        }
        let writer = self.log.begin(m, Stream::User, bytes);
        let log_addr = writer.log_addr();
        let header = self.header(Kind::Tombstone, key.len(), 0);
        land(&self.log, (&writer, 0), header, key, &mut &[][..], m)
            .expect("nothing is fetched for a tombstone");
        self.log.commit(m, writer);
        self.version += 1;
        self.log.add_until_checkpoint(self.segment_of(log_addr.0), u64::from(bytes));
        let old = self.index.remove(place).expect("looked up above");
        self.prefetch.drop_value(&place);
        self.forget(old);
        self.stats.user_bytes_written += key.len() as u64;
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        Step::Done(Ok(Version(header.version)))
    }

    #[inline]
    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.enter_pending();
        cx.meter.work(Unit::Probe, 2);
        Step::Done(self.index.get(place).map(|_| ()).ok_or(KvError::NotFound))
    }

    fn flush<M: SegmentStore>(&mut self, m: &mut M) -> Tag {
        if !self.config.ring_lasts {
            self.log.seal_stream(Stream::User, m);
            self.log.seal_stream(Stream::Gc, m);
        }
        m.last_tag()
    }

    /// Failed programs are made good by background work first.
    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.log.is_safe(tag, finished)
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        self.note_completed(done, m);
    }

    #[inline]
    fn job<M: SegmentStore>(&self, m: &M) -> Option<Job> {
        Job::upkeep_if(self.has_debt(m))
    }

    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        _: Job,
        finished: Tag,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        self.quantum(finished, cx.medium, cx.meter)
    }

    fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.index.len(), ..self.stats }
    }

    fn value_bytes_max(&self) -> u32 {
        self.config.value_bytes_max
    }

    fn live_bytes(&self) -> u64 {
        self.log.live_bytes()
    }

    /// Given the number of pairs and the longest of them: what the segments hold, less the spare ones, what is lost in each, two
    /// checkpoints, and a share that keeps collections cheap.
    fn capacity_bytes<M: SegmentStore>(&self, m: &M) -> u64 {
        self.capacity_for(self.pairs_at_most(), self.lengths.longest(), m)
    }

    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        if value_bytes > self.config.value_bytes_max {
            return 0;
        }
        let bytes = record_bytes(key_bytes, value_bytes);
        let longest = bytes.max(self.lengths.floor());
        most_pairs(u64::from(bytes), |pairs| self.capacity_for(pairs, longest, m))
    }

    fn digest(&self) -> u64 {
        if !self.pending.is_empty() {
            let mut settled = self.clone();
            settled.enter_pending();
            return Engine::digest(&settled);
        }
        let mut digest = saker_sim::Digest::default();
        self.index.visit(None, |place, addr| {
            let (key, len) = self.index.key(place);
            let mut entry = [0; 24];
            entry[..16].copy_from_slice(&key);
            entry[len..len + 8].copy_from_slice(&addr.word().to_le_bytes());
            digest.bytes(&entry[..len + 8]);
            true
        });
        digest.number(self.version);
        digest.number(self.log.live_bytes());
        digest.value()
    }

    fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.check_all(m)
    }

    fn reset<M: SegmentStore>(&self, m: &M) -> Result<Self, Unsupported> {
        Ok(Self::new(self.config, m))
    }
}

impl Hints for HashStore {
    #[inline]
    fn prefetch_hint<W: Meter>(&self, key: &[u8], w: &mut W) {
        if let Some(place) = self.index.place(key) {
            self.index.touch(place, w);
        }
    }

    fn reserve(&mut self, pairs: u64) {
        self.index.reserve(pairs as usize);
    }

    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError> {
        self.bind_keys(name, keys)
    }
}

impl Inspect for HashStore {
    fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    fn memory(&self) -> Memory {
        let held = u64::from(self.log.segments_held()) * size_of::<Segment>() as u64;
        Memory { segment_bytes: held, ..self.index.memory() }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("prefetch_hits", self.prefetch.hits())]
    }

    fn place_of<M: SegmentStore>(&mut self, key: &[u8], _: &mut M) -> Option<(u64, u32)> {
        self.enter_pending();
        let addr = self.index.get(self.index.place(key)?)?;
        Some((addr.position(), addr.bytes()))
    }

    fn settle(&mut self) {
        self.enter_pending();
    }
}
