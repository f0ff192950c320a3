// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merges that an LSM store with values in its tree puts off while writes come, behind every door: what was put off, and what else happens to
//! a store meanwhile.

mod backup;
mod shards;
mod snapshots;
mod transactions;

use crate::support::put_off::{Model, PUT_OFF_MAX, TRIGGER, assert_has, level0, read_in_order, write};
use saker::{EngineKind, ImagePlan, Kv, Settings};
use saker_sim::Seed;
use saker_testing::seeds;
use std::time::{Duration, Instant};

/// What a thread beside the device has done when anybody looks would be chance.
const OPTIONS: &str = "write_buffer_size=256KiB&min_blob_size=unlimited&background_threads=0";

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
        let url = format!("file:{}?write_buffer_size=256KiB&background_threads=0", path.display());
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
