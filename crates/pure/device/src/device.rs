//! The device as a whole: what both drivers share.

use crate::config::{DeviceConfig, NamespaceKind, TRANSFER_BYTES_MAX};
use crate::controller::{
    Action, Controller, Identity, NamespaceFacts, NamespaceKind as FactsKind, RegisterAction,
};
use crate::drain::{Drain, Waiter};
use crate::namespace::{Namespace, Store};
use crate::queues::Queues;
use crate::stats::{DeviceStats, NamespaceSnapshot, Snapshot};
use crate::transfer::Pieces;
use crate::vendor;
use saker_engine::Engine;
use saker_flash::{Flash, Media};
use saker_link::{BarBuffer, DeviceCq, DeviceSq, DmaSpace, Doorbells, Registers, Sqe};
use saker_log::recover::Damage;
use saker_nvme::vendor::Methods;
use saker_nvme::{PointerRule, Status};
use saker_sim::{Class, Seed};
use std::sync::Arc;

/// What host and device share: the registers, the doorbells and the host's memory.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The BAR's registers.
    pub registers: Arc<Registers>,
    /// The BAR's doorbells.
    pub doorbells: Arc<Doorbells>,
    /// The host's memory as the device sees it.
    pub space: Arc<DmaSpace>,
    /// The device's memory that the host stores to.
    pub bar: Arc<BarBuffer>,
}

impl Attachment {
    /// A new function with `queue_pairs` I/O queue pairs.
    pub fn new(space: Arc<DmaSpace>, queue_pairs: u16) -> Self {
        Self {
            registers: Arc::new(Registers::new()),
            doorbells: Doorbells::new(queue_pairs + 1),
            space,
            bar: BarBuffer::new(queue_pairs),
        }
    }
}

/// An NVMe device. `T` says whether it keeps time.
#[derive(Debug)]
pub struct Device<M, T> {
    pub(crate) host: Attachment,
    pub(crate) controller: Controller,
    pub(crate) queues: Queues,
    pub(crate) flash: Flash<M>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) stats: DeviceStats,
    pub(crate) tempo: T,
    pub(crate) config: DeviceConfig,
    changes_seen: u32,
    /// Namespaces to format once nothing of theirs is outstanding, and the admin command that waits for it.
    pub(crate) formats: Vec<(usize, u16)>,
    /// Who waits for the cache to be written.
    pub(crate) drains: Vec<Drain>,
    async_events: Vec<u16>,
    booted: bool,
    /// The host switched the volatile write cache off: every write is flushed.
    pub(crate) write_through: bool,
}

impl<M: Media, T> Device<M, T> {
    /// Puts a device together. It recovers its namespaces as it is advanced, and becomes ready after that.
    pub fn with_tempo(mut flash: Flash<M>, config: DeviceConfig, host: Attachment, tempo: T) -> Self {
        let boot = |ns: &crate::NamespaceConfig, flash: &mut Flash<M>| {
            let (checkpoint_bytes, group_keys) = (config.checkpoint_bytes, config.group_keys);
            let namespace =
                Namespace::boot(*ns, config.capacitor, checkpoint_bytes, group_keys, config.hash_ftl, flash);
            let long_keys = config.methods.indirect_keys().then_some(config.long_key_digest);
            Namespace { long_keys, ..namespace }
        };
        let mut namespaces: Vec<_> = config.namespaces.iter().map(|ns| boot(ns, &mut flash)).collect();
        if let Some(at) = flash.unclaimed().first() {
            // Any of them may have lost it, and must not answer as if it had not.
            let what = "its header is damaged, and no other page of the segment tells whose it is";
            let damage = Damage::page(&flash.shape().geometry, *at, what);
            namespaces.iter_mut().for_each(|ns| ns.store = Store::Damaged(damage.clone()));
        }
        let controller = Controller::new(identity(&config)).expect("our own identity fits its fields");
        controller.publish(&host.registers);
        Self {
            host,
            controller,
            queues: Queues::default(),
            flash,
            namespaces,
            stats: DeviceStats::default(),
            tempo,
            config,
            changes_seen: 0,
            formats: Vec::new(),
            drains: Vec::new(),
            async_events: Vec::new(),
            booted: false,
            write_through: false,
        }
    }

    /// The flash.
    pub fn flash(&self) -> &Flash<M> {
        &self.flash
    }

    /// The flash, for closing an image.
    pub fn into_flash(self) -> Flash<M> {
        self.flash
    }

    /// The configuration, with features that persist (20h) as they are now.
    pub fn config(&self) -> DeviceConfig {
        let mut config = self.config.clone();
        for (ns, now) in config.namespaces.iter_mut().zip(&self.namespaces) {
            if let NamespaceKind::Kv { error_on_delete, .. } = &mut ns.kind {
                *error_on_delete = now.error_on_delete;
            }
        }
        config
    }

    /// What host and device share.
    pub fn attachment(&self) -> &Attachment {
        &self.host
    }

    /// Damage that keeps namespaces from being opened, by namespace.
    pub fn damage(&self) -> Vec<(u32, String)> {
        let damaged = |ns: &Namespace| match &ns.store {
            Store::Damaged(d) => Some((ns.config.nsid, d.to_string())),
            _ => None,
        };
        self.namespaces.iter().filter_map(damaged).collect()
    }

    /// Whether all namespaces are recovered (or known to be damaged).
    pub fn is_booted(&self) -> bool {
        self.booted
    }

    pub(crate) fn note_boot(&mut self) {
        self.booted = !self.namespaces.iter().any(Namespace::is_recovering);
    }

    /// Digest of everything that commands can observe.
    pub fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        self.namespaces.iter().for_each(|ns| digest.number(ns.digest()));
        digest.value()
    }

    /// Everything countable.
    pub fn snapshot(&mut self) -> Snapshot {
        self.enter_pending();
        let flash = &mut self.flash;
        let namespaces = self.namespaces.iter().map(|ns| namespace_snapshot(ns, flash)).collect();
        Snapshot {
            device: self.stats,
            flash: flash.stats(),
            flash_bytes_in_use: flash.media().bytes_in_use(),
            retired_segments: flash.pool().retired(),
            namespaces,
        }
    }

    /// Which data pointers I/O commands may have.
    #[inline]
    pub(crate) fn pointer_rule(&self) -> PointerRule {
        if self.config.sgl { PointerRule::Any } else { PointerRule::Prp }
    }

    #[inline]
    pub(crate) fn namespace_index(&self, nsid: u32) -> Option<usize> {
        self.index_of(nsid).filter(|n| self.namespaces[*n].usable)
    }

    /// The namespace of that number, whatever command sets are enabled.
    #[inline]
    fn index_of(&self, nsid: u32) -> Option<usize> {
        // Numbers are usually 1, 2, 3 ...
        let guess = nsid.wrapping_sub(1) as usize;
        if self.namespaces.get(guess).is_some_and(|ns| ns.config.nsid == nsid) {
            return Some(guess);
        }
        self.namespaces.iter().position(|ns| ns.config.nsid == nsid)
    }

    /// Hands finished media I/O to its owners.
    #[inline]
    pub(crate) fn settle(&mut self) -> bool {
        let mut any = false;
        while let Some((owner, done)) = self.flash.take_completion() {
            any = true;
            self.deliver(owner, &done);
        }
        any
    }

    /// Hands one finished media I/O to its owner.
    #[inline]
    pub(crate) fn deliver(&mut self, owner: u16, done: &saker_medium::Completion) {
        if let Some(n) = self.index_of(u32::from(owner)) {
            self.namespaces[n].completed(done, &mut self.flash.view(owner, Class::Background));
        }
    }

    /// Looks at the registers if they changed. Before the namespaces are recovered nothing is enabled.
    #[inline]
    pub(crate) fn watch_registers(&mut self) {
        let changes = self.host.registers.changes();
        if changes == self.changes_seen || !self.booted {
            return;
        }
        self.changes_seen = changes;
        loop {
            match self.controller.on_register_change(&self.host.registers) {
                RegisterAction::None => return,
                RegisterAction::Enable { asq, acq, asq_entries, acq_entries } => {
                    self.enable(asq, asq_entries, acq, acq_entries);
                }
                RegisterAction::Disable | RegisterAction::SubsystemReset => self.disable(),
                RegisterAction::Shutdown(_) => {
                    self.begin_drain(Waiter::Shutdown);
                    self.end_drains();
                }
            }
        }
    }

    /// Commands and queues are gone, what waited for them too, and features are as after power-on.
    fn disable(&mut self) {
        self.queues.clear();
        self.async_events.clear();
        self.formats.clear();
        self.drains.clear();
        self.write_through = false;
        self.controller.disabled(&self.host.registers);
    }

    fn enable(&mut self, asq: u64, asq_entries: u32, acq: u64, acq_entries: u32) {
        self.queues.clear();
        let Attachment { space, doorbells, registers, .. } = &self.host;
        let cq = DeviceCq::new(space, doorbells, 0, acq, acq_entries);
        let sq = DeviceSq::new(space, doorbells, 0, asq, asq_entries);
        match (sq, cq) {
            (Ok(sq), Ok(cq)) => {
                self.queues.add_cq(0, cq);
                self.queues.add_sq(0, sq, 0, None);
                self.controller.ready(registers);
                self.note_usable();
            }
            _ => self.controller.fail(registers),
        }
    }

    /// Which namespaces the enabled command sets let the host use.
    fn note_usable(&mut self) {
        for (n, facts) in self.facts().iter().enumerate() {
            self.namespaces[n].usable = self.controller.is_usable(facts);
        }
    }

    /// Serves the admin queue. True if there was a command.
    pub(crate) fn serve_admin(&mut self) -> bool {
        let mut sqe = Sqe::new(0, 0);
        if !self.queues.fetch(0, &mut sqe) {
            return false;
        }
        let facts = self.facts();
        let outcome = self.controller.admin(&sqe, &facts);
        let cid = sqe.cid.get();
        let mut status = outcome.status;
        if status.is_success()
            && let Some(data) = &outcome.data
        {
            status = self.send_admin_data(&sqe, data);
        }
        let Some(action) = outcome.action.filter(|_| status.is_success()) else {
            self.queues.complete(0, cid, status, u64::from(outcome.dw0));
            return true;
        };
        match self.perform(&action, cid) {
            Some(Ok(())) => self.queues.complete(0, cid, status, u64::from(outcome.dw0)),
            Some(Err(failed)) => {
                self.controller.undo(&action);
                self.queues.complete(0, cid, failed, 0);
            }
            None => {}
        }
        true
    }

    fn send_admin_data(&self, sqe: &Sqe, data: &[u8]) -> Status {
        let pieces = Pieces::of(sqe, data.len() as u32, &self.host.space);
        match pieces.map(|p| p.write(&self.host.space, 0, data)) {
            Ok(Ok(())) => Status::SUCCESS,
            Ok(Err(_)) => Status::DATA_TRANSFER_ERROR,
            Err(status) => status,
        }
    }

    /// Does what an admin command asks of the device. `None`: it completes later.
    fn perform(&mut self, action: &Action, cid: u16) -> Option<Result<(), Status>> {
        let Attachment { space, doorbells, .. } = &self.host;
        match *action {
            Action::CreateCq { qid, entries, iova } => {
                let ring = DeviceCq::new(space, doorbells, qid, iova, entries);
                Some(ring.map(|r| self.queues.add_cq(qid, r)).map_err(|_| Status::PRP_OFFSET_INVALID))
            }
            Action::CreateSq { qid, cqid, entries, iova } => {
                let ring = DeviceSq::new(space, doorbells, qid, iova, entries);
                self.host.bar.clear(qid);
                let is_block = |ns: &&Namespace| matches!(ns.config.kind, NamespaceKind::Block { .. });
                let blocks = self.namespaces.iter().filter(is_block).map(|ns| ns.config.nsid);
                let inline: Option<Box<[u32]>> = self.config.methods.inline().then(|| blocks.collect());
                let added = ring.map(|r| self.queues.add_sq(qid, r, cqid, inline));
                Some(added.map_err(|_| Status::PRP_OFFSET_INVALID))
            }
            Action::DeleteSq { qid, .. } => {
                self.queues.remove_sq(qid);
                Some(Ok(()))
            }
            Action::DeleteCq { qid } => {
                self.queues.remove_cq(qid);
                Some(Ok(()))
            }
            Action::Abort { sqid, cid: victim } => {
                self.controller.abort_done();
                // Only an inline store that waits for its value is held where it can be taken back.
                if !self.queues.abort_inline(sqid, victim) {
                    return Some(Ok(()));
                }
                self.queues.complete(sqid, victim, Status::ABORT_REQUESTED, 0);
                self.note_aborted();
                self.queues.complete(0, cid, Status::SUCCESS, 0);
                None
            }
            Action::SetWriteCache(enabled) => {
                self.write_through = !enabled;
                if enabled {
                    return Some(Ok(()));
                }
                self.begin_drain(Waiter::CacheOff(cid));
                self.end_drains();
                None
            }
            Action::HoldAsyncEvent => {
                self.async_events.push(cid);
                None
            }
            Action::SetEdnek { nsid, value } => {
                self.namespaces
                    .iter_mut()
                    .filter(|ns| ns.config.nsid == nsid)
                    .for_each(|ns| ns.error_on_delete = value);
                Some(Ok(()))
            }
            Action::Format { ref nsids, .. } => {
                let chosen: Vec<_> = nsids.iter().filter_map(|nsid| self.index_of(*nsid)).collect();
                self.formats.extend(chosen.into_iter().map(|n| (n, cid)));
                None
            }
        }
    }

    fn note_aborted(&mut self) {
        self.stats.commands += 1;
        self.stats.errors += 1;
        self.stats.traffic.sqe_fetches += 1;
        self.stats.traffic.cqes += 1;
    }

    /// Carries formats out once no media operation is outstanding. True if one was.
    pub(crate) fn format_when_quiet(&mut self) -> bool {
        if self.formats.is_empty() || !self.flash.is_quiet() {
            return false;
        }
        self.settle();
        let (n, cid) = self.formats.remove(0);
        let owner = self.namespaces[n].owner();
        let erased = self.flash.format(owner);
        self.namespaces[n].format(&self.flash.view(owner, Class::Foreground));
        if !self.formats.iter().any(|(_, other)| *other == cid) {
            let status = if erased.is_ok() { Status::SUCCESS } else { Status::INTERNAL_ERROR };
            self.queues.complete(0, cid, status, 0);
        }
        true
    }

    /// Index entries on their way are entered, so that counters are right.
    fn enter_pending(&mut self) {
        for ns in &mut self.namespaces {
            if let Store::Kv(s) = &mut ns.store {
                s.settle();
            }
        }
    }

    /// Memory that would be touched for the first time later is brought in now: that of cells kept in memory, and of each
    /// namespace's index of so many pairs. It changes time and resident memory only.
    pub fn bring_in(&mut self, pairs: u64) {
        self.flash.media_mut().bring_in();
        for ns in &mut self.namespaces {
            if let Store::Kv(s) = &mut ns.store {
                s.reserve(pairs);
            }
        }
    }

    /// What Identify tells of the namespaces.
    pub fn facts(&mut self) -> Vec<NamespaceFacts> {
        self.enter_pending();
        let seed = self.config.seed;
        let flash = &mut self.flash;
        self.namespaces.iter().map(|ns| facts(ns, seed, flash)).collect()
    }
}

fn identity(config: &DeviceConfig) -> Identity {
    let seed = Seed(config.seed).child("identity");
    let serial = format!("SAKER{:015X}", seed.child("serial").0 >> 4);
    let mut uuid = [0; 16];
    seed.child("uuid").rng().fill(&mut uuid);
    Identity {
        subnqn: format!("nqn.2026-11.dev.saker:{serial}"),
        serial,
        model: "Saker key-value SSD".into(),
        firmware: env!("CARGO_PKG_VERSION").into(),
        uuid,
        controller_id: 1,
        max_queue_pairs: config.queue_pairs_max,
        max_queue_entries: config.queue_entries_max,
        max_transfer_bytes: TRANSFER_BYTES_MAX,
        volatile_write_cache: !config.capacitor,
        sgl: config.sgl,
        vendor: (config.methods != Methods::default()).then(|| vendor::capabilities(config.methods)),
    }
}

fn facts<M: Media>(ns: &Namespace, seed: u64, flash: &mut Flash<M>) -> NamespaceFacts {
    let id = Seed(seed).child("namespace").index(u64::from(ns.config.nsid));
    let (mut nguid, mut eui64) = ([0; 16], [0; 8]);
    id.child("nguid").rng().fill(&mut nguid);
    id.child("eui64").rng().fill(&mut eui64);
    let view = flash.view(ns.owner(), Class::Foreground);
    let kind = match (&ns.config.kind, &ns.store) {
        (NamespaceKind::Kv { value_bytes_max, .. }, store) => {
            let (size_bytes, used_bytes) = match store {
                Store::Kv(s) => (s.capacity_bytes(&view), s.stats().pair_bytes),
                _ => (0, 0),
            };
            FactsKind::Kv {
                key_bytes_max: 16,
                value_bytes_max: *value_bytes_max,
                size_bytes,
                used_bytes: used_bytes.min(size_bytes),
                ednek: ns.error_on_delete,
            }
        }
        (NamespaceKind::Block { block_bytes, blocks }, store) => {
            let used_blocks = if let Store::Block(s) = store { s.blocks_in_use() } else { 0 };
            FactsKind::Block { block_bytes: *block_bytes, blocks: *blocks, used_blocks }
        }
    };
    NamespaceFacts { nsid: ns.config.nsid, kind, nguid, eui64 }
}

fn namespace_snapshot<M: Media>(ns: &Namespace, flash: &mut Flash<M>) -> NamespaceSnapshot {
    let view = flash.view(ns.owner(), Class::Foreground);
    let mut snapshot = NamespaceSnapshot { nsid: ns.config.nsid, ..NamespaceSnapshot::default() };
    snapshot.kind = if matches!(ns.config.kind, NamespaceKind::Kv { .. }) { "kv" } else { "block" };
    match &ns.store {
        Store::Kv(s) => {
            (snapshot.store, snapshot.log, snapshot.memory) = (s.stats(), s.log_stats(), s.memory());
            (snapshot.live_bytes, snapshot.capacity_bytes) = (s.live_bytes(), s.capacity_bytes(&view));
        }
        Store::Block(s) => {
            let stats = s.stats();
            snapshot.log = s.log_stats();
            (snapshot.store.checkpoints, snapshot.store.gc_segments) = (stats.checkpoints, stats.gc_segments);
            snapshot.memory.index_bytes = s.memory_bytes();
            (snapshot.blocks_written, snapshot.gc_blocks_copied) =
                (stats.blocks_written, stats.gc_blocks_copied);
            snapshot.block_bytes = s.config().block_bytes;
            let bytes = u64::from(snapshot.block_bytes);
            (snapshot.live_bytes, snapshot.capacity_bytes) =
                (s.blocks_in_use() * bytes, s.config().blocks * bytes);
        }
        Store::Damaged(d) => snapshot.damage = Some(d.to_string()),
        Store::KvRecovery(_) | Store::BlockRecovery(_) => {}
    }
    snapshot
}

/// Opcode of Flush, which every command set shares.
pub(crate) const FLUSH: u8 = saker_nvme::kv::opcode::FLUSH;
