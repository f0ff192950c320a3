// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A namespace and the store behind it.

use crate::config::{DeviceConfig, NamespaceConfig, NamespaceKind};
use crate::groups::{Kept, Splits};
use crate::iterators::Iterators;
use saker_engine::write_gate::WriteGate;
use saker_engine::{
    AnyEngine, AnyRecovery, Background, Capability, Context, Engine, EngineConfig, Job, JobKind, Recover,
    Task, Unsupported, WriteCondition,
};
use saker_flash::page_map::gc::Progress;
use saker_flash::page_map::recover::Recovery as BlockRecovery;
use saker_flash::page_map::{PageMap, PageMapConfig};
use saker_flash::{Cells, Flash, NamespaceSegments};
use saker_log::recover::{self, Damage};
use saker_long_keys::NarrowDigest;
use saker_nvme::Status;
use saker_segment_store::{CellError, Completion, SegmentStore, Step, Tag};
use saker_sim::{Class, Meter};

/// What a namespace holds, or on its way there.
#[derive(Clone, Debug)]
pub enum Store {
    /// Recovering a KV namespace.
    KvRecovery(AnyRecovery),
    /// Recovering a block namespace.
    BlockRecovery(Box<BlockRecovery>),
    /// Key-value pairs.
    Kv(AnyEngine),
    /// Logical blocks.
    Block(Box<PageMap>),
    /// It cannot be opened.
    Damaged(Damage),
    /// It is being erased, with what it was before. `Some`: that has failed, and nothing can be read or written before it
    /// succeeds.
    Erasing(Box<Store>, Option<CellError>),
}

impl Store {
    /// Why it executes no command of a command set: it is not there yet, or not any more.
    pub(crate) const fn refusal(&self) -> Status {
        match self {
            Self::Erasing(_, None) => Status::FORMAT_IN_PROGRESS,
            Self::Erasing(_, Some(_)) => Status::INTERNAL_ERROR,
            Self::Damaged(_) => Status::UNRECOVERED_ERROR,
            _ => Status::NAMESPACE_NOT_READY,
        }
    }
}

/// A namespace of a running device.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Its configuration.
    pub config: NamespaceConfig,
    /// Its store.
    pub store: Store,
    /// Feature 20h, bit 0: deleting a missing key is an error.
    pub error_on_delete: bool,
    /// Whether the enabled command sets include this one's.
    pub usable: bool,
    /// Results of groups that wait to be fetched.
    pub kept: Kept,
    /// Iterators over its pairs.
    pub iterators: Iterators,
    /// Transactions of which hosts have sent parts.
    pub splits: Splits,
    /// How often it was erased in this run.
    pub erasures: u32,
    /// The digest of long keys, if the device takes them.
    pub long_keys: Option<NarrowDigest>,
    /// Nothing is written, nor moved.
    pub read_only: bool,
    /// Something was lost that may have been newer than what there is, so nothing is given out.
    pub uncertain: bool,
    /// Writes that its engine delays, by the number of their command; only a device that keeps time has any.
    pub gate: WriteGate<u32>,
}

impl Namespace {
    /// A namespace that must still recover.
    pub fn boot(config: NamespaceConfig, device: &DeviceConfig, flash: &mut Flash) -> Self {
        let owner = config.nsid as u16;
        flash.pool_mut().set_quota(owner, config.quota_segments);
        let mut namespace = Self {
            config,
            store: Store::Damaged(Damage::Checkpoint { owner, what: String::new() }),
            error_on_delete: false,
            usable: true,
            kept: Kept::after(flash.media().power_ons()),
            iterators: Iterators::default(),
            splits: Splits::default(),
            erasures: 0,
            long_keys: None,
            read_only: device.read_only,
            uncertain: false,
            gate: WriteGate::default(),
        };
        if let NamespaceKind::Kv { error_on_delete, .. } = namespace.config.kind {
            namespace.error_on_delete = flash.media().saved(owner).unwrap_or(error_on_delete);
        }
        namespace.store = namespace.recovery(device, flash);
        namespace
    }

    /// Its store, to be recovered from what its flash holds.
    pub(crate) fn recovery(&self, device: &DeviceConfig, flash: &mut Flash) -> Store {
        let (config, owner) = (&self.config, self.owner());
        let view = flash.view(owner, Class::Foreground);
        match config.kind {
            NamespaceKind::Kv { engine, .. } => {
                let common = EngineConfig {
                    checkpoint_bytes: device.checkpoint_bytes,
                    group_keys: device.group_keys,
                    read_only: device.read_only,
                    settings: config.settings.clone(),
                    ..EngineConfig::new(owner, device.capacitor)
                };
                let config = self.engine_config(common, device.holders_of_open_pages(), &view);
                Store::KvRecovery(AnyRecovery::new(engine, &config, &view))
            }
            NamespaceKind::Block { block_bytes, blocks, map_cache_bytes } => {
                let defaults = PageMapConfig::new(
                    owner,
                    &view.geometry(),
                    config.quota_segments,
                    device.capacitor,
                    block_bytes,
                );
                let checkpoint_bytes = device.checkpoint_bytes.unwrap_or(defaults.checkpoint_bytes);
                let config = PageMapConfig { blocks, checkpoint_bytes, map_cache_bytes, ..defaults };
                Store::BlockRecovery(Box::new(BlockRecovery::new(config, &view)))
            }
        }
    }

    fn engine_config<M: SegmentStore>(&self, common: EngineConfig, owners: u16, m: &M) -> EngineConfig {
        let NamespaceKind::Kv { value_bytes_max, seed, .. } = self.config.kind else {
            unreachable!("asked for a KV namespace only")
        };
        EngineConfig { seed: Some(seed), value_bytes_max, ..common }.landing_in(m, owners)
    }

    /// Its owner number in the flash.
    pub fn owner(&self) -> u16 {
        self.config.nsid as u16
    }

    /// Whether pairs can be iterated over. While it recovers nobody knows, and commands are told to come again.
    pub fn takes_iterators(&self) -> bool {
        if let Store::Kv(store) = &self.store {
            store.capabilities().has(Capability::Snapshots)
        } else {
            true
        }
    }

    /// Whether it still recovers.
    pub fn is_recovering(&self) -> bool {
        matches!(self.store, Store::KvRecovery(_) | Store::BlockRecovery(_))
    }

    /// Goes on recovering; it has finished when the namespace is recovered or known to be damaged.
    pub fn recover(&mut self, m: &mut NamespaceSegments<'_>) -> Step<recover::Progress> {
        let step = match &mut self.store {
            Store::KvRecovery(r) => r.step(m),
            Store::BlockRecovery(r) => r.step(m),
            _ => return Step::Done(recover::Progress::Finished),
        };
        step.map(|result| match result {
            Ok(recover::Progress::More) => recover::Progress::More,
            Err(damage) => {
                self.store = Store::Damaged(damage);
                recover::Progress::Finished
            }
            Ok(recover::Progress::Finished) => {
                self.finish_recovery();
                recover::Progress::Finished
            }
        })
    }

    fn finish_recovery(&mut self) {
        self.store = match self.take_store() {
            Store::KvRecovery(r) => Store::Kv(r.finish()),
            Store::BlockRecovery(r) => Store::Block(Box::new(r.finish())),
            other => other,
        };
    }

    /// Nothing of it counts from here on: its flash is being erased.
    pub fn begin_erasure(&mut self) {
        self.kept.clear();
        self.iterators.clear();
        self.splits.clear();
        self.erasures += 1;
        let before = self.take_store();
        self.store = match before {
            Store::Erasing(before, _) => Store::Erasing(before, None),
            before => Store::Erasing(Box::new(before), None),
        };
    }

    /// Its erasure has failed: nobody knows what it holds.
    pub fn fail_erasure(&mut self, error: CellError) {
        self.begin_erasure();
        if let Store::Erasing(_, failed) = &mut self.store {
            *failed = Some(error);
        }
    }

    /// Its flash was erased: it is empty, or finds that out by recovering.
    pub fn end_erasure(&mut self, device: &DeviceConfig, flash: &mut Flash) {
        let view = flash.view(self.owner(), Class::Foreground);
        self.store = match self.take_store() {
            Store::Erasing(before, _) => match *before {
                Store::Kv(s) => match s.reset(&view) {
                    Ok(empty) => Store::Kv(empty),
                    // It finds out that nothing is there.
                    Err(Unsupported(_)) => self.recovery(device, flash),
                },
                Store::Block(s) => Store::Block(Box::new(PageMap::new(*s.config(), &view))),
                _ => self.recovery(device, flash),
            },
            other => other,
        };
    }

    fn take_store(&mut self) -> Store {
        let damage = Damage::Checkpoint { owner: self.owner(), what: String::new() };
        std::mem::replace(&mut self.store, Store::Damaged(damage))
    }

    /// Ends the iterators of a queue that is no more; `None`: of all queues.
    pub fn close_iterators(&mut self, queue: Option<u16>) {
        if let Store::Kv(store) = &mut self.store {
            self.iterators.close_queue(queue, store);
        }
    }

    /// Everything acknowledged leaves the page buffer where that can be lost; the tag to wait for.
    pub fn flush<M: SegmentStore>(&mut self, m: &mut M) -> Option<Tag> {
        match &mut self.store {
            Store::Kv(s) => Some(s.flush(m)),
            Store::Block(s) => Some(s.flush(m)),
            _ => None,
        }
    }

    /// Whether a Flush that returned `tag` has everything on the medium. Failed programs are made good by background
    /// work first.
    pub fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        match &self.store {
            Store::Kv(s) => s.is_flushed(tag, finished),
            Store::Block(s) => s.is_flushed(tag, finished),
            _ => tag <= finished,
        }
    }

    /// Hands over a finished I/O.
    pub fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        match &mut self.store {
            Store::Kv(s) => s.completed(done, m),
            Store::Block(s) => s.completed(done, m),
            // What recovery completes from the page buffer can finish before recovery does.
            Store::KvRecovery(r) => r.completed(done, m),
            Store::BlockRecovery(r) => r.completed(done, m),
            Store::Damaged(_) | Store::Erasing(..) => {}
        }
    }

    /// Whether its engine's background work keeps up with writes.
    pub fn write_condition(&self) -> WriteCondition {
        if let Store::Kv(s) = &self.store { s.write_condition() } else { WriteCondition::Normal }
    }

    /// Whether its engine's background work may wait for later calls ([`Engine::puts_off`]).
    pub fn puts_off<M: SegmentStore>(&mut self, m: &M) -> bool {
        if let Store::Kv(s) = &mut self.store { s.puts_off(m) } else { false }
    }

    /// Work for another thread ([`Engine::next_task`]).
    pub fn next_task(&mut self) -> Option<Box<dyn Task>> {
        if let Store::Kv(s) = &mut self.store { s.next_task() } else { None }
    }

    /// It is done. A store that has taken the place of the one that it was for knows nothing of it.
    pub fn task_done(&mut self, task: Box<dyn Task>) {
        if let Store::Kv(s) = &mut self.store {
            s.task_done(task);
        }
    }

    /// Whether a write that waits in that condition would wait again ([`Engine::keeps_waiting`]).
    pub fn keeps_waiting(&self, stopped: WriteCondition) -> bool {
        matches!(&self.store, Store::Kv(s) if !self.read_only && s.keeps_waiting(stopped))
    }

    /// So many delayed writes have waited for their turn ([`Engine::let_pass`]).
    pub fn let_pass(&mut self, writes: u32) {
        if let Store::Kv(s) = &mut self.store {
            s.let_pass(writes);
        }
    }

    /// Whether background work is due.
    #[inline]
    pub fn has_debt<M: SegmentStore>(&self, m: &M) -> bool {
        match &self.store {
            _ if self.read_only => false,
            Store::Kv(s) => s.job(m).is_some(),
            Store::Block(s) => s.has_debt(m),
            _ => false,
        }
    }

    /// The jobs of background work that may run side by side now ([`Engine::jobs`]).
    pub fn jobs<M: SegmentStore>(&self, m: &M, visit: &mut dyn FnMut(Job)) {
        match &self.store {
            _ if self.read_only => {}
            Store::Kv(s) => s.jobs(m, visit),
            Store::Block(s) if s.has_debt(m) => visit(Job::UPKEEP),
            _ => {}
        }
    }

    /// What a quantum of a job was for that was just done.
    pub fn did(&self, job: Job) -> JobKind {
        match &self.store {
            Store::Kv(store) if job.is_upkeep() => store.did(),
            _ => job.kind,
        }
    }

    /// One quantum of a job of background work. Other stores than those of pairs have one job.
    pub fn background<W: Meter>(
        &mut self,
        job: Job,
        m: &mut NamespaceSegments<'_>,
        w: &mut W,
    ) -> Step<Background> {
        let finished = m.finished();
        if let (Store::Kv(store), false) = (&mut self.store, self.iterators.is_empty()) {
            self.iterators.expire(store, m);
        }
        match &mut self.store {
            _ if self.read_only => Step::Done(Background::Idle),
            Store::Kv(s) => s.background(job, finished, &mut Context::new(m, w)),
            Store::Block(s) => s.background(finished, m, w).map(|progress| match progress {
                Progress::Idle => Background::Idle,
                Progress::Worked => Background::Worked,
                Progress::Waiting => Background::Waiting,
            }),
            _ => Step::Done(Background::Idle),
        }
    }

    /// Says what contradicts itself in its store, if anything does. What recovers or cannot be opened has nothing to say.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        match &self.store {
            Store::Kv(s) => s.check(m),
            Store::Block(s) => s.check(m),
            Store::KvRecovery(_) | Store::BlockRecovery(_) | Store::Damaged(_) | Store::Erasing(..) => Ok(()),
        }
    }

    /// A digest of what its operations can observe.
    pub fn digest(&self) -> u64 {
        match &self.store {
            Store::Kv(s) => s.digest(),
            Store::Block(s) => s.digest(),
            _ => 0,
        }
    }
}
