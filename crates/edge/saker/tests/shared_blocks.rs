// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace that several threads share, in this process: in memory and on images, on the callers' threads, on one of its own, in real time.

use crate::shared_block_cases::{everything, until_it_ends};
use saker::{Block, ImagePlan, NamespacePlan, SharedBlock};
use saker_testing::{seeds, tier};
use std::path::Path;
use std::time::Duration;

const HOW: [&str; 5] = ["", "&depth=1", "&threads=1", "&threads=1&depth=3", "&timing=real"];

fn image(dir: &Path, block_bytes: u32) -> String {
    let path = dir.join("disk.img");
    let namespaces = vec![NamespacePlan::Block { bytes: Some(4 << 20), block_bytes }];
    ImagePlan { namespaces, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("made");
    format!("file:{}?nsid=1", path.display())
}

fn open(url: &str) -> SharedBlock {
    Block::open(url).unwrap_or_else(|error| panic!("{url}: {error}")).share()
}

#[test]
fn each_thread_finds_what_it_wrote() {
    for seed in seeds(tier(2, 60)) {
        for how in HOW {
            let disk = open(&format!("mem:?blocks=4MiB&size=16MiB&profile=tiny&seed={seed}{how}"));
            everything(&disk, seed, 60);
            disk.close().expect("closes");
        }
    }
}

#[test]
fn an_image_has_what_all_threads_wrote() {
    for (n, how) in HOW.into_iter().enumerate() {
        let dir = tempfile::tempdir().expect("a folder");
        let url = image(dir.path(), [512, 2048][n % 2]);
        let disk = open(&format!("{url}{how}"));
        let all = everything(&disk, n as u64, 60);
        disk.close().expect("closes");
        let mut out = vec![1; all.len()];
        Block::open(&url).expect("opens again").read(0, &mut out).expect("reads");
        assert!(out == all, "{how}");
    }
}

#[test]
fn who_closes_ends_what_the_others_wait_for() {
    for how in HOW {
        let disk = open(&format!("mem:?blocks=4MiB&size=16MiB&profile=tiny{how}"));
        until_it_ends(&disk, 1, |disk| {
            std::thread::sleep(Duration::from_millis(20));
            disk.close().expect("closes");
        });
        let told = disk.flush().expect_err("it is closed").to_string();
        assert_eq!(told, "the device is closed; open it again");
        assert!(disk.close().is_err() && disk.lag().is_none() && disk.stats().is_none());
    }
}

#[test]
fn a_power_cut_is_told_to_each() {
    // A device that keeps time answers nothing without power: who waits is told so after a minute.
    for how in HOW.into_iter().filter(|how| !how.contains("real")) {
        let url = format!("mem:?blocks=4MiB&size=16MiB&profile=tiny&fault.cut=90{how}");
        assert!(until_it_ends(&open(&url), 2, |_| ()) > 0, "{url}");
    }
}

#[test]
fn a_failed_read_is_told_to_its_caller_alone() {
    let disk = open("mem:?blocks=4MiB&size=16MiB&profile=tiny&threads=1&fault.read=1/20");
    let data = vec![7; 64 * disk.block_bytes() as usize];
    for n in 0..8 {
        disk.write(n * 64, &data).expect("writes");
    }
    disk.flush().expect("flushes");
    let failed: u32 = std::thread::scope(|scope| {
        let started = (0..4_u64).map(|n| {
            let (disk, data) = (disk.clone(), &data);
            scope.spawn(move || {
                let mut failed = 0;
                for turn in 0..100 {
                    let mut out = vec![1; data.len()];
                    match disk.read((n + turn) % 8 * 64, &mut out) {
                        Ok(()) => assert!(out == *data),
                        Err(_) => failed += 1,
                    }
                }
                failed
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert!(failed > 0, "{failed} of 400");
}

#[test]
fn ranges_are_checked_as_by_one_thread() {
    let url = "mem:?blocks=4MiB&size=16MiB&profile=tiny";
    let (mut alone, disk) = (Block::open(url).expect("opens"), open(url));
    let (bytes, blocks) = (disk.block_bytes() as usize, disk.blocks());
    assert_eq!((alone.block_bytes(), alone.blocks()), (disk.block_bytes(), blocks));
    let block = vec![1; bytes];
    for (first, bytes) in [(blocks, bytes), (blocks - 1, 2 * bytes), (u64::MAX, bytes), (0, bytes - 1)] {
        let mut out = vec![0; bytes];
        let told = [
            alone.read(first, &mut out).expect_err("refused").to_string(),
            disk.read(first, &mut out).expect_err("refused").to_string(),
            disk.write(first, &out).expect_err("refused").to_string(),
        ];
        assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
    }
    assert_eq!(
        alone.trim(blocks, 1).expect_err("refused").to_string(),
        disk.trim(blocks, 1).expect_err("refused").to_string()
    );
    disk.write(0, &[]).expect("nothing");
    disk.read_at(0, &mut []).expect("nothing");
    disk.trim(blocks, 0).expect("nothing");
    disk.write(blocks - 1, &block).expect("the last one");
    assert!(disk.stats().is_some_and(|stats| stats.namespaces.iter().any(|n| n.blocks_written == 1)));
}
