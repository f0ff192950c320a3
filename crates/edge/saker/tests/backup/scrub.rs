// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scrubs find what was spoilt, also beside a writer, and nothing else.

use super::rig::{fill, image, joined, url};
use crate::support::{key, value};
use saker::image::Severity;
use saker::{Block, EngineKind, Kv, ScrubNews, scrub, verify_image};
use saker_testing::tier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn found(url: &str) -> (u64, Vec<String>) {
    let mut damage = Vec::new();
    let done = scrub(url, None, &mut |news| {
        if let ScrubNews::Damage(what) = news {
            damage.push(what.to_owned());
        }
        true
    });
    let done = done.expect("reads");
    assert!(done.is_whole && done.damaged == damage.len() as u64);
    (done.sound, damage)
}

#[test]
fn it_says_what_a_check_says() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        joined(&path, *engine);
        let mut kv = Kv::open(&url(&path)).expect("opens");
        fill(&mut kv, 0..400, 1);
        kv.close().expect("closes");
        let mut disk = Block::open(&url(&path)).expect("opens");
        disk.write(3, &[7; 5 * 512]).expect("writes");
        disk.close().expect("closes");
        let (good, mut damaged) = (std::fs::read(&path).expect("reads"), 0);
        let report = verify_image(&path, &mut |_| {}).expect("reads").report;
        assert_eq!(found(&url(&path)), (report.counts.pages_sound, Vec::new()), "{}", engine.name());
        // Behind the header: epochs, ring, pages.
        let written: Vec<usize> = (8192..good.len()).filter(|at| good[*at] != 0).collect();
        for at in written.iter().step_by(written.len() / tier(3, 200)) {
            let mut bad = good.clone();
            bad[*at] ^= 0x10;
            std::fs::write(&path, &bad).expect("writes");
            let report = verify_image(&path, &mut |_| {}).expect("reads").report;
            let damage = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
            let mut checked: Vec<String> = damage.map(|finding| finding.what.clone()).collect();
            let mut scrubbed = found(&url(&path)).1;
            checked.sort();
            scrubbed.sort();
            assert_eq!(scrubbed, checked, "{} byte {at}", engine.name());
            damaged += checked.len();
        }
        assert!(damaged > 0, "{}", engine.name());
    }
}

/// Ends the writer however the scrubs end: the scope waits for it.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn beside_a_writer_it_finds_nothing_but_damage() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        image(&path, *engine, 4 << 20);
        let (url, stop, is_open) = (url(&path), AtomicBool::new(false), AtomicBool::new(false));
        let (mut passes, begun) = (0, Instant::now());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut kv = Kv::open(&url).expect("opens");
                is_open.store(true, Ordering::Relaxed);
                for n in 0u32.. {
                    // Over and over the same keys, so that segments are collected and erased all the time.
                    kv.put(&key(n % 300), &value(n % 300, u64::from(n), 700)).expect("stores");
                    if n % 20_000 == 19_999 {
                        kv.format().expect("formats");
                    }
                    if stop.load(Ordering::Relaxed) && n > 1000 {
                        break;
                    }
                }
                kv.close().expect("closes");
            });
            // A scrub of an image that nobody has open is a reader of it, and keeps writers out.
            while !is_open.load(Ordering::Relaxed) && !writer.is_finished() {
                std::thread::yield_now();
            }
            let _ends = Ends(&stop);
            // A busy machine may take all of the time for one pass.
            while passes < 2 || begun.elapsed() < Duration::from_millis(tier(100, 60_000)) {
                let (_, damage) = found(&url);
                assert_eq!(damage, Vec::<String>::new(), "{} pass {passes}", engine.name());
                passes += 1;
            }
        });
        // The same beside a writer, with a page that is spoilt while the device is open: the last thing of the writer may have been
        // a Format, and pages of erased segments keep their bytes. So the spoilt pair is stored now, with enough behind it that its
        // page is programmed.
        let mut kv = Kv::open(&url).expect("opens");
        let marked: Vec<u8> = (0..=255).rev().collect();
        kv.put(b"marked", &marked).expect("stores");
        fill(&mut kv, 0..300, 2);
        let bytes = std::fs::read(&path).expect("reads");
        let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&marked)).collect();
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("opens");
        for at in &places {
            std::os::unix::fs::FileExt::write_at(&file, &[!bytes[*at]], *at as u64).expect("writes");
        }
        let damage = found(&url).1;
        // One, or one for each copy of a collection whose source is not erased yet.
        assert!((1..=places.len()).contains(&damage.len()), "{}: {places:?}, {damage:?}", engine.name());
    }
}

#[test]
fn a_rate_is_kept_and_a_scrub_can_be_ended() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    image(&path, EngineKind::HASH_STORE, 4 << 20);
    let mut kv = Kv::open(&url(&path)).expect("opens");
    fill(&mut kv, 0..600, 1);
    kv.close().expect("closes");
    let whole = scrub(&url(&path), None, &mut |_| true).expect("reads");
    let begun = Instant::now();
    scrub(&url(&path), Some(whole.bytes * 4), &mut |_| true).expect("reads");
    assert!(begun.elapsed() >= Duration::from_millis(240), "a quarter of a second: {:?}", begun.elapsed());
    let begun = Instant::now();
    let mut looks = 0;
    let ended = scrub(&url(&path), Some(1), &mut |_| {
        looks += 1;
        looks < 3
    });
    let ended = ended.expect("reads");
    assert!(!ended.is_whole && ended.sound == 1 && begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_device_without_a_file_is_read_pair_by_pair() {
    let (sound, damage) = found("mem:?size=8MiB&profile=tiny&engine=lsm&blocks=1MiB");
    assert_eq!((sound, damage), (0, Vec::new()));
}
