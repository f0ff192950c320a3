// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks whose map lies on flash: in memory, in images, and how they are asked for.

use saker::{Block, ImagePlan, NamespaceKind, NamespacePlan, PlanError, grow_image, image, repair_image};
use saker_flash::page_map::PageMapConfig;
use saker_sim::Seed;
use saker_testing::tier;

const BLOCK: usize = 512;
const BLOCKS: u64 = 4096;

fn plan(map_cache_bytes: u64) -> ImagePlan {
    let bytes = Some(BLOCKS * BLOCK as u64);
    let namespaces = vec![NamespacePlan::BlockOnFlash { bytes, block_bytes: BLOCK as u32, map_cache_bytes }];
    ImagePlan { namespaces, ..ImagePlan::kv(16 << 20, "tiny", 1) }
}

fn block(stamp: u32) -> Vec<u8> {
    if stamp == 0 { vec![0; BLOCK] } else { stamp.to_le_bytes().repeat(BLOCK / 4) }
}

/// Writes, trims and flushes anywhere; the model follows.
fn work(disk: &mut Block, model: &mut [u32], seed: u64, operations: u32) {
    let mut rng = Seed(seed).child("blocks").rng();
    let blocks = model.len() as u64;
    for n in 1..=operations {
        let at = rng.below(blocks);
        match rng.below(40) {
            0 => {
                let count = (1 + rng.below(300)).min(blocks - at);
                disk.trim(at, count).expect("trims");
                model[at as usize..(at + count) as usize].fill(0);
            }
            1 => disk.flush().expect("flushes"),
            2..=12 => {
                let mut seen = vec![1; BLOCK];
                disk.read(at, &mut seen).expect("reads");
                assert!(seen == block(model[at as usize]), "block {at}");
            }
            _ => {
                let stamp = n + seed as u32 * 1_000_000;
                disk.write(at, &block(stamp)).expect("writes");
                model[at as usize] = stamp;
            }
        }
    }
}

fn all(disk: &mut Block, model: &[u32]) {
    let mut seen = vec![1; BLOCK * model.len()];
    disk.read(0, &mut seen).expect("reads");
    let wrong = seen.chunks(BLOCK).zip(model).position(|(seen, stamp)| *seen != block(*stamp));
    assert_eq!(wrong, None, "the first block that is not what it was");
}

#[test]
fn in_memory_they_hold_what_was_written() {
    for timing in ["", "&timing=real"] {
        let url = format!("mem:?profile=tiny&size=16MiB&blocks=2MiB&map_cache=2KiB{timing}");
        let mut disk = Block::open(&url).expect("opens");
        let mut model = vec![0; disk.blocks() as usize];
        let block_bytes = disk.block_bytes() as usize;
        let operations = if timing.is_empty() { tier(8000, 80_000) } else { 300 };
        if block_bytes == BLOCK {
            work(&mut disk, &mut model, 1, operations);
            all(&mut disk, &model);
        } else {
            for n in 0..u64::from(operations) {
                let at = n * 37 % disk.blocks();
                disk.write(at, &vec![n as u8; block_bytes]).expect("writes");
                let mut seen = vec![0; block_bytes];
                disk.read(at, &mut seen).expect("reads");
                assert!(seen.iter().all(|byte| *byte == n as u8), "block {at}{timing}");
            }
        }
        disk.close().expect("closes");
    }
}

/// Over and over, with the smallest table and a larger one.
#[test]
fn an_image_keeps_them_and_their_table() {
    for cache in [2 << 10, 16 << 10] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        let made = plan(cache).create(&path).expect("creates");
        let kind = NamespaceKind::Block { block_bytes: BLOCK as u32, blocks: BLOCKS, map_cache_bytes: cache };
        assert_eq!(made.namespaces[0].kind, kind);
        let url = format!("file:{}", path.display());
        let mut model = vec![0; BLOCKS as usize];
        for seed in 1..5 {
            let mut disk = Block::open(&url).expect("opens");
            all(&mut disk, &model);
            work(&mut disk, &mut model, seed, tier(4000, 40_000));
            all(&mut disk, &model);
            disk.close().expect("closes");
        }
        let mut disk = Block::open(&format!("{url}?readonly")).expect("opens");
        all(&mut disk, &model);
        disk.close().expect("closes");
        let verified = saker::verify_image(&path, &mut |_| {}).expect("checks");
        assert!(verified.report.is_sound(), "nothing is wrong");
        let counters = &verified.namespaces[0].counters;
        assert!(counters.iter().any(|(name, _)| *name == "translation_reads"), "{counters:?}");
    }
}

/// What a process leaves that ends without closing, with most of the map in memory only.
#[test]
fn an_image_that_was_not_closed_grows_is_repaired_and_formatted() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, new) = (dir.path().join("disk.img"), dir.path().join("new.img"));
    plan(2 << 10).create(&path).expect("creates");
    let url = |path: &std::path::Path| format!("file:{}", path.display());
    let mut model = vec![0; BLOCKS as usize];
    let mut disk = Block::open(&url(&path)).expect("opens");
    work(&mut disk, &mut model, 1, 6000);
    drop(disk);
    grow_image(&path, 24 << 20, None, &mut |_| {}).expect("grows");
    let config = image::open(&path, image::Access::Read).expect("opens").config;
    let (g, quota) = (config.geometry, config.namespaces[0].quota_segments);
    let in_memory = PageMapConfig::new(1, &g, quota, config.capacitor, BLOCK as u32);
    let mut disk = Block::open(&url(&path)).expect("opens");
    assert_eq!(disk.blocks(), in_memory.with_map_cache(&g, quota, 2 << 10).blocks, "beside the map");
    assert!((2 * BLOCKS..1 << 16).contains(&disk.blocks()), "all that the larger flash carries");
    model.resize(disk.blocks() as usize, 0);
    all(&mut disk, &model);
    // All of them are there, again and again.
    for (round, lba) in (1..4).flat_map(|round| (0..1 << 16).map(move |n| (round, n * 7919 % (1 << 16)))) {
        if let Some(stamp) = model.get_mut(lba) {
            *stamp = round;
            disk.write(lba as u64, &block(round)).expect("writes");
        }
    }
    all(&mut disk, &model);
    work(&mut disk, &mut model, 2, 6000);
    drop(disk);
    let losses = repair_image(&path, &new, &mut |_| {}).expect("repairs");
    assert!(losses.namespaces.iter().all(|losses| losses.lost.is_empty() && losses.unknown.is_empty()));
    for path in [&path, &new] {
        let cache =
            image::open(path, image::Access::Read).expect("opens").config.namespaces[0].map_cache_bytes();
        assert_eq!(cache, 2 << 10);
        let mut disk = Block::open(&url(path)).expect("opens");
        all(&mut disk, &model);
        disk.format().expect("formats");
        let mut model = vec![0; model.len()];
        all(&mut disk, &model);
        work(&mut disk, &mut model, 3, 6000);
        drop(disk);
        let mut disk = Block::open(&url(path)).expect("opens");
        all(&mut disk, &model);
        disk.close().expect("closes");
    }
}

#[test]
fn a_table_that_is_too_small_or_too_large_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for cache in [0, 1, 1 << 40] {
        let error = plan(cache).create(&dir.path().join("disk.img")).expect_err("makes no sense");
        let saker::Error::Plan(PlanError::MapCache { least, most }) = error else { panic!("{error}") };
        assert!(least > cache || most < cache, "{least} to {most}");
    }
    for (url, words) in [
        ("mem:?map_cache=64KiB", "map_cache without blocks; give blocks=SIZE, too"),
        ("mem:?blocks=1MiB&map_cache=0", "write the memory of the cached mapping table"),
        ("file:x?map_cache=64KiB", "an image has its own"),
    ] {
        let error = saker::DeviceUrl::parse(url).expect_err("makes no sense").to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Programs that do not know of it refuse such an image, and no other.
#[test]
fn the_header_of_an_image_says_that_a_map_is_on_flash() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (with, without) = (dir.path().join("with.img"), dir.path().join("without.img"));
    plan(2 << 10).create(&with).expect("creates");
    ImagePlan::kv(16 << 20, "tiny", 1).create(&without).expect("creates");
    let incompatible = |path| std::fs::read(path).expect("an image")[16];
    assert_eq!([incompatible(&with) & 8, incompatible(&without) & 8], [8, 0]);
    let opened = image::open(&with, image::Access::Read).expect("opens");
    assert_eq!(opened.config.namespaces[0].map_cache_bytes(), 2 << 10);
}
