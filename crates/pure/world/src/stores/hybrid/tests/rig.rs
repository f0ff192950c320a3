// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hybrid on a small device in virtual time, driven by hand.

use crate::joined::{Below as _, Clocked};
use crate::stores::hybrid::{Dual, connect_hybrid, iter_kvssd, reopen_hybrid};
use saker_assembly::Build;
use saker_device::{Costs, Device, EngineKind, timings};
use saker_engine::Settings;
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, PowerCut};
use saker_host::Driver as _;
use saker_host::host_kv::{Op, Outcome, Ticket, Work};
use saker_hybrid::{Detector, Hybrid, Options, Rollback};
use saker_profile::Profile;
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory, PowerHistory};
use saker_sim::{Chance, Duration, earliest};
use std::collections::BTreeMap;

pub const DEPTH: u16 = 64;
/// Turns after which what is on its way never ends.
const TURNS_MAX: u32 = 100_000;

/// What a history runs on.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub options: Options,
    pub capacitor: bool,
    /// Superblocks of the device's tree, in thousandths.
    pub device_permille: u32,
    /// Tables of level 0 that stop writes of the main tree.
    pub stop: u64,
    pub min_blob_size: u64,
    /// Bytes of the longest values, about.
    pub longest: u64,
    /// Every other operation of the flash takes so many nanoseconds longer.
    pub spike_ns: u64,
}

/// Such that every other write finds the main tree stopped, and that copies go back soon.
pub fn terms(detector: Detector, rollback: Rollback) -> Terms {
    let idle = Duration::from_nanos(400_000);
    let options = Options {
        detector,
        rollback,
        idle,
        poll: Duration::from_nanos(150_000),
        redirect_level0: 1,
        rollback_level0: 1,
        buffer_bytes: 8 << 10,
        ..Options::default()
    };
    Terms {
        options,
        capacitor: true,
        device_permille: 400,
        stop: 1,
        min_blob_size: 14,
        longest: 6000,
        spike_ns: 0,
    }
}

/// The same, and copies that do not count are deleted in the device whenever there are some.
pub fn sweeping(detector: Detector, rollback: Rollback) -> Terms {
    let usual = terms(detector, rollback);
    Terms { options: Options { sweep_percent: 0, ..usual.options }, ..usual }
}

/// The builds of the store and of its device.
pub fn builds(terms: &Terms) -> (Build, Build, Dual) {
    let geometry = Geometry { page_bytes: 4096, oob_bytes: 96, segment_pages: 32, segments: 160 };
    let profile = Profile::builtin("tiny").expect("built in");
    let shape = Shape { geometry, channels: 2, luns: 4 };
    let mut build = Build::with(&profile, shape, Vec::new(), 1).with_engine(EngineKind::LSM);
    build.host_page_bytes = geometry.page_bytes;
    build.config.capacitor = terms.capacitor;
    build.ask(&Settings::told(&[
        ("write_buffer_size", 4 << 10),
        ("level0_file_num_compaction_trigger", 1),
        ("level0_stop_writes_trigger", terms.stop),
        ("slowdown", 0),
        ("min_blob_size", terms.min_blob_size),
    ]));
    let device_settings = Settings::told(&[("write_buffer_size", 16 << 10)]).over(&iter_kvssd());
    let dual = Dual { device_permille: terms.device_permille, device_settings, options: terms.options };
    let device = dual.device(&build);
    (build, device, dual)
}

/// The store and its device.
pub struct Rig {
    pub below: Clocked,
    pub store: Hybrid,
    ended: BTreeMap<Ticket, Outcome>,
    turns: u64,
}

impl Rig {
    /// New, on a device whose power ends at that program or erase; 0: never.
    pub fn new(terms: &Terms, seed: u64, cut_at: u64) -> Self {
        let (build, mut device, dual) = builds(terms);
        let spike = if terms.spike_ns > 0 { Chance::one_in(2) } else { Chance::NEVER };
        device.faults = FaultPlan { seed, cut_at, spike, spike_ns: terms.spike_ns, ..device.faults };
        let host = device.attach(2, DEPTH);
        let mut below = Clocked(device.timed(host.clone()));
        let store = connect_hybrid(&build, &device, &host, (DEPTH, &dual), &mut below).expect("connects");
        Self { below, store, ended: BTreeMap::new(), turns: 0 }
    }

    /// On what a cut has left. `Err`: power was cut again before it was open, and that is left.
    pub fn reopened(terms: &Terms, flash: Flash, seed: u64) -> Result<Self, Box<Flash>> {
        let (build, config, dual) = builds(terms);
        let host = config.attach(2, DEPTH);
        let costs = Costs::of(&config.profile);
        let mut device = Device::timed(flash, config.device_config(), host.clone(), costs);
        while !device.is_booted() && device.flash().is_powered() {
            let Some(next) = device.next_deadline() else { break };
            device.step(next);
        }
        if !device.flash().is_powered() {
            return Err(Box::new(cut(terms, device.flash(), seed, 0)));
        }
        assert!(device.is_booted() && device.damage().is_empty(), "{:?}", device.damage());
        let mut below = Clocked(device);
        // A device without power answers nothing: who waits for it gives up.
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            reopen_hybrid(&build, &config, &host, (DEPTH, &dual), &mut StopsWithPower(&mut below))
        }));
        match opened {
            Ok(Ok(store)) => Ok(Self { below, store, ended: BTreeMap::new(), turns: 0 }),
            _ if !below.0.flash().is_powered() => Err(Box::new(cut(terms, below.0.flash(), seed, 0))),
            Ok(Err(why)) => panic!("{why}"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// The flash as a cut leaves it now, whose power ends again at that program or erase (0: never).
    pub fn cut(&self, terms: &Terms, seed: u64, cut_at: u64) -> Flash {
        cut(terms, self.below.0.flash(), seed, cut_at)
    }

    pub fn is_powered(&self) -> bool {
        self.below.0.flash().is_powered()
    }

    /// Starts an operation; `Ok`: it has ended.
    pub fn submit(&mut self, op: Op) -> Result<Outcome, Ticket> {
        self.store.set_now(self.below.now());
        self.store.submit(op, Work::Free)
    }

    /// How it ended, once.
    pub fn take(&mut self, ticket: Ticket) -> Option<Outcome> {
        self.ended.remove(&ticket)
    }

    /// The next thing happens.
    pub fn turn(&mut self) {
        self.turns += 1;
        let now = self.below.now();
        self.store.set_now(now);
        // The main tree has a core that does a quantum every other turn.
        let worked = self.turns.is_multiple_of(2) && {
            let main = self.store.main_mut();
            main.has_background() && main.quantum(Work::Free)
        };
        let ended = &mut self.ended;
        let any = self.store.advance(Work::Free, &mut |ticket, outcome| _ = ended.insert(ticket, outcome));
        self.store.ring();
        self.store.check().unwrap_or_else(|why| panic!("{why}"));
        if worked || any {
            self.below.advance(now + Duration::from_nanos(2_000));
            return;
        }
        match earliest(self.store.next_turn(), self.below.next_deadline()) {
            Some(at) => _ = self.below.advance(at.max(now)),
            None => self.below.drive(),
        }
    }

    /// The outcome of an operation, awaited; `None`: power was cut.
    pub fn ask(&mut self, op: Op) -> Option<Outcome> {
        let ticket = match self.submit(op) {
            Ok(outcome) => return self.is_powered().then_some(outcome),
            Err(ticket) => ticket,
        };
        self.wait(ticket)
    }

    /// The same of one that is on its way.
    pub fn wait(&mut self, ticket: Ticket) -> Option<Outcome> {
        for _ in 0..TURNS_MAX {
            if !self.is_powered() {
                return None;
            }
            if let Some(outcome) = self.take(ticket) {
                return Some(outcome);
            }
            self.turn();
        }
        panic!("an operation never ends: {:?}", self.store.counters());
    }

    /// Lets everything happen that happens by itself. False: power was cut.
    pub fn settle(&mut self) -> bool {
        for _ in 0..TURNS_MAX {
            if self.store.is_settled() || !self.is_powered() {
                return self.is_powered();
            }
            self.turn();
        }
        panic!("the store never settles: {:?}", self.store.counters());
    }

    /// Time passes, and something may happen.
    pub fn pass(&mut self, time: Duration) {
        let end = self.below.now() + time;
        while self.is_powered() && self.below.now() < end {
            let before = self.below.now();
            self.turn();
            if self.below.now() == before && self.below.next_deadline().is_none() {
                self.below.advance(end.min(before + Duration::from_nanos(50_000)));
            }
        }
    }

    pub fn counter(&self, name: &str) -> u64 {
        let all = self.store.counters();
        all.iter().find(|(known, _)| *known == name).map_or_else(|| panic!("no {name}"), |(_, n)| *n)
    }
}

fn cut(terms: &Terms, flash: &Flash, seed: u64, cut_at: u64) -> Flash {
    let (_, device, _) = builds(terms);
    let ring_kept = terms.capacitor;
    let (mut media, ring) = flash.cut(PowerCut { seed, ring_kept });
    media.set_history(PowerHistory::Cut { ring_kept });
    let geometry = &device.shape.geometry;
    let memory = PageBufferMemory::from_bytes(ring.memory());
    let ring = PageBuffer::new(memory, device.ring_slots(), geometry.page_bytes, geometry.oob_bytes);
    let plan = FaultPlan { seed, cut_at, ..FaultPlan::default() };
    Flash::power_on(media, ring, Some(timings(&device.profile)), plan)
}

/// Makes progress, and stops whoever waits for a device that has no power.
struct StopsWithPower<'d>(&'d mut Clocked);

/// What a wait ends with when power does.
const NO_POWER: &str = "power was cut";

impl saker_host::Driver for StopsWithPower<'_> {
    fn drive(&mut self) {
        self.0.drive();
        if !self.0.0.flash().is_powered() {
            // Without a message: it is no failure.
            std::panic::resume_unwind(Box::new(NO_POWER));
        }
    }
}
