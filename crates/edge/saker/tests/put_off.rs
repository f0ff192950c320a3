// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merges that an LSM store with values in its tree puts off while writes come, behind every door: what was put off, and what else happens to
//! a store meanwhile.

use saker::{EngineKind, ImagePlan, Kv, ScanOptions, Settings, WriteBatch};
use saker_sim::{Rng, Seed};
use saker_testing::seeds;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const OPTIONS: &str = "write_buffer_size=256KiB&min_blob_size=unlimited";
/// RocksDB's: level 0 is due with 4 files. With 12, half way to 20, writes merge it.
const TRIGGER: u64 = 4;
const PUT_OFF_MAX: u64 = 12;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn level0(kv: &mut Kv) -> u64 {
    let all = kv.counters().expect("told").expect("an LSM store has counters");
    all.iter().find(|counter| counter.name == "num_files_at_level0").expect("it has that one").value
}

/// Writes by all ways there are; how many files level 0 had at most.
fn write(kv: &mut Kv, rng: &mut Rng, model: &mut Model, steps: u32) -> u64 {
    let mut most = 0;
    for step in 0..steps {
        let key = format!("key {:06}", rng.below(100_000)).into_bytes();
        let value = vec![step as u8; 1 + rng.below(60) as usize];
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
        if step % 64 == 0 {
            most = most.max(level0(kv));
        }
        if step % 1000 == 999 {
            kv.flush().expect("flushes");
        }
    }
    kv.drain().expect("all was stored");
    most
}

fn assert_has(kv: &mut Kv, model: &Model, when: &str) {
    let mut found = Model::new();
    let mut visit = |key: &[u8], value: &[u8]| found.insert(key.to_vec(), value.to_vec()).is_none();
    kv.scan(&ScanOptions::default(), &mut visit).expect("scans");
    assert!(&found == model, "{when}: {} pairs, not {}", found.len(), model.len());
}

/// Reads until level 0 is in order.
fn read_in_order(kv: &mut Kv, model: &Model) {
    let keys = model.keys().cycle().take(200_000);
    for (n, key) in keys.enumerate() {
        assert_eq!(kv.get(key).expect("reads").as_ref(), model.get(key));
        if n % 100 == 0 && level0(kv) < TRIGGER {
            return;
        }
    }
    panic!("level 0 has {} files behind 200,000 reads", level0(kv));
}

#[test]
fn writes_leave_to_reads_what_may_wait() {
    for seed in seeds(1) {
        let mut rng = Seed(seed).child("put off").rng();
        let mut kv = Kv::open(&format!("mem:?size=128MiB&profile=tiny&engine=lsm&{OPTIONS}")).expect("opens");
        let mut model = Model::new();
        let most = write(&mut kv, &mut rng, &mut model, 12_000);
        assert!((8..=PUT_OFF_MAX + 4).contains(&most), "level 0 had {most} files");
        assert_has(&mut kv, &model, "behind writes");
        read_in_order(&mut kv, &model);
        assert_has(&mut kv, &model, "in order");
        // A format takes what was put off along.
        write(&mut kv, &mut rng, &mut model, 6_000);
        kv.format().expect("formats");
        model.clear();
        assert_eq!(level0(&mut kv), 0);
        write(&mut kv, &mut rng, &mut model, 3_000);
        assert_has(&mut kv, &model, "behind a format");
        kv.close().expect("closes");
    }
}

#[test]
fn an_image_is_opened_with_what_was_put_off() {
    for seed in seeds(1) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        let known = EngineKind::LSM.settings().iter().find(|setting| setting.name == "min_blob_size");
        let unlimited = known.expect("a setting").parse("unlimited", |_| None).expect("a word of it");
        let settings = Settings::told(&[("min_blob_size", unlimited)]);
        let plan = ImagePlan { engine: EngineKind::LSM, settings, ..ImagePlan::kv(128 << 20, "tiny", 1) };
        plan.create(&path).expect("creates");
        let url = format!("file:{}?write_buffer_size=256KiB", path.display());
        let (mut rng, mut model, mut most) = (Seed(seed).child("image").rng(), Model::new(), 0);
        for life in 0..4 {
            let mut kv = Kv::open(&url).expect("opens");
            assert_has(&mut kv, &model, &format!("life {life}"));
            most = most.max(write(&mut kv, &mut rng, &mut model, 12_000));
            // Every other life ends without being closed.
            if life % 2 == 0 {
                kv.close().expect("closes");
            }
        }
        assert!(most >= 8, "level 0 had {most} files at most");
        let mut kv = Kv::open(&url).expect("opens");
        read_in_order(&mut kv, &model);
        assert_has(&mut kv, &model, "at the end");
        kv.close().expect("closes");
    }
}

/// A device with a thread of its own goes on by itself when nothing is asked of it.
#[test]
fn an_idle_device_does_what_was_put_off() {
    let url = format!("mem:?size=128MiB&profile=tiny&engine=lsm&threads=1&{OPTIONS}");
    let (mut kv, mut model) = (Kv::open(&url).expect("opens"), Model::new());
    write(&mut kv, &mut Seed(7).rng(), &mut model, 12_000);
    let give_up = Instant::now() + Duration::from_secs(60);
    while level0(&mut kv) >= TRIGGER {
        assert!(Instant::now() < give_up, "level 0 has {} files", level0(&mut kv));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_has(&mut kv, &model, "by itself");
    kv.close().expect("closes");
}

/// Who asks for little in level 0 has little put off.
#[test]
fn settings_bound_what_is_put_off() {
    for (more, most_files) in [
        ("level0_slowdown_writes_trigger=4&level0_stop_writes_trigger=36", 8),
        ("slowdown=off&level0_stop_writes_trigger=6", 9),
        ("level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=2", 5),
    ] {
        let url = format!("mem:?size=128MiB&profile=tiny&engine=lsm&{OPTIONS}&{more}");
        let (mut kv, mut model) = (Kv::open(&url).expect("opens"), Model::new());
        let most = write(&mut kv, &mut Seed(9).rng(), &mut model, 8_000);
        assert!(most <= most_files, "{more}: level 0 had {most} files");
        assert_has(&mut kv, &model, more);
        kv.close().expect("closes");
    }
}
