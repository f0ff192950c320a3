// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collections of the value log in virtual time: when writes wait for them, what they read overlaps, and is read once.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_profile::{Media, Profile};
use saker_sim::{Duration, Seed};
use saker_world::{Job, Op, Prepared};

const DEVICE_BYTES: u64 = 512 << 20;
const VALUE_BYTES: usize = 4000;
const OVERWRITES: u64 = 20_000;

fn profile() -> Profile {
    Profile::builtin("cosmos-plus").expect("built in")
}

fn put(key: u64) -> Op {
    Op::Put(key.to_be_bytes().to_vec(), vec![key as u8; VALUE_BYTES])
}

fn job(operations: Vec<Op>) -> Job {
    Job { threads: 8, depth: 1, operations, flush: false, transfer: Default::default() }
}

/// How long so many pages take if each is read when the one before is here.
fn one_by_one(pages: u64) -> Duration {
    let Media::Nand(nand) = profile().media else { panic!("the board has NAND") };
    let read = nand.read_ns.value.iter().copied().min().expect("a time");
    let page_bytes = u64::from(profile().geometry.page_bytes.get());
    let transfer = page_bytes * 1_000_000_000 / nand.channel_bandwidth_bytes_per_s.value;
    Duration::from_nanos(pages * (read + transfer))
}

/// Measured: 0.56 s with `lsm` and 0.39 s with `tree`, where one by one the pages take 1.6 and 1.5 s. The longest put took 91 and 106 ms. Without
/// reading ahead `lsm` takes 3.2 s, and its longest put 1.4 s.
#[test]
fn collections_that_writes_wait_for_read_many_pages_at_once() {
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        let name = engine.name();
        let build = Build::kv(&profile(), DEVICE_BYTES, 5).expect("large enough").with_engine(engine);
        let mut rng = Seed(5).rng();
        let mut device = Prepared::start(&build).expect("connects");
        let pairs = device.stats().namespaces[0].capacity_bytes * 8 / 10 / VALUE_BYTES as u64;
        device.run((0..pairs).map(put)).expect("room");
        device.run((0..pairs).map(|_| put(rng.below(pairs)))).expect("room");
        let mut running = device.fork(&job(Vec::new())).expect("connects");
        let mut overwrite = || {
            let all = (0..OVERWRITES).map(|_| put(rng.below(pairs))).collect();
            (running.stats(), running.run(&job(all)), running.stats())
        };
        // Workers keep their pages from the first flush on.
        overwrite();
        let (before, result, now) = overwrite();
        assert_eq!(result.errors, 0, "{name}");
        let count = |of: fn(&saker_device::Stats) -> u64| of(&now) - of(&before);
        let collected = count(|stats| stats.namespaces[0].store.gc_segments);
        let copied = count(|stats| stats.namespaces[0].store.gc_records_copied);
        let read = count(|stats| stats.flash.pages_read);
        let pages = collected * u64::from(build.shape.geometry.segment_pages);
        let longest = Duration::from_nanos(result.latency.max());
        println!(
            "{name}: {:?}, {longest:?} at most; {collected} collected, {copied} copied, {read} read",
            result.elapsed
        );
        assert!(collected > 5, "{name}: writes must have waited for collections: {collected}");
        assert!(result.elapsed * 2 < one_by_one(pages), "{name}: {:?} for {pages} pages", result.elapsed);
        // Each page once, and about one for each search. Flushes and merges read as well.
        assert!(read < pages + 2 * copied, "{name}: {read} read of {pages} pages with {copied} records");
    }
}
