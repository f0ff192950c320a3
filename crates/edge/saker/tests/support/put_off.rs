// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writers to an LSM store that puts merges off, whatever door is before it.
#![allow(dead_code, reason = "not every program of tests uses all of it")]

use saker::{EngineKind, ImagePlan, Kv, ScanOptions, Typed, WriteBatch};
use saker_sim::Rng;
use std::collections::BTreeMap;
use std::path::Path;

/// Values that are all in the tree, and as the tree decides.
pub const WORDS: [&str; 2] = ["unlimited", "auto"];
/// For whoever opens it.
pub const AT_OPEN: &str = "write_buffer_size=64KiB";
/// RocksDB's: level 0 is due with 4 files. With 12, half way to 20, writes merge it.
pub const TRIGGER: u64 = 4;
pub const PUT_OFF_MAX: u64 = 12;
/// So many files show that merges are put off, if none has begun.
pub const PUT_OFF: u64 = 8;

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// The sum of a counter over all trees of a device.
pub fn counter(kv: &mut Kv, name: &str) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    all.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
}

pub fn level0(kv: &mut Kv) -> u64 {
    counter(kv, "num_files_at_level0")
}

/// The `n`th write, by one of all ways there are.
fn step(kv: &mut Kv, rng: &mut Rng, model: &mut Model, n: u32) {
    let key = format!("key {:06}", rng.below(100_000)).into_bytes();
    let value = vec![n as u8; 1 + rng.below(60) as usize];
    match rng.below(20) {
        0 => {
            kv.delete(&key).expect("deletes");
            model.remove(&key);
        }
        1 => {
            let mut batch = WriteBatch::new();
            for n in 0..32_u8 {
                let key = [&key[..], &[n]].concat();
                batch.put(&key, &value);
                model.insert(key, value.clone());
            }
            kv.write(&batch).expect("writes");
        }
        2 | 3 => {
            kv.put_queued(&key, &value).expect("queued");
            model.insert(key, value);
        }
        _ => {
            kv.put(&key, &value).expect("stores");
            model.insert(key, value);
        }
    }
    if n % 1000 == 999 {
        kv.flush().expect("flushes");
    }
}

/// Writes; how many files level 0 had at most.
pub fn write(kv: &mut Kv, rng: &mut Rng, model: &mut Model, steps: u32) -> u64 {
    let mut most = 0;
    for n in 0..steps {
        step(kv, rng, model, n);
        if n % 64 == 0 {
            most = most.max(level0(kv));
        }
    }
    kv.drain().expect("all was stored");
    most
}

/// Writes, and asks nothing: a device that is asked for its counters may take that for a pause.
pub fn write_blindly(kv: &mut Kv, rng: &mut Rng, model: &mut Model, steps: u32) {
    (0..steps).for_each(|n| step(kv, rng, model, n));
    kv.drain().expect("all was stored");
}

pub fn assert_has(kv: &mut Kv, model: &Model, when: &str) {
    let mut found = Model::new();
    let mut visit = |key: &[u8], value: &[u8]| found.insert(key.to_vec(), value.to_vec()).is_none();
    kv.scan(&ScanOptions::default(), &mut visit).expect("scans");
    assert!(&found == model, "{when}: {} pairs, not {}", found.len(), model.len());
}

/// Reads until level 0 is in order.
pub fn read_in_order(kv: &mut Kv, model: &Model) {
    let keys = model.keys().cycle().take(200_000);
    for (n, key) in keys.enumerate() {
        assert_eq!(kv.get(key).expect("reads").as_ref(), model.get(key));
        if n % 100 == 0 && level0(kv) < TRIGGER {
            return;
        }
    }
    panic!("level 0 has {} files behind 200,000 reads", level0(kv));
}

/// Whether merges are long due and none has begun.
pub fn is_put_off(kv: &mut Kv) -> bool {
    level0(kv) >= PUT_OFF && counter(kv, "num_running_compactions") == 0
}

/// Writes to a device on the caller's thread until merges are put off.
pub fn put_off(kv: &mut Kv, rng: &mut Rng, model: &mut Model) {
    for _ in 0..200 {
        if is_put_off(kv) {
            return;
        }
        write_blindly(kv, rng, model, 200);
    }
    panic!("level 0 has {} files behind 40,000 writes: nothing is put off", level0(kv));
}

/// The same of an empty device for which each question is a pause, in which a merge may begin: it is asked once.
pub fn put_off_elsewhere(kv: &mut Kv, rng: &mut Rng, model: &mut Model) {
    write_blindly(kv, rng, model, 3600);
    let files = level0(kv);
    assert!(files >= PUT_OFF, "level 0 has {files} files");
}

/// No thread computes merges beside the device: what one of them has done when anybody looks would be chance.
const ALONE: &str = "background_threads=0";

/// A device in memory whose values are where that word says.
pub fn in_memory(word: &str) -> String {
    format!("mem:?size=64MiB&profile=tiny&engine=lsm&min_blob_size={word}&{AT_OPEN}&{ALONE}")
}

/// An image whose values are where that word says, and how it is opened.
pub fn image(path: &Path, word: &str) -> String {
    let mut typed = Typed::default();
    typed.push("min_blob_size", word);
    let settings = typed.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that");
    let plan = ImagePlan { engine: EngineKind::LSM, settings, ..ImagePlan::kv(64 << 20, "tiny", 1) };
    plan.create(path).expect("creates");
    format!("file:{}?{AT_OPEN}&{ALONE}", path.display())
}
