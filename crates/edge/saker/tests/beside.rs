// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merges that a thread computes beside the device, behind every door, and what else happens to a store meanwhile.

use crate::support::put_off::{Model, assert_has, counter, level0, write, write_blindly};
use saker::{EngineKind, ImagePlan, Kv, Settings};
use saker_sim::Seed;
use saker_testing::seeds;
use std::path::Path;
use std::time::Duration;

/// Merges are due early, so that the thread always has something to do.
const OPTIONS: &str =
    "write_buffer_size=128KiB&level0_slowdown_writes_trigger=6&level0_stop_writes_trigger=10";

fn in_memory(more: &str) -> String {
    format!("mem:?size=128MiB&profile=tiny&engine=lsm&min_blob_size=unlimited&{OPTIONS}{more}")
}

fn image(path: &Path) -> String {
    let known = EngineKind::LSM.settings().iter().find(|setting| setting.name == "min_blob_size");
    let unlimited = known.expect("a setting").parse("unlimited", |_| None).expect("a word of it");
    let settings = Settings::told(&[("min_blob_size", unlimited)]);
    let plan = ImagePlan { engine: EngineKind::LSM, settings, ..ImagePlan::kv(128 << 20, "tiny", 1) };
    plan.create(path).expect("creates");
    format!("file:{}?{OPTIONS}", path.display())
}

/// Threads of this process that compute merges. Other tests have theirs, too.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "saker-merges").count()
}

#[test]
fn a_thread_begins_with_the_first_merge_and_only_where_it_is_wanted() {
    // What runs beside this test has such threads as well, so it is a process of its own.
    let program = std::env::current_exe().expect("this program");
    let child = std::process::Command::new(program).args(["beside::child", "--exact", "--ignored"]).output();
    let output = child.expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "the parent starts it alone in its process"]
#[cfg(target_os = "linux")]
fn child() {
    for (more, merges) in [
        ("&background_threads=1", 1),
        ("&background_threads=0", 0),
        ("&background_threads=1&threads=1", 1),
        ("&background_threads=1&fault.program=1/100000", 1),
        ("&fault.program=1/100000", 0),
    ] {
        let mut kv = Kv::open(&in_memory(more)).expect("opens");
        assert_eq!(threads(), 0, "{more}: nothing was merged");
        let mut model = Model::new();
        write(&mut kv, &mut Seed(1).rng(), &mut model, 10_000);
        assert_eq!(threads(), merges, "{more}");
        assert_has(&mut kv, &model, more);
        kv.close().expect("closes");
        assert_eq!(threads(), 0, "{more}: it ends with the device");
    }
}

/// Scans, batches, deletes, flushes and formats while merges are computed.
#[test]
fn everything_goes_on_while_merges_are_computed() {
    for (seed, more) in seeds(1).zip(["", "&threads=1"].into_iter().cycle()).chain([(5, "&threads=1")]) {
        let mut kv = Kv::open(&in_memory(&format!("&background_threads=1{more}"))).expect("opens");
        let (mut rng, mut model) = (Seed(seed).child("beside").rng(), Model::new());
        for round in 0..4 {
            write(&mut kv, &mut rng, &mut model, 6_000);
            assert_has(&mut kv, &model, &format!("round {round}, seed {seed}"));
            if round % 2 == 1 {
                kv.format().expect("formats");
                model.clear();
                assert_has(&mut kv, &model, "formatted");
            }
        }
        kv.close().expect("closes");
    }
}

/// An image is closed, or dropped, while merges are computed: each time it has all that was acknowledged.
#[test]
fn an_image_keeps_all_however_it_is_left() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    let url = image(&path);
    let (mut rng, mut model) = (Seed(3).child("beside").rng(), Model::new());
    for life in 0..12 {
        let more =
            ["&background_threads=1", "&background_threads=1&threads=1", "&background_threads=0"][life % 3];
        let mut kv = Kv::open(&format!("{url}{more}")).expect("opens");
        assert_has(&mut kv, &model, &format!("life {life}"));
        write(&mut kv, &mut rng, &mut model, 1_000 + 700 * life as u32);
        if life % 2 == 0 {
            kv.close().expect("closes");
        }
    }
    let findings = saker::image::check(&path, &mut |_| {}).expect("is looked at").findings;
    assert!(findings.is_empty(), "{findings:?}");
}

/// A device with a thread of its own goes on by itself until nothing is due, also where another one computes.
#[test]
fn an_idle_device_ends_what_is_computed() {
    // Level 0 may have many files here before writes merge them.
    let options = "min_blob_size=unlimited&write_buffer_size=64KiB&background_threads=1&threads=1";
    let mut kv = Kv::open(&format!("mem:?size=128MiB&profile=tiny&engine=lsm&{options}")).expect("opens");
    let mut model = Model::new();
    write_blindly(&mut kv, &mut Seed(7).rng(), &mut model, 20_000);
    // Each look lets the device go on a step, so there are few of them: merges take many more.
    let is_in_order = (0..10).any(|_| {
        std::thread::sleep(Duration::from_millis(500));
        level0(&mut kv) < 4 && counter(&mut kv, "num_running_compactions") == 0
    });
    assert!(is_in_order, "level 0 has {} files", level0(&mut kv));
    assert_has(&mut kv, &model, "by itself");
    kv.close().expect("closes");
}

/// A full device waits for the thread: it takes every delete, and as many pairs again.
#[test]
fn a_full_device_waits_for_merges() {
    let url = "mem:?size=16MiB&profile=tiny&engine=lsm&min_blob_size=unlimited&background_threads=1";
    let mut kv = Kv::open(&format!("{url}&{OPTIONS}")).expect("opens");
    let name = |n: u32| (n.wrapping_mul(2_654_435_761)).to_be_bytes();
    let fill = |kv: &mut Kv| (0..).find(|n| kv.put(&name(*n), &[7; 200]).is_err()).expect("it is full once");
    let first = fill(&mut kv);
    (0..first).for_each(|n| assert!(kv.delete(&name(n)).is_ok(), "{n} of {first}"));
    let again = fill(&mut kv);
    assert!(again * 100 >= first * 98, "{again} of {first}");
    kv.close().expect("closes");
}
