// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash FTLs nearly full, in virtual time: how long a command waits at most, and whether counted pages are what is
//! reported.

use saker_assembly::Build;
use saker_device::{EngineKind, NamespaceConfig};
use saker_flash::nand::Shape;
use saker_profile::{Media, Profile};
use saker_segment_store::Geometry;
use saker_sim::{Rng, Seed};
use saker_world::{Job, Op, Prepared, Running};

const CLIENTS: usize = 8;
/// How often the soak tier overwrites as much as there is flash.
const FILLS: u64 = 10;
/// Flash of the devices that are nearly full: 64 superblocks of 64 pages.
const DEVICE_BYTES: u64 = 64 * 64 * 4096;
const VALUE_BYTES: usize = 1000;
/// A record of that value takes a KiB.
const RECORD_BYTES: u64 = 1024;
/// Bytes of the table for a pair of Plus.
const ENTRY_BYTES: u64 = 17;

fn operations() -> u64 {
    if saker_testing::is_soak() { FILLS * DEVICE_BYTES / RECORD_BYTES } else { 3000 }
}

/// The paper's disk with a program for each page and a page buffer of half the slots: so commands wait for room, which is what is looked at here.
fn profile() -> Profile {
    let mut profile = Profile::builtin("kvvirt").expect("a built-in profile");
    let Media::Nand(nand) = &mut profile.media else { panic!("the disk has NAND") };
    nand.program_pages.value = 1;
    profile.geometry.power_safe_ring_slots.value = 512;
    profile.firmware.write_buffer_bytes.value = 524_288;
    profile
}

/// That disk with 16 LUNs and superblocks of 256 KiB, 64 of them.
fn build(engine: EngineKind) -> Build {
    sized(engine, 64, 64)
}

fn sized(engine: EngineKind, segments: u32, segment_pages: u32) -> Build {
    let profile = profile();
    let luns = 16;
    let geometry = Geometry { page_bytes: 4096, oob_bytes: 576, segment_pages, segments };
    let shape = Shape { geometry, channels: profile.geometry.channels.get(), luns };
    let namespace = NamespaceConfig::kv(1, &geometry, geometry.segments, 5);
    Build::with(&profile, shape, vec![namespace], 5).with_engine(engine)
}

fn put(key: u64) -> Op {
    Op::Put(key.to_be_bytes().to_vec(), vec![key as u8; VALUE_BYTES])
}

fn job(operations: Vec<Op>) -> Job {
    Job { threads: CLIENTS, depth: 1, operations, flush: false, transfer: Default::default() }
}

/// As long as the paper's disk has room: three quarters full, and a cache of the least size there is, so that collections of records
/// write a page of sections for nearly each record they move, while twenty clients drive each other's sections out.
#[test]
fn collections_go_on_while_clients_drive_sections_out() {
    for engine in EngineKind::ALL.iter().copied().filter(|engine| engine.has_grains()) {
        let mut build = sized(engine, 256, 64);
        build.set("cache_bytes", 32 * 4096).expect("in range");
        let mut rng = Seed(7).rng();
        let pairs = 256 * 64 * 4096 * 3 / 4 / RECORD_BYTES;
        let mut device = Prepared::start(&build).expect("connects");
        device.run((0..pairs).map(put)).expect("room");
        device.run((0..pairs).map(|_| put(rng.below(pairs)))).expect("room");
        let job = |operations| Job { threads: 20, ..job(operations) };
        let mut running = device.fork(&job(Vec::new())).expect("connects");
        let get = |key: u64| Op::Get(key.to_be_bytes().to_vec());
        let side = |n: u64, key| if n.is_multiple_of(2) { put(key) } else { get(key) };
        let before = running.stats().flash.segments_erased;
        let result = running.run(&job((0..operations()).map(|n| side(n, rng.below(pairs))).collect()));
        assert_eq!(result.errors, 0, "{engine:?}");
        assert!(running.stats().flash.segments_erased > before + 10, "{engine:?}: nothing was collected");
    }
}

/// A device with pairs in 90 % of its capacity, each overwritten once on average, and their number.
fn nearly_full(engine: EngineKind, rng: &mut Rng) -> (Running, u64) {
    let mut device = Prepared::start(&build(engine)).expect("connects");
    let capacity = device.stats().namespaces[0].capacity_bytes;
    let pair = RECORD_BYTES + if engine == EngineKind::HASH_PLUS { ENTRY_BYTES } else { 0 };
    let pairs = capacity / pair * 9 / 10;
    device.run((0..pairs).map(put)).expect("room");
    device.run((0..pairs).map(|_| put(rng.below(pairs)))).expect("room");
    (device.fork(&job(Vec::new())).expect("connects"), pairs)
}

/// Nanoseconds of a superblock's collection and an eviction, by the profile, if nothing overlaps: each page and the section of
/// each record is read, as many are programmed, the superblock is erased; then a page of sections is read and programmed.
fn bound_ns() -> u64 {
    let Media::Nand(nand) = profile().media else { panic!("the disk has NAND") };
    let geometry = build(EngineKind::HASH_PLUS).shape.geometry;
    let records = geometry.segment_bytes() / RECORD_BYTES;
    let transfer = 4096 * 1_000_000_000 / nand.channel_bandwidth_bytes_per_s.value;
    let read = nand.read_ns.value.iter().copied().max().unwrap_or(0);
    let page = read + nand.program_ns.value + 2 * transfer;
    (u64::from(geometry.segment_pages) + records + 1) * page + nand.erase_ns.value
}

#[test]
fn no_command_waits_longer_than_for_a_superblock() {
    for engine in [EngineKind::HASH_ORIGINAL, EngineKind::HASH_PLUS] {
        let mut rng = Seed(8).rng();
        let (mut running, pairs) = nearly_full(engine, &mut rng);
        let erased = running.stats().flash.segments_erased;
        let all = (0..operations()).map(|_| put(rng.below(pairs))).collect();
        let result = running.run(&job(all));
        let collected = running.stats().flash.segments_erased - erased;
        assert_eq!(result.errors, 0);
        assert!(collected > 10, "{engine:?}: collections must have been on their way: {collected}");
        let (longest, bound) = (result.latency.max(), bound_ns());
        println!("{engine:?}: {longest} ns at most, of {bound}; {collected} collected");
        assert!(longest <= bound, "{engine:?}: {longest} ns, but a superblock and an eviction take {bound}");
    }
}

#[test]
fn reported_pages_are_the_pages_programmed() {
    for engine in [EngineKind::HASH_ORIGINAL, EngineKind::HASH_PLUS] {
        let mut rng = Seed(9).rng();
        let (mut running, pairs) = nearly_full(engine, &mut rng);
        let before = running.stats().flash.pages_programmed;
        let result = running.run(&job((0..operations()).map(|_| put(rng.below(pairs))).collect()));
        let programmed = running.stats().flash.pages_programmed - before;
        let stored = operations() * (8 + VALUE_BYTES as u64);
        assert_eq!(result.nand_pages, programmed, "{engine:?}");
        assert_eq!(result.write_amplification(), (programmed * 4096) as f64 / stored as f64, "{engine:?}");
        running.settle();
        let s = running.stats();
        let log = s.namespaces[0].log;
        assert_eq!(log.pages_programmed.iter().sum::<u64>(), s.flash.pages_programmed, "{engine:?}");
        let count = |name: &str| {
            let found = s.namespaces[0].counters.iter().find(|(n, _)| *n == name);
            found.map_or(0, |(_, n)| *n)
        };
        let appended = log.bytes_appended.iter().sum::<u64>();
        let by_cause = count("kv_bytes_written")
            + s.namespaces[0].store.gc_bytes_copied
            + (count("table_pages_written_user") + count("table_pages_written_gc")) * 4096
            + count("invalid_bytes_written")
            + count("invalid_pages_moved") * 4096;
        assert_eq!(by_cause, appended, "{engine:?}: every byte has a cause");
        // Pages that are not full yet are not programmed; records' ends at the ends of superblocks are unused.
        let programmed = s.flash.pages_programmed * 4096;
        assert!(programmed <= appended + appended / 100 && programmed + 8 * 4096 >= appended, "{engine:?}");
        assert!(result.nand_pages > operations() / 4, "at least what was stored");
    }
}

/// Pages that commands and collections have looked at, pages that were read, and attempts that were blocked.
fn looked_read_blocked(running: &mut Running) -> [u64; 3] {
    let s = running.stats();
    let count = |name: &str| s.namespaces[0].counters.iter().find(|(n, _)| *n == name).map_or(0, |(_, n)| *n);
    let sum = |names: &[&str]| names.iter().map(|name| count(name)).sum();
    let looked = sum(&["table_pages_read_user", "table_pages_read_gc", "kv_pages_read", "gc_pages_read"]);
    let blocked = sum(&["blocked_no_segment", "blocked_no_slot", "blocked_mappings"]);
    [looked, s.flash.pages_read, blocked]
}

/// A command that has to ask again, for the pair behind its section or because it was blocked, goes on holding what it has read.
#[test]
fn commands_read_no_page_twice() {
    for (engine, writes) in
        [EngineKind::HASH_ORIGINAL, EngineKind::HASH_PLUS].map(|e| [(e, 0), (e, 2), (e, 4)]).concat()
    {
        let mut rng = Seed(10).rng();
        let (mut running, pairs) = nearly_full(engine, &mut rng);
        running.settle();
        let side = |n: u64, key: u64| {
            if writes > n % 4 { put(key) } else { Op::Get(key.to_be_bytes().to_vec()) }
        };
        let before = looked_read_blocked(&mut running);
        let result = running.run(&job((0..operations()).map(|n| side(n, rng.below(pairs))).collect()));
        assert_eq!(result.errors, 0, "{engine:?}");
        let after = looked_read_blocked(&mut running);
        let [looked, read, blocked] = [0, 1, 2].map(|n| after[n] - before[n]);
        println!("{engine:?} {writes} in 4: {read} read, {looked} looked at, {blocked} blocked");
        assert!(read > operations() / 4 && read <= looked, "{engine:?}: {read} read, {looked} looked at");
        assert!(blocked > 100 || writes < 4, "{engine:?}: {blocked} attempts were blocked");
    }
}
