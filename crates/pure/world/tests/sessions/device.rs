// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories over the real device in virtual time: power cut at any event, the process killed, programs that fail, values
//! that the device refuses.

use crate::sessions::actors::{self, Plan, read_all};
use crate::sessions::log::Log;
use crate::sessions::tier;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Costs, Device, DeviceConfig, EngineKind, NamespaceConfig, NamespaceKind, timings};
use saker_engine::Settings;
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut};
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Hub, Options, Session};
use saker_host::transfer::Available;
use saker_host::{ConnectOptions, Connection, Driver, KvQueue, Patience, TransferOptions};
use saker_nvme::vendor_specific::Methods;
use saker_profile::Profile;
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory, PowerHistory};
use saker_sim::{Chance, Seed};
use saker_world::Clocked;
use std::sync::Arc;

pub const CLIENTS: usize = 5;
pub const SLOTS: u16 = 4;
/// Longer values are refused by the device.
const VALUE_BYTES_MAX: u32 = 700;

/// How a history ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Cut,
    Killed,
}

pub fn build(capacitor: bool, seed: u64, program: Chance) -> Build {
    let geometry = Geometry { page_bytes: 1024, oob_bytes: 96, segment_pages: 32, segments: 40 };
    let mut kv = NamespaceConfig::kv(1, &geometry, 40, seed);
    if let NamespaceKind::Kv { value_bytes_max, .. } = &mut kv.kind {
        *value_bytes_max = VALUE_BYTES_MAX;
    }
    let mut config = DeviceConfig::with(vec![kv], capacitor, seed);
    config.checkpoint_bytes = Some(40 << 10);
    let profile = Profile::builtin("tiny").expect("built in");
    let mut build = Build::kv(&profile, 64 << 20, seed).expect("large enough");
    build.shape = Shape { geometry, channels: 2, luns: 4 };
    build.config = config;
    build.faults = FaultPlan { seed, program, ..FaultPlan::default() };
    build
}

/// Host memory for the sessions, small because many are made.
fn connect(
    build: &Build,
    device: impl FnOnce(saker_device::Attachment) -> Device<saker_device::Timed>,
) -> (Clocked, Vec<KvQueue>, bool) {
    let queues = CLIENTS as u16 + 1;
    let host = build.attach(queues, SLOTS);
    let mut device = Clocked(device(host.clone()));
    let options = ConnectOptions { io_queues: queues, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("the host connects");
    let options = KvQueueOptions { entries: u32::from(SLOTS) + 1, slots: SLOTS };
    let queue = |_| {
        let mut queue = connection.create_kv_queue(&mut device, 1, options).expect("a queue");
        connection.set_transfer(&mut device, &mut queue, TransferOptions::default()).expect("log pages");
        queue
    };
    let queues: Vec<_> = (0..queues).map(queue).collect();
    let volatile = connection.controller().vwc & 1 != 0;
    (device, queues, volatile)
}

pub fn hub(seed: u64, queues: Vec<KvQueue>, volatile: bool) -> Arc<Hub<KvQueue>> {
    let mut rng = Seed(seed).child("options").rng();
    let batch = [1, 4, 16, 64][rng.below(4) as usize];
    let container_bytes = [256, 4096][rng.below(2) as usize];
    let cache = crate::sessions::histories::cache(seed);
    let stripes = [2, 0][rng.below(2) as usize];
    Arc::new(Hub::new(
        queues,
        Options { batch, container_bytes, stripes, volatile, cache, ..Options::default() },
    ))
}

/// Power comes back over what a cut left.
fn reborn(build: &Build, media: MemCells, ring: &PageBuffer) -> (Clocked, Vec<KvQueue>, bool) {
    let g = &build.shape.geometry;
    let memory = PageBufferMemory::from_bytes(ring.memory());
    let ring = PageBuffer::new(memory, build.ring_slots(), g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(media, ring, Some(timings(&build.profile)), build.faults);
    connect(build, |host| Device::timed(flash, build.device_config(), host, Costs::of(&build.profile)))
}

/// An engine, and what is asked of it.
type Asked = (EngineKind, &'static [(&'static str, u64)]);

fn history((engine, asked): Asked, capacitor: bool, end: End, program: Chance, seed: u64) -> (Log, u64) {
    let mut build = build(capacitor, seed, program).with_engine(engine);
    build.ask(&Settings::told(asked));
    let log = Log::new();
    let (mut device, queues, volatile) = connect(&build, |host| build.timed(host));
    assert_eq!(volatile, !capacitor);
    let hub = hub(seed, queues, volatile);
    let cut_at = Some(200 + Seed(seed).child("cut").rng().below(2500) as u32);
    let plan = Plan { seed, clients: CLIENTS, operations: 200, cut_at };
    actors::run(plan, &hub, &log, || device.drive());
    let groups = (0..hub.lanes()).map(|n| hub.stats(n).groups).sum();
    log.cut();
    let (mut media, ring) = match end {
        End::Cut => device.0.cut(seed),
        End::Killed => device.0.flash().cut(PowerCut { seed, ring_kept: true }),
    };
    media.set_history(match end {
        End::Cut => PowerHistory::Cut { ring_kept: capacitor },
        End::Killed => PowerHistory::Killed,
    });
    let (device, queues, volatile) = reborn(&build, media, &ring);
    let after = self::hub(seed, queues, volatile);
    let mut session = Session::new(after, (0, 0), device, 6000, Patience { polls_max: 100_000 });
    read_all(&mut session, &log);
    (log, groups)
}

fn hold(capacitor: bool, end: End, program: Chance) {
    let count = tier(13, 130);
    let groups = hold_engine(((EngineKind::HASH_STORE, &[]), count), capacitor, end, program);
    assert!(groups > count, "{groups} groups");
}

/// So many histories on an engine; groups sent.
fn hold_engine((engine, count): (Asked, u64), capacitor: bool, end: End, program: Chance) -> u64 {
    let (mut events, mut groups) = (0, 0);
    for n in 0..count {
        let seed = Seed(n).child(&format!("{capacitor} {end:?} {}", program.one_in)).0;
        let (log, sent) = history(engine, capacitor, end, program, seed);
        let violations = log.violations();
        assert!(violations.is_empty(), "{engine:?}, history {n}: {}", violations.concat());
        (events, groups) = (events + log.len(), groups + sent);
    }
    println!("{engine:?}: {events} events, {groups} groups");
    assert!(events > count as usize * 100, "{events} events");
    groups
}

/// Cuts with and without a capacitor and after failed programs, and kills, on another store.
fn hold_store(engine: Asked) {
    let (count, mut groups) = (tier(3, 130), 0);
    for (capacitor, end, program) in [
        (true, End::Cut, Chance::NEVER),
        (false, End::Cut, Chance::NEVER),
        (true, End::Killed, Chance::NEVER),
        (false, End::Cut, Chance::one_in(30)),
    ] {
        groups += hold_engine((engine, count), capacitor, end, program);
    }
    assert!(groups > count, "{groups} groups");
}

#[test]
fn the_lsm_store() {
    hold_store((EngineKind::LSM, &[]));
}

/// Those from 64 bytes on in the value log, from 4096 on, none, and as the store decides: the places of the words.
#[test]
fn the_lsm_store_with_values_in_the_tree() {
    hold_store((EngineKind::LSM, &[("min_blob_size", 3)]));
    hold_store((EngineKind::LSM, &[("min_blob_size", 9)]));
    hold_store((EngineKind::LSM, &[("min_blob_size", 14)]));
    hold_store((EngineKind::LSM, &[("min_blob_size", 15), ("write_buffer_size", 16 << 10)]));
}

#[test]
fn the_tree_store() {
    hold_store((EngineKind::TREE, &[]));
}

#[test]
fn the_original_hash_ftl() {
    hold_store((EngineKind::HASH_ORIGINAL, &[]));
}

#[test]
fn the_plus_hash_ftl() {
    hold_store((EngineKind::HASH_PLUS, &[]));
}

#[test]
fn a_power_cut_with_a_capacitor() {
    hold(true, End::Cut, Chance::NEVER);
}

#[test]
fn a_power_cut_without_a_capacitor() {
    hold(false, End::Cut, Chance::NEVER);
}

#[test]
fn a_killed_process() {
    hold(true, End::Killed, Chance::NEVER);
}

#[test]
fn a_power_cut_after_failed_programs() {
    hold(false, End::Cut, Chance::one_in(30));
}

/// A device that promises groups and knows none.
#[test]
fn a_device_that_refuses_groups_is_not_asked_for_ever() {
    let profile = Profile::builtin("tiny").expect("built in");
    let mut build = Build::kv(&profile, 64 << 20, 1).expect("large enough");
    build.config.methods = Methods::default();
    let (device, mut queues, volatile) = connect(&build, |host| build.timed(host));
    for queue in &mut queues {
        let boasting = Available { methods: Methods::ALL, group_bytes_max: 1 << 20, ..*queue.available() };
        queue.set_transfer(TransferOptions::default(), boasting);
    }
    let hub = Arc::new(Hub::new(queues, Options { batch: 4, volatile, ..Options::default() }));
    let patience = Patience { polls_max: 100_000 };
    let mut session = Session::new(Arc::clone(&hub), (0, 0), device, 6000, patience);
    for n in 0..400_u32 {
        let key = saker_nvme::Key::new(&n.to_le_bytes()).expect("four bytes");
        session.put(&key, b"value").expect("buffered");
    }
    session.sync().expect("each went alone");
    let groups = hub.stats(0).groups;
    assert!(
        (1..=u64::from(SLOTS)).contains(&groups),
        "{groups} groups: those in flight before the first answer"
    );
}
