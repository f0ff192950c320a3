// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine: operations that wait for RocksDB, and the blocks that RocksDB waits for.

use super::call::{Answer, Call, Facts, Found};
use super::front::Front;
use super::relay::{Relay, Wanted};
use super::{RocksDbs, VALUE_BYTES_MAX};
use saker_engine::kv::KEY_BYTES_MAX;
use saker_engine::{
    Background, Capabilities, Condition, Context, Engine, EngineConfig, Factory, Groups, Hints, Inspect, Job,
    KvError, List, Memory, Put, Scans, Sink, Source, StoreStats, Version,
};
use saker_files::DiskError;
use saker_flash::page_map::{PageMap, PageMapConfig, gc};
use saker_log::LogStats;
use saker_segment_store::{Completion, Io, SegmentStore, Stall, Step, Tag};
use saker_sim::{Free, Meter};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Blocks that are written in one step: the page buffer need not have room for more.
const PART_BLOCKS: usize = 8;
/// How often an operation looks for its answer before the driver has its turn.
const LOOKS: u32 = 200;
/// Keys that are asked for at first.
const LIST_KEYS: usize = 64;

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub(super) blocks: PageMapConfig,
    value_bytes_max: u32,
    read_only: bool,
}

impl Config {
    /// What every engine is told, as this one's.
    pub fn of(config: &EngineConfig, m: &dyn SegmentStore) -> Self {
        Self {
            blocks: super::blocks(config, m),
            value_bytes_max: config.value_bytes_max.min(VALUE_BYTES_MAX),
            read_only: config.read_only,
        }
    }
}

/// What RocksDB wants and has not been given yet.
#[derive(Debug)]
enum Work {
    /// So many of its blocks are written.
    Write {
        first: u64,
        data: Vec<u8>,
        done: usize,
    },
    Trim {
        first: u64,
        blocks: u64,
    },
    /// What was sent up to the tag is to be on the medium, and then a sync behind it.
    Flush {
        tag: Tag,
        sync: Option<Tag>,
        failed: bool,
    },
}

/// Which operation waits, so that another one does not get its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    op: u8,
    key: Vec<u8>,
}

/// The engine.
pub struct RocksDb {
    config: Config,
    blocks: PageMap,
    relay: Arc<Relay>,
    facts: Arc<Facts>,
    /// RocksDB runs from the first operation on.
    front: Option<Front>,
    asked: Option<Asked>,
    work: Option<Work>,
    list_keys: usize,
}

impl std::fmt::Debug for RocksDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksDb").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A copy has the same blocks, and opens RocksDB on them itself.
impl Clone for RocksDb {
    fn clone(&self) -> Self {
        Self::over(self.config, self.blocks.clone())
    }
}

fn failed(error: impl std::fmt::Display) -> DiskError {
    DiskError::new(error.to_string())
}

impl RocksDb {
    /// An empty one.
    pub fn new(config: Config, m: &dyn SegmentStore) -> Self {
        Self::over(config, PageMap::new(config.blocks, m))
    }

    /// One with those blocks.
    pub(super) fn over(config: Config, blocks: PageMap) -> Self {
        let PageMapConfig { block_bytes, blocks: count, .. } = *blocks.config();
        Self {
            config,
            blocks,
            relay: Relay::new(block_bytes, count),
            facts: Arc::default(),
            front: None,
            asked: None,
            work: None,
            list_keys: LIST_KEYS,
        }
    }

    /// Asks RocksDB, or waits for what was asked. `call` is made once for each operation.
    fn ask<M: SegmentStore>(
        &mut self,
        asked: Asked,
        call: impl FnOnce() -> Result<Call, KvError>,
        medium: &mut M,
    ) -> Step<Answer> {
        if self.asked.is_none() {
            let call = match call() {
                Ok(call) => call,
                Err(error) => return Step::Done(Err(error)),
            };
            let (relay, facts) = (&self.relay, &self.facts);
            let start = || {
                Front::start(
                    Arc::clone(relay),
                    Arc::clone(facts),
                    self.config.read_only,
                    super::open_database,
                )
            };
            self.front.get_or_insert_with(start).ask(call);
            self.asked = Some(asked.clone());
        }
        for _ in 0..LOOKS {
            let is_busy = self.serve(medium);
            if let Some(answer) = self.front.as_ref().and_then(Front::answer) {
                // The answer to an operation that the driver has given up is nobody's.
                if self.asked.take() == Some(asked.clone()) {
                    return Step::Done(answer);
                }
                break;
            }
            if self.work.is_some() {
                break;
            }
            if !is_busy {
                std::hint::spin_loop();
            }
        }
        Step::Blocked(Stall::Worker)
    }

    /// Gives RocksDB what it wants, as far as that needs nothing to finish first. True if something was done.
    fn serve<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        let mut any = false;
        loop {
            if self.work.is_some() {
                let (has_done, is_over) = self.go_on(m);
                any |= has_done;
                if !is_over {
                    return any;
                }
            }
            let Some(wanted) = self.relay.take() else { return any };
            any = true;
            self.begin(wanted, m);
        }
    }

    fn begin<M: SegmentStore>(&mut self, wanted: Wanted, m: &mut M) {
        let read_only = self.config.read_only;
        match wanted {
            Wanted::Read(first, mut bytes) => {
                let read = self.read(first, &mut bytes, m);
                self.relay.give(read.map(|()| bytes));
            }
            Wanted::Flush if read_only => self.relay.give(Ok(Vec::new())),
            Wanted::Write(..) | Wanted::Trim(..) if read_only => {
                self.relay.give(Err(DiskError::new("the device was opened for reading")));
            }
            Wanted::Write(first, data) => self.work = Some(Work::Write { first, data, done: 0 }),
            Wanted::Trim(first, blocks) => self.work = Some(Work::Trim { first, blocks }),
            Wanted::Flush => {
                self.work = Some(Work::Flush { tag: self.blocks.flush(m), sync: None, failed: false });
            }
        }
    }

    fn read<M: SegmentStore>(&mut self, first: u64, out: &mut [u8], m: &M) -> Result<(), DiskError> {
        let block_bytes = self.config.blocks.block_bytes as usize;
        let blocks = (out.len() / block_bytes) as u32;
        let mut to = out.chunks_exact_mut(block_bytes);
        let deliver = |_, bytes: Option<&[u8]>| {
            match (to.next(), bytes) {
                (Some(to), Some(bytes)) => to.copy_from_slice(bytes),
                (Some(to), None) => to.fill(0),
                (None, _) => {}
            }
            Ok(())
        };
        match self.blocks.read(first, blocks, deliver, m, &mut Free) {
            Step::Done(read) => read.map_err(failed),
            Step::Need(_) | Step::Blocked(_) => Err(DiskError::new("a page is not in memory")),
        }
    }

    /// Goes on with what was begun: whether something was done, and whether it is over.
    fn go_on<M: SegmentStore>(&mut self, m: &mut M) -> (bool, bool) {
        let block_bytes = self.config.blocks.block_bytes as usize;
        let mut any = false;
        let ended = match &mut self.work {
            None | Some(Work::Flush { .. }) => return (false, false),
            Some(Work::Trim { first, blocks }) => {
                match self.blocks.deallocate(&[(*first, *blocks)], m, &mut Free) {
                    Step::Done(done) => done,
                    Step::Need(_) | Step::Blocked(_) => return (false, false),
                }
            }
            Some(Work::Write { first, data, done }) => loop {
                let left = &data[*done * block_bytes..];
                let part = (left.len() / block_bytes).min(PART_BLOCKS);
                if part == 0 {
                    break Ok(());
                }
                let fill = |n: u32, out: &mut [u8]| {
                    out.copy_from_slice(&left[n as usize * block_bytes..][..block_bytes]);
                    Ok(())
                };
                match self.blocks.write(*first + *done as u64, part as u32, fill, m, &mut Free) {
                    Step::Done(Ok(())) => (*done, any) = (*done + part, true),
                    Step::Done(Err(error)) => break Err(error),
                    Step::Need(_) | Step::Blocked(_) => return (any, false),
                }
            },
        };
        self.work = None;
        self.relay.give(ended.map(|()| Vec::new()).map_err(failed));
        (true, true)
    }

    /// A flush goes on where it is known what has finished.
    fn flush_on<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) -> bool {
        let Some(Work::Flush { tag, sync, failed }) = &mut self.work else { return false };
        let given = match *sync {
            None if self.blocks.is_flushed(*tag, finished) => {
                *sync = Some(m.sync());
                return true;
            }
            Some(_) if *failed => Err(DiskError::new("a sync of the device has failed")),
            Some(sync) if sync <= finished => Ok(Vec::new()),
            _ => return false,
        };
        self.work = None;
        self.relay.give(given);
        true
    }

    fn checked(key: &[u8]) -> Result<Vec<u8>, KvError> {
        if (1..=KEY_BYTES_MAX).contains(&key.len()) { Ok(key.to_vec()) } else { Err(KvError::KeySize) }
    }
}

fn asked(op: u8, key: &[u8]) -> Asked {
    Asked { op, key: key.to_vec() }
}

impl Engine for RocksDb {
    fn capabilities(&self) -> Capabilities {
        RocksDbs::CAPABILITIES
    }

    fn store<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        let most = self.config.value_bytes_max;
        let call = || {
            let key = Self::checked(key)?;
            if value.bytes() > most {
                return Err(KvError::ValueSize);
            }
            let mut bytes = vec![0; value.bytes() as usize];
            value.read(0, &mut bytes).map_err(|_| KvError::Transfer)?;
            Ok(Call::Put(key, bytes, condition))
        };
        self.ask(asked(0, key), call, cx.medium).map(|answer| answer.map(|_| Put::Done(Version::NONE)))
    }

    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        let call = || Self::checked(key).map(Call::Get);
        self.ask(asked(1, key), call, cx.medium).map(|answer| {
            let Found::Value(value) = answer? else { return Err(KvError::NotFound) };
            let given = value.len().min(sink.room() as usize);
            sink.write(0, &value[..given]).map_err(|_| KvError::Transfer)?;
            Ok(value.len() as u32)
        })
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        let call = || Self::checked(key).map(Call::Delete);
        self.ask(asked(2, key), call, cx.medium).map(|answer| answer.map(|_| Version::NONE))
    }

    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let call = || Self::checked(key).map(Call::Exists);
        self.ask(asked(3, key), call, cx.medium).map(|answer| answer.map(|_| ()))
    }

    /// What was answered is in blocks already.
    fn flush<M: SegmentStore>(&mut self, m: &mut M) -> Tag {
        self.blocks.flush(m)
    }

    fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.blocks.is_flushed(tag, finished)
    }

    fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        if let Some(Work::Flush { sync: Some(sync), failed, .. }) = &mut self.work
            && done.io == Io::Sync
            && done.tag == *sync
        {
            *failed |= done.result.is_err();
        }
        self.blocks.completed(done, m);
    }

    fn job<M: SegmentStore>(&self, m: &M) -> Option<Job> {
        let is_due = self.work.is_some() || self.relay.is_wanted() || self.blocks.has_debt(m);
        is_due.then_some(Job::UPKEEP)
    }

    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        _: Job,
        finished: Tag,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        let has_served = self.flush_on(finished, cx.medium) | self.serve(cx.medium);
        self.blocks.background(finished, cx.medium, cx.meter).map(|progress| match progress {
            _ if has_served => Background::Worked,
            gc::Progress::Idle => Background::Idle,
            gc::Progress::Worked => Background::Worked,
            gc::Progress::Waiting => Background::Waiting,
        })
    }

    fn stats(&self) -> StoreStats {
        let blocks = self.blocks.stats();
        StoreStats {
            pairs: self.facts.pairs.load(Ordering::Relaxed),
            pair_bytes: self.live_bytes(),
            user_bytes_written: self.facts.user_bytes.load(Ordering::Relaxed),
            gc_records_copied: blocks.gc_blocks_copied,
            gc_bytes_copied: blocks.gc_blocks_copied * u64::from(self.config.blocks.block_bytes),
            gc_segments: blocks.gc_segments,
            checkpoints: blocks.checkpoints,
            ..StoreStats::default()
        }
    }

    /// As RocksDB estimates them; not above what there is room for.
    fn live_bytes(&self) -> u64 {
        let room = self.config.blocks.blocks * u64::from(self.config.blocks.block_bytes) / 4 * 3;
        self.facts.live_bytes.load(Ordering::Relaxed).min(room)
    }

    fn value_bytes_max(&self) -> u32 {
        self.config.value_bytes_max
    }

    /// Three quarters of the blocks: the rest is for merges.
    fn capacity_bytes<M: SegmentStore>(&self, _: &M) -> u64 {
        self.config.blocks.blocks * u64::from(self.config.blocks.block_bytes) / 4 * 3
    }

    /// As many as half of the blocks hold: the logs, and what is not merged yet, take the rest at worst.
    fn pairs_that_fit<M: SegmentStore>(&self, key_bytes: u32, value_bytes: u32, m: &M) -> u64 {
        if value_bytes > self.config.value_bytes_max || !(1..=KEY_BYTES_MAX as u32).contains(&key_bytes) {
            return 0;
        }
        /// Sequence number, lengths, and a share of index and filter.
        const OF_A_PAIR: u64 = 16;
        let pair = u64::from(key_bytes) + u64::from(value_bytes) + OF_A_PAIR;
        self.capacity_bytes(m) / 3 * 2 / pair
    }

    fn digest(&self) -> u64 {
        self.blocks.digest()
    }

    fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.blocks.check(m)
    }
}

impl List for RocksDb {
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        if from.len() > KEY_BYTES_MAX {
            return Step::Done(Err(KvError::KeySize));
        }
        let most = self.list_keys;
        let call = || Ok(Call::List(from.to_vec(), most));
        match self.ask(asked(4, from), call, cx.medium) {
            Step::Done(Ok(Found::Keys(keys, are_all))) => {
                if keys.iter().all(|key| visit(key)) && !are_all {
                    // More are wanted. What was shown does not count.
                    self.list_keys *= 4;
                    return Step::Blocked(Stall::Worker);
                }
                self.list_keys = LIST_KEYS;
                Step::Done(Ok(()))
            }
            other => other.map(|answer| answer.map(|_| ())),
        }
    }
}

impl Scans for RocksDb {}
impl Groups for RocksDb {}
impl Hints for RocksDb {}

impl Inspect for RocksDb {
    fn log_stats(&self) -> LogStats {
        self.blocks.log_stats()
    }

    fn memory(&self) -> Memory {
        Memory { index_bytes: self.blocks.memory_bytes(), ..Memory::default() }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let blocks = self.blocks.stats().blocks_written * u64::from(self.config.blocks.block_bytes);
        vec![("file_bytes", self.facts.file_bytes.load(Ordering::Relaxed)), ("file_bytes_written", blocks)]
    }
}
