// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces whose main tree is RocksDB: random operations beside a map while writes are stopped and go on again,
//! copies on their way back, closing and opening, Format, full devices, a process that is killed. Planted faults turn histories red.

mod cut;
mod edges;
mod history;
pub mod killed;
mod planted;

use super::{Rng, engine};
use saker::{ImagePlan, Kv};
use saker_rocksdb::main_tree::open_tree;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// RocksDB with small memtables, which stops writes now and then by itself. The tree is RocksDB that stops when the test says so, too.
const PRESSED: &str = "hybrid=eager&main=stopping&write_buffer_size=64KiB&target_file_size_base=64KiB&max_bytes_for_level_base=256KiB&\
     level0_file_num_compaction_trigger=2&level0_stop_writes_trigger=4";
const BYTES: u64 = 160 << 20;

thread_local! {
    /// Stops all writes of the main trees that this thread opens. The store runs on the thread of who calls.
    static STOPS: Arc<AtomicBool> = Arc::default();
}

/// Adds the tree `stopping`.
pub fn add() {
    engine();
    saker::main_tree::add("stopping", |place| {
        Ok(Box::new(open_tree(place)?.with_stops(STOPS.with(Arc::clone))))
    });
}

/// Whether writes are stopped from now on.
pub fn stop(is_stopped: bool) {
    STOPS.with(|stops| stops.store(is_stopped, Ordering::Relaxed));
}

fn in_memory() -> String {
    format!("mem:?size={BYTES}&profile=tiny&{PRESSED}")
}

fn image(dir: &Path) -> String {
    image_with(dir, "tiny")
}

fn image_with(dir: &Path, profile: &str) -> String {
    let path = dir.join("disk.img");
    ImagePlan::hybrid(BYTES, profile, 1).create(&path).expect("made");
    format!("file:{}?{PRESSED}", path.display())
}

fn counter(kv: &mut Kv, name: &str) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    all.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Waits until no copy is in the device.
fn settle(kv: &mut Kv) {
    stop(false);
    for _ in 0..2_000_000 {
        kv.exists(b"whoever waits lets the store go on").expect("asks");
        if counter(kv, "metadata_keys") == 0 {
            return;
        }
    }
    panic!("copies stay in the device");
}
