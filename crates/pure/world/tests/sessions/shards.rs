// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories over a device of three shards in virtual time: power goes in all of them at once, at any event.

use crate::sessions::actors::{self, Plan, read_all};
use crate::sessions::device::{CLIENTS, SLOTS, build, hub};
use crate::sessions::log::Log;
use crate::sessions::tier;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Attachment, Costs, Device, Timed, timings};
use saker_flash::{Flash, MemCells, PowerCut};
use saker_host::connect::KvQueueOptions;
use saker_host::session::Session;
use saker_host::{ConnectOptions, Connection, Driver, KvQueue, Patience, TransferOptions};
use saker_link::DmaSpace;
use saker_nvme::vendor_specific::Methods;
use saker_segment_store::{PageBuffer, PageBufferMemory, PowerHistory};
use saker_shards::{Shard, Sharded};
use saker_sim::{Chance, Seed};
use saker_world::Clocked;
use std::sync::Arc;

const SHARDS: u64 = 3;

type Dispatcher = Sharded<Clocked>;

fn builds(capacitor: bool, seed: u64, program: Chance) -> Vec<Build> {
    let of = |n| {
        let mut build = build(capacitor, Seed(seed).index(n).0, program);
        build.config.methods = Methods::default().with_groups(true).with_groups_both_ways(true);
        build
    };
    (0..SHARDS).map(of).collect()
}

/// Connects to shards made by `device`, by number.
fn connect(device: impl Fn(usize, Attachment) -> Device<Timed>) -> (Dispatcher, Vec<KvQueue>, bool) {
    let space = DmaSpace::new(2000, 500);
    let shard = |n| {
        let host = Attachment::new(Arc::clone(&space), 1);
        Shard::open(port(&host), Clocked(device(n, host)), 1, 16).expect("connects")
    };
    let mut device = Sharded::new((0..SHARDS as usize).map(shard).collect(), space);
    let queues = CLIENTS as u16 + 1;
    let options = ConnectOptions { io_queues: queues, ..ConnectOptions::default() };
    let mut connection = Connection::connect(device.port(), &mut device, options).expect("the host connects");
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

fn reborn(build: &Build, media: MemCells, ring: &PageBuffer, host: Attachment) -> Device<Timed> {
    let g = &build.shape.geometry;
    let memory = PageBufferMemory::from_bytes(ring.memory());
    let ring = PageBuffer::new(memory, build.ring_slots(), g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(media, ring, Some(timings(&build.profile)), build.faults);
    Device::timed(flash, build.device_config(), host, Costs::of(&build.profile))
}

fn history(capacitor: bool, program: Chance, seed: u64) -> (Log, u64) {
    let (builds, log) = (builds(capacitor, seed, program), Log::new());
    let (mut device, queues, volatile) = connect(|n, host| builds[n].timed(host));
    assert_eq!(volatile, !capacitor);
    let sessions = hub(seed, queues, volatile);
    let cut_at = Some(200 + Seed(seed).child("cut").rng().below(2500) as u32);
    let plan = Plan { seed, clients: CLIENTS, operations: 200, cut_at };
    actors::run(plan, &sessions, &log, || device.drive());
    let groups = (0..sessions.lanes()).map(|n| sessions.stats(n).groups).sum();
    log.cut();
    let history = PowerHistory::Cut { ring_kept: capacitor };
    let left: Vec<_> = device
        .turns_mut()
        .zip(0..)
        .map(|(shard, n)| {
            let cut = PowerCut { seed: Seed(seed).index(n).0, ring_kept: capacitor };
            let (mut media, ring) = shard.0.flash().cut(cut);
            media.set_history(history);
            (media, ring)
        })
        .collect();
    let (device, queues, volatile) =
        connect(|n, host| reborn(&builds[n], left[n].0.clone(), &left[n].1, host));
    let after = hub(seed, queues, volatile);
    let mut session = Session::new(after, (0, 0), device, 6000, Patience { polls_max: 100_000 });
    read_all(&mut session, &log);
    (log, groups)
}

fn hold(capacitor: bool, program: Chance) {
    let (mut events, mut groups) = (0, 0);
    for n in 0..tier(7, 130) {
        let seed = Seed(n).child(&format!("shards {capacitor} {}", program.one_in)).0;
        let (log, sent) = history(capacitor, program, seed);
        let violations = log.violations();
        assert!(violations.is_empty(), "history {n}: {}", violations.concat());
        (events, groups) = (events + log.len(), groups + sent);
    }
    println!("{events} events, {groups} groups");
    assert!(events > tier(7, 130) as usize * 100 && groups > tier(7, 130));
}

#[test]
fn a_power_cut_with_a_capacitor() {
    hold(true, Chance::NEVER);
}

#[test]
fn a_power_cut_without_a_capacitor() {
    hold(false, Chance::NEVER);
}

#[test]
fn a_power_cut_after_failed_programs() {
    hold(false, Chance::one_in(30));
}
