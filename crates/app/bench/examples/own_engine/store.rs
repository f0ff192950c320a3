// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The store: an index in memory, and operations.

use crate::collect::Collection;
use crate::reserve::{FOR_DELETES, FOR_PAIRS};
use saker_engine::{
    Background, Capabilities, Capability, Condition, Context, Engine, Groups, Hints, Inspect, Job, KvError,
    List, Put, Scans, Sink, Source, StoreStats, Version,
};
use saker_log::{Bytes, Log, LogAddr, LogStats, Reserve};
use saker_segment_store::{Completion, Geometry, Io, SegmentId, SegmentStore, Step, Stream, Tag, ready};
use saker_sim::{Digest, Meter, Unit};
use saker_value_log::land::land;
use saker_value_log::lengths::Lengths;
use saker_value_log::record::{HEADER_BYTES, Header, Kind, record_bytes};
use saker_value_log::{RecordAddr, Records};
use std::collections::BTreeMap;

/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 16;

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub owner: u16,
    pub ring_lasts: bool,
    pub value_bytes_max: u32,
    /// Part of the flash that pairs leave to collections. The more, the less they copy.
    pub spare_percent: u64,
}

/// The newest record of a key.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub addr: RecordAddr,
    pub version: u64,
    /// It says that there is no such pair any more.
    pub is_tombstone: bool,
    /// Older records of the key that are on flash.
    pub stale: u32,
}

/// Pairs in a log, and a map of all keys in memory.
#[derive(Clone, Debug)]
pub struct PlainLog {
    pub config: Config,
    pub log: Log,
    pub index: BTreeMap<Vec<u8>, Entry>,
    /// Keys of records in a segment that are not their keys' newest, a key for each. They go when it is erased.
    pub stale: BTreeMap<SegmentId, Vec<Vec<u8>>>,
    /// The version that the next write gets.
    pub version: u64,
    pub lengths: Lengths,
    pub stats: StoreStats,
    pub tombstone_bytes: u64,
    pub collection: Option<Collection>,
    /// A store waits for tombstones to go.
    pub purges: bool,
    pub scratch: Vec<u8>,
}

impl PlainLog {
    pub fn new(config: Config, m: &dyn SegmentStore) -> Self {
        Self {
            config,
            log: Log::new(config.owner, m.geometry(), config.ring_lasts),
            index: BTreeMap::new(),
            stale: BTreeMap::new(),
            version: 1,
            lengths: Lengths::new(record_bytes(16, 256)),
            stats: StoreStats::default(),
            tombstone_bytes: 0,
            collection: None,
            purges: false,
            scratch: Vec::new(),
        }
    }

    pub fn records(&self) -> Records<'_> {
        Records { log: &self.log }
    }

    pub fn segment_of(&self, addr: RecordAddr) -> SegmentId {
        segment_of(&self.log.geometry(), addr)
    }

    /// The pair of a key, if there is one.
    fn pair(&self, key: &[u8]) -> Result<&Entry, KvError> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(KvError::KeySize);
        }
        self.index.get(key).filter(|entry| !entry.is_tombstone).ok_or(KvError::NotFound)
    }

    /// A record has become its key's newest. The one before it, if any, is stale from now on.
    pub fn enter(&mut self, key: &[u8], new: Entry) {
        let bytes = new.addr.record_bytes();
        let segment = self.segment_of(new.addr);
        self.log.add_live(segment, u64::from(bytes));
        self.log.note_length(segment, bytes);
        self.lengths.add(bytes);
        self.tombstone_bytes += if new.is_tombstone { u64::from(bytes) } else { 0 };
        self.stats.pairs += u64::from(!new.is_tombstone);
        let old = self.index.insert(key.to_vec(), new);
        let Some(old) = old else { return };
        self.leave(old);
        let here = self.segment_of(old.addr);
        self.became_stale(key, here);
        if let Some(entry) = self.index.get_mut(key) {
            entry.stale += old.stale;
        }
    }

    /// A record of the key in that segment is not the newest.
    pub fn became_stale(&mut self, key: &[u8], segment: SegmentId) {
        self.stale.entry(segment).or_default().push(key.to_vec());
        if let Some(entry) = self.index.get_mut(key) {
            entry.stale += 1;
        }
    }

    /// A record is not needed any more.
    fn leave(&mut self, old: Entry) {
        let bytes = old.addr.record_bytes();
        self.log.sub_live(self.segment_of(old.addr), u64::from(bytes));
        self.lengths.sub(bytes);
        self.tombstone_bytes -= if old.is_tombstone { u64::from(bytes) } else { 0 };
        self.stats.pairs -= u64::from(!old.is_tombstone);
    }

    /// A segment is erased: a tombstone without an older record on flash says nothing that is not so without it.
    fn erased(&mut self, segment: SegmentId) {
        for key in self.stale.remove(&segment).unwrap_or_default() {
            let Some(entry) = self.index.get_mut(&key) else { continue };
            entry.stale -= 1;
            if entry.is_tombstone && entry.stale == 0 {
                let entry = *entry;
                self.index.remove(&key);
                self.leave(entry);
            }
        }
    }

    /// Appends a record to the stream of new writes.
    fn append<M: SegmentStore, S: Source>(
        &mut self,
        (kind, key): (Kind, &[u8]),
        value: &mut S,
        reserve: Reserve,
        m: &mut M,
    ) -> Step<Result<Version, KvError>> {
        let (owner, version) = (self.config.owner, self.version);
        let (key_bytes, value_bytes) = (key.len() as u8, value.bytes());
        let header = Header {
            crc: 0,
            value_bytes,
            version,
            kind,
            key_bytes,
            owner,
            lead_bytes: 0,
            pad_bytes: 0,
            stays: false,
        };
        let bytes = header.record_bytes();
        if let Err(stall) = self.log.room(m, Stream::User, bytes, reserve) {
            return Step::Blocked(stall);
        }
        let writer = self.log.begin(m, Stream::User, bytes);
        let log_addr = writer.log_addr();
        if land(&self.log, (&writer, 0), header, key, value, m).is_err() {
            self.log.abandon(m, writer);
            return Step::Done(Err(KvError::Transfer));
        }
        self.log.commit(m, writer);
        self.version += 1;
        self.stats.user_bytes_written += key.len() as u64 + u64::from(value_bytes);
        let addr = RecordAddr::new(log_addr.0, bytes, key_bytes);
        self.enter(key, Entry { addr, version, is_tombstone: kind == Kind::Tombstone, stale: 0 });
        Step::Done(Ok(Version(version)))
    }
}

/// The segment of a place.
pub fn segment_of(geometry: &Geometry, addr: RecordAddr) -> SegmentId {
    SegmentId((addr.position() / geometry.segment_bytes()) as u32)
}

/// What it can do beyond single pairs.
pub const CAPABILITIES: Capabilities = Capabilities::of(&[Capability::List]);

/// What every engine does.
impl Engine for PlainLog {
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
        let bytes = record_bytes(key.len() as u32, value.bytes());
        cx.meter.work(Unit::Probe, 2);
        match (self.pair(key).err(), condition) {
            (Some(KvError::NotFound), Condition::MustExist) => return Step::Done(Err(KvError::NotFound)),
            (None, Condition::MustNotExist) => return Step::Done(Err(KvError::Exists)),
            (None | Some(KvError::NotFound), _) => {}
            (Some(refused), _) => return Step::Done(Err(refused)),
        }
        if value.bytes() > self.config.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        if let Err(refused) = ready!(self.admit(key, bytes, cx.medium)) {
            return Step::Done(Err(refused));
        }
        let stored = ready!(self.append((Kind::Pair, key), value, FOR_PAIRS, cx.medium));
        cx.meter.work(Unit::Encode, 1);
        cx.meter.work(Unit::CopyByte, u64::from(bytes - value.bytes() + value.bytes_by_core()));
        cx.meter.work(Unit::ChecksumByte, u64::from(bytes));
        Step::Done(stored.map(Put::Done))
    }

    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        cx.meter.work(Unit::Probe, 2);
        let addr = match self.pair(key) {
            Ok(entry) => entry.addr,
            Err(refused) => return Step::Done(Err(refused)),
        };
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        if let Err(unread) = ready!(range.resident(&self.log, cx.medium)) {
            return Step::Done(Err(unread.into()));
        }
        cx.meter.work(Unit::Decode, 1);
        cx.meter.work(Unit::ChecksumByte, u64::from(addr.bytes()));
        let copied = if sink.is_copied_by_core() { addr.bytes().min(sink.room()) } else { 0 };
        cx.meter.work(Unit::CopyByte, u64::from(copied));
        let records = self.records();
        let checked = records.check(key, addr, self.config.owner, cx.medium);
        Step::Done(checked.and_then(|(start, bytes)| {
            records.deliver(addr, start, bytes.min(sink.room()), sink, cx.medium).map(|()| bytes)
        }))
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        cx.meter.work(Unit::Probe, 2);
        if let Err(refused) = self.pair(key) {
            return Step::Done(Err(refused));
        }
        cx.meter.work(Unit::Encode, 1);
        self.append((Kind::Tombstone, key), &mut &[][..], FOR_DELETES, cx.medium)
    }

    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        cx.meter.work(Unit::Probe, 2);
        Step::Done(self.pair(key).map(|_| ()))
    }

    /// Where the ring is lost with power, pages are programmed though they are not full.
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
        self.log.completed(done, m);
        if let Io::Erase(segment) = done.io {
            self.erased(segment);
        }
    }

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
        let heads = self.index.len() as u64 * u64::from(HEADER_BYTES);
        StoreStats { pair_bytes: self.log.live_bytes().saturating_sub(heads), ..self.stats }
    }

    fn live_bytes(&self) -> u64 {
        self.log.live_bytes()
    }

    fn capacity_bytes<M: SegmentStore>(&self, m: &M) -> u64 {
        self.capacity_for(self.lengths.longest(), m)
    }

    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        if value_bytes > self.config.value_bytes_max {
            return 0;
        }
        let bytes = record_bytes(key_bytes, value_bytes);
        self.capacity_for(bytes.max(self.lengths.floor()), m) / u64::from(bytes)
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for (key, entry) in &self.index {
            digest.bytes(key);
            digest.number(entry.addr.word());
            digest.number(entry.version);
        }
        digest.number(self.version);
        digest.value()
    }

    fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.check_all(m)
    }
}

impl List for PlainLog {
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        if from.len() > KEY_BYTES_MAX {
            return Step::Done(Err(KvError::KeySize));
        }
        let rest = self.index.range(from.to_vec()..).filter(|(_, entry)| !entry.is_tombstone);
        for (key, _) in rest {
            if !visit(key) {
                break;
            }
        }
        Step::Done(Ok(()))
    }
}

impl Inspect for PlainLog {
    fn log_stats(&self) -> LogStats {
        self.log.stats()
    }
}

// What it lacks: what is asked for all the same is refused by name.
impl Scans for PlainLog {}
impl Groups for PlainLog {}
impl Hints for PlainLog {}
