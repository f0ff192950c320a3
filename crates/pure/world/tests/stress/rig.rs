// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host on a device with one KV namespace (1) and one block namespace (2), one queue pair for each.

use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{
    Attachment, Costs, Device, DeviceConfig, EngineKind, NamespaceConfig, NamespaceKind, Stats,
};
use saker_device::{Timed, timings};
use saker_engine::Settings;
use saker_engine::hash_ftl::settings::grain_choice;
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, Driver, KvQueue, Patience, RawData};
use saker_link::{DmaSpace, Placement, Sqe};
use saker_nvme::Status;
use saker_nvme::vendor_specific::Methods;
use saker_profile::Profile;
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory};
use saker_world::{Clocked, Inline};

/// The KV namespace.
pub const KV: u32 = 1;
/// The block namespace.
pub const BLOCK: u32 = 2;
/// Bytes of a logical block.
pub const BLOCK_BYTES: u32 = 512;
/// Commands in flight per queue.
pub const DEPTH: u16 = 16;

/// Events of a recovery after which it counts as stuck: many times what the few hundred pages need.
const RECOVERY_STEPS_MAX: u64 = 20_000;

/// Turns without an answer after which a command counts as lost.
const TURNS_MAX: u64 = 200_000;

/// A flash of 24 superblocks of 32 one-KiB pages: collections and checkpoints are always near.
pub fn small(capacitor: bool, seed: u64) -> Build {
    sized(capacitor, seed, 12)
}

/// The same with another engine. A hash FTL writes more streams, so it gets more and smaller superblocks; its cache holds few
/// sections.
pub fn small_with(engine: EngineKind, capacitor: bool, seed: u64) -> Build {
    if engine == EngineKind::HASH_STORE {
        return small(capacitor, seed);
    }
    other_engine(engine, capacitor, seed, 18)
}

/// Another engine than the hash store on so many superblocks of 16 pages.
pub fn other_engine(engine: EngineKind, capacitor: bool, seed: u64, segments: u32) -> Build {
    let mut build = of_segments(capacitor, seed, segments, 16).with_engine(engine);
    let (cache, grain) = if engine == EngineKind::HASH_PLUS { (2048, 64) } else { (4096, 256) };
    if engine.has_grains() {
        let grain = grain_choice(grain).expect("a grain that there is");
        build.ask(&Settings::told(&[("cache_bytes", cache), ("grain_bytes", grain)]));
    }
    build.shape.geometry.oob_bytes = 64 + 1024 / grain * 8;
    build
}

/// The same with room for some hundred KiB of pairs.
pub fn roomy(capacitor: bool, seed: u64) -> Build {
    sized(capacitor, seed, 40)
}

fn sized(capacitor: bool, seed: u64, kv_segments: u32) -> Build {
    of_segments(capacitor, seed, kv_segments, 32)
}

fn of_segments(capacitor: bool, seed: u64, kv_segments: u32, segment_pages: u32) -> Build {
    let segments = kv_segments + 12;
    let geometry = Geometry { page_bytes: 1024, oob_bytes: 96, segment_pages, segments };
    let namespaces = vec![
        NamespaceConfig::kv(KV, &geometry, kv_segments, seed),
        NamespaceConfig::block(BLOCK, &geometry, 12, capacitor, BLOCK_BYTES),
    ];
    let mut config = DeviceConfig::with(namespaces, capacitor, seed);
    config.checkpoint_bytes = Some(40 << 10);
    config.queue_pairs_max = 4;
    // The oracle knows a device without SGLs and vendor commands; `tests/methods` has the others.
    config.sgl = false;
    config.methods = Methods::default();
    let profile = Profile::builtin("tiny").expect("built in");
    let shape = Shape { geometry, channels: 2, luns: 4 };
    Build {
        profile,
        shape,
        config,
        faults: FaultPlan::default(),
        nand: true,
        compact: false,
        traces: false,
        cache: saker_host::CacheOptions::NONE,
        host_page_bytes: saker_host::host_kv::HOST_PAGE_BYTES,
        block_cache_bytes: 0,
        interval: saker_sim::Duration::ZERO,
        engine: EngineKind::default(),
        settings: Settings::NONE,
    }
}

/// Logical blocks of the block namespace.
pub fn blocks(build: &Build) -> u64 {
    match build.config.namespaces[1].kind {
        NamespaceKind::Block { blocks, .. } => blocks,
        NamespaceKind::Kv { .. } => unreachable!("namespace 2 has blocks"),
    }
}

/// Largest value of the KV namespace in bytes.
pub fn value_bytes_max(build: &Build) -> u32 {
    match build.config.namespaces[0].kind {
        NamespaceKind::Kv { value_bytes_max, .. } => value_bytes_max,
        NamespaceKind::Block { .. } => unreachable!("namespace 1 has pairs"),
    }
}

/// Host memory and BAR, small because thousands are made.
fn attachment() -> Attachment {
    attachment_of(160)
}

fn attachment_of(pages: u32) -> Attachment {
    Attachment::new(DmaSpace::with_placement(pages, 96, Placement::At(0)), 4)
}

/// A device that the tests can look into, whatever time it keeps.
pub trait Machine: Driver {
    /// Builds it, ready for a host.
    fn build(build: &Build, host: Attachment) -> Self;
    /// Digest of all stored data.
    fn digest(&self) -> u64;
    /// Counters.
    fn stats(&mut self) -> Stats;
    /// Lets it finish whatever it does on its own.
    fn rest(&mut self);
    /// What contradicts itself in its stores.
    fn check(&mut self) -> Result<(), String>;
}

impl Machine for Inline {
    fn build(build: &Build, host: Attachment) -> Self {
        Self(build.untimed(host))
    }

    fn digest(&self) -> u64 {
        self.0.digest()
    }

    fn stats(&mut self) -> Stats {
        self.0.stats()
    }

    fn rest(&mut self) {
        while self.0.advance() {}
    }

    fn check(&mut self) -> Result<(), String> {
        self.0.check()
    }
}

impl Machine for Clocked {
    fn build(build: &Build, host: Attachment) -> Self {
        Self(build.timed(host))
    }

    fn digest(&self) -> u64 {
        self.0.digest()
    }

    fn stats(&mut self) -> Stats {
        self.0.stats()
    }

    fn rest(&mut self) {
        for _ in 0..TURNS_MAX {
            let Some(at) = self.0.next_deadline() else { return };
            self.0.advance(at);
        }
        panic!("the device never comes to rest");
    }

    fn check(&mut self) -> Result<(), String> {
        self.0.check()
    }
}

/// What a command came back with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: Status,
    pub dw0: u32,
    pub data: Vec<u8>,
}

/// Host and device.
pub struct Rig<D> {
    pub machine: D,
    pub connection: Connection,
    pub kv: KvQueue,
    pub block: KvQueue,
    events: u64,
}

/// Of commands, or of a history's events, one in so many is followed by a look at all that the stores remember.
const CHECKED_EVERY: u64 = 29;

impl<D: Machine> Rig<D> {
    /// A new device of that build.
    pub fn new(build: &Build) -> Self {
        Self::on(build, attachment())
    }

    /// The same with so many pages of host memory.
    pub fn with_pages(build: &Build, pages: u32) -> Self {
        Self::on(build, attachment_of(pages))
    }

    fn on(build: &Build, host: Attachment) -> Self {
        Self::over(D::build(build, host.clone()), &host)
    }

    /// A new device whose controller somebody resets after `before`.
    pub fn reset_after(build: &Build, before: impl FnOnce(&mut Self)) -> Self {
        let host = attachment_of(400);
        let mut rig = Self::on(build, host.clone());
        before(&mut rig);
        let Self { machine, .. } = rig;
        Self::over(machine, &host)
    }

    /// A host for that device.
    pub fn over(mut machine: D, host: &Attachment) -> Self {
        let patience = Patience { polls_max: TURNS_MAX };
        let options = ConnectOptions { io_queues: 2, patience, ..ConnectOptions::default() };
        let mut connection =
            Connection::connect(port(host), &mut machine, options).expect("the host connects");
        let options = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
        let mut queue = |nsid| connection.create_kv_queue(&mut machine, nsid, options).expect("a queue");
        let (kv, block) = (queue(KV), queue(BLOCK));
        Self { machine, connection, kv, block, events: 0 }
    }

    /// Something has happened. Asserts now and then that what the stores remember agrees with itself.
    pub fn count_event(&mut self) {
        self.events += 1;
        if self.events.is_multiple_of(CHECKED_EVERY) {
            let checked = self.machine.check();
            checked.unwrap_or_else(|e| panic!("after {} events: {e}", self.events));
        }
    }

    /// The queue pair of a namespace.
    pub fn queue(&mut self, nsid: u32) -> &mut KvQueue {
        if nsid == BLOCK { &mut self.block } else { &mut self.kv }
    }

    /// Sends an entry over the queue pair of namespace `via` and waits for its answer.
    pub fn call(&mut self, via: u32, sqe: Sqe, data: RawData<'_>) -> Answer {
        let (queue, machine) = match via {
            BLOCK => (&mut self.block, &mut self.machine),
            _ => (&mut self.kv, &mut self.machine),
        };
        queue.raw(sqe, data).expect("the queue is not full");
        queue.ring();
        for _ in 0..TURNS_MAX {
            let answer =
                |d: saker_host::Done<'_>| Answer { status: d.status, dw0: d.result, data: d.data().to_vec() };
            if let Some(done) = queue.poll(answer) {
                self.count_event();
                return done.expect("an answer to this command");
            }
            machine.drive();
        }
        panic!("no answer to {sqe:?}");
    }
}

/// Power comes back over what a cut left. `each` sees the device after every event of its recovery.
pub fn power_on(
    build: &Build,
    media: MemCells,
    ring: &PageBuffer,
    each: impl FnMut(&Device<Timed>),
) -> Rig<Clocked> {
    power_on_or_damage(build, media, ring, each)
        .unwrap_or_else(|found| panic!("nothing here damages an image: {found}"))
}

/// The same, or what the device says is damaged.
pub fn power_on_or_damage(
    build: &Build,
    media: MemCells,
    ring: &PageBuffer,
    mut each: impl FnMut(&Device<Timed>),
) -> Result<Rig<Clocked>, String> {
    let g = &build.shape.geometry;
    // Only bytes survive: what the ring knows it must find in its memory.
    let memory = PageBufferMemory::from_bytes(ring.memory());
    let ring = PageBuffer::new(memory, build.ring_slots(), g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(media, ring, Some(timings(&build.profile)), build.faults);
    let host = attachment();
    let mut device = Device::timed(flash, build.device_config(), host.clone(), Costs::of(&build.profile));
    each(&device);
    while !device.is_booted() {
        assert!(device.steps() < RECOVERY_STEPS_MAX, "recovery does not come to an end");
        let at = device.next_deadline().expect("recovery goes on by itself");
        device.step(at);
        each(&device);
    }
    device.check().unwrap_or_else(|e| panic!("after recovery: {e}"));
    match device.damage().first() {
        None => Ok(Rig::over(Clocked(device), &host)),
        Some((nsid, what)) => Err(format!("namespace {nsid} is damaged: {what}")),
    }
}
