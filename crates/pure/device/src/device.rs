// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device as a whole: what both drivers share.

mod admin;
mod carried;
mod counters;
mod drain;
mod facts;
mod flights;
mod foreign;
mod format;
mod iterators;
mod lasting;
mod salvage;
mod settings;
mod splits;

use crate::config::{DeviceConfig, NamespaceKind};
use crate::controller::{Controller, NamespaceFacts};
use crate::namespace::{Namespace, Store};
use crate::queues::Queues;
use crate::stats::{DeviceStats, Stats};
use carried::Carried;
pub use carried::Carrier;
use drain::Drain;
use facts::{facts, identity, namespace_snapshot};
use flights::Flights;
use format::Format;
pub use lasting::RATED_ERASES;
use saker_engine::{Hints, Inspect};
use saker_flash::{Cells, Flash, Lasting};
use saker_link::{BarBuffer, DmaSpace, Doorbells, Registers, Sqe};
use saker_log::recover::Damage;
use saker_nvme::{PointerRule, Status, csi};
use saker_sim::Class;
use std::collections::VecDeque;
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
pub struct Device<T> {
    pub(crate) host: Attachment,
    pub(crate) controller: Controller,
    pub(crate) queues: Queues,
    pub(crate) flash: Flash,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) stats: DeviceStats,
    pub(crate) tempo: T,
    pub(crate) config: DeviceConfig,
    changes_seen: u32,
    pub(crate) flights: Flights,
    /// Namespaces to erase, one after the other.
    pub(crate) formats: VecDeque<Format>,
    /// Who waits for the cache to be written.
    pub(crate) drains: Vec<Drain>,
    async_events: Vec<u16>,
    booted: bool,
    /// The host switched the volatile write cache off: every write is flushed.
    pub(crate) write_through: bool,
    /// A setting has changed: background work may have become due.
    pub(crate) retuned: bool,
    /// What it had done in its life when it was opened.
    base: Lasting,
    /// What is counted for who brings the host, if anybody wants it.
    carried: Option<Box<Carried>>,
}

impl<T> Device<T> {
    /// Puts a device together. It recovers its namespaces as it is advanced, and becomes ready after that.
    pub fn with_tempo(mut flash: Flash, config: DeviceConfig, host: Attachment, tempo: T) -> Self {
        let boot = |ns: &crate::NamespaceConfig, flash: &mut Flash| {
            let namespace = Namespace::boot(ns.clone(), &config, flash);
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
        let formats = Format::left_behind(&flash, &mut namespaces);
        let base = flash.media().lasting();
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
            flights: Flights::default(),
            formats,
            drains: Vec::new(),
            async_events: Vec::new(),
            booted: false,
            write_through: false,
            retuned: false,
            base,
            carried: None,
        }
    }

    /// The flash.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The flash, for tests that look at what its media keep.
    #[doc(hidden)]
    pub fn flash_mut(&mut self) -> &mut Flash {
        &mut self.flash
    }

    /// The flash, for closing an image.
    pub fn into_flash(mut self) -> Flash {
        self.keep_counters();
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
            Store::KvRecovery(_) | Store::BlockRecovery(_) if !self.flash.is_powered() => {
                Some((ns.config.nsid, "power was cut while it recovered".to_owned()))
            }
            Store::Erasing(_, Some(e)) => {
                Some((ns.config.nsid, format!("its erasure was interrupted and cannot be ended: {e}")))
            }
            _ => None,
        };
        self.namespaces.iter().filter_map(damaged).collect()
    }

    /// Whether all namespaces are recovered (or known to be damaged).
    pub fn is_booted(&self) -> bool {
        self.booted
    }

    pub(crate) fn note_boot(&mut self) {
        self.booted |= self.formats.is_empty() && !self.namespaces.iter().any(Namespace::is_recovering);
    }

    /// Digest of everything that commands can observe.
    pub fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        self.namespaces.iter().for_each(|ns| digest.number(ns.digest()));
        digest.value()
    }

    /// Says what contradicts itself in the stores of its namespaces, if anything does ([`saker_engine::Engine::check`]). For
    /// tests, between two events.
    ///
    /// # Errors
    /// What is wrong, and in which namespace.
    pub fn check(&mut self) -> Result<(), String> {
        let flash = &mut self.flash;
        self.namespaces.iter().try_for_each(|ns| {
            let checked = ns.check(&flash.view(ns.owner(), Class::Background));
            checked.map_err(|e| format!("namespace {}: {e}", ns.config.nsid))
        })
    }

    /// Everything countable.
    pub fn stats(&mut self) -> Stats {
        self.enter_pending();
        let flash = &mut self.flash;
        let namespaces = self.namespaces.iter().map(|ns| namespace_snapshot(ns, flash)).collect();
        Stats {
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
        if any {
            self.keep_counters();
        }
        any
    }

    /// Hands one finished media I/O to its owner.
    #[inline]
    pub(crate) fn deliver(&mut self, owner: u16, done: &saker_segment_store::Completion) {
        if let Some(n) = self.index_of(u32::from(owner)) {
            self.namespaces[n].completed(done, &mut self.flash.view(owner, Class::Background));
            self.note_erased(n, done);
        }
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
    /// namespace's index of so many pairs, which is laid out for them if it is empty. It changes time and memory only.
    pub fn bring_in(&mut self, pairs: u64) {
        self.flash.media_mut().bring_in();
        for ns in &mut self.namespaces {
            if let Store::Kv(s) = &mut ns.store {
                s.reserve(pairs);
            }
        }
    }

    /// Counts an I/O command of queue `qid` that failed, and notes it in the error log.
    #[inline]
    pub(crate) fn note_failure(&mut self, qid: u16, sqe: &Sqe, status: Status) {
        self.stats.errors += 1;
        if !Controller::is_answer(status) {
            self.log_failure(qid, sqe, status);
        }
    }

    #[cold]
    fn log_failure(&mut self, qid: u16, sqe: &Sqe, status: Status) {
        if status.is(Status::UNRECOVERED_ERROR) || status.is(Status::UNRECOVERED_READ_ERROR) {
            self.stats.work.media_errors += 1;
        }
        let of = self.index_of(sqe.nsid.get()).map(|n| &self.namespaces[n].config.kind);
        let csi = if matches!(of, Some(NamespaceKind::Kv { .. })) { csi::KV } else { csi::NVM };
        self.controller.note_failure(qid, sqe, csi, status);
        self.end_refused(sqe);
    }

    /// What Identify tells of the namespaces.
    pub fn facts(&mut self) -> Vec<NamespaceFacts> {
        self.enter_pending();
        let identity = self.config.identity;
        let flash = &mut self.flash;
        self.namespaces.iter().map(|ns| facts(ns, identity, flash)).collect()
    }
}

/// Opcode of Flush, which every command set shares.
pub(crate) const FLUSH: u8 = saker_nvme::kv::opcode::FLUSH;
