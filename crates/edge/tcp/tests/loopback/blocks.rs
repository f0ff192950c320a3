// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block namespaces over the network.

use saker::{Block, EngineKind, ImagePlan, Kv, NamespacePlan};

use crate::loopback::support::{serve, url, value};

/// An image with pairs and blocks of 4 KiB, whose map is in memory, or on flash with so small a table.
fn image(dir: &tempfile::TempDir, map_cache_bytes: Option<u64>) -> String {
    let path = dir.path().join("both.img");
    let bytes = Some(32 << 20);
    let blocks = match map_cache_bytes {
        None => NamespacePlan::Block { bytes, block_bytes: 4096 },
        Some(map_cache_bytes) => NamespacePlan::BlockOnFlash { bytes, block_bytes: 4096, map_cache_bytes },
    };
    let namespaces = vec![NamespacePlan::Kv { flash_bytes: None }, blocks];
    let plan = ImagePlan { namespaces, ..ImagePlan::kv(1 << 30, "default", 1) };
    plan.create(&path).expect("an image");
    format!("file:{}", path.display())
}

#[test]
fn blocks_and_pairs_of_one_target() {
    write_and_read(None);
}

#[test]
fn blocks_whose_map_is_on_flash_and_pairs_of_one_target() {
    write_and_read(Some(4 << 10));
}

fn write_and_read(map_cache_bytes: Option<u64>) {
    let dir = tempfile::tempdir().expect("a directory");
    let device = image(&dir, map_cache_bytes);
    let server = serve(&device);
    for digest in ["none", "both"] {
        let options = format!("nsid=2&digest={digest}");
        let mut disk = Block::open(&url(&server, &options)).expect("the block namespace");
        assert_eq!((disk.block_bytes(), disk.blocks()), (4096, 8192));
        for (first, blocks) in [(0_u64, 1_usize), (7, 2), (100, 16), (500, 256)] {
            let stored = value(first as u32, blocks as u32, blocks * 4096);
            disk.write(first, &stored).expect("written");
            let mut seen = vec![0; stored.len()];
            disk.read(first, &mut seen).expect("read");
            assert!(seen == stored, "{blocks} blocks from {first}, digest {digest}");
            let inner = &mut seen[..blocks * 4096 - 1001];
            disk.read_at(first * 4096 + 1000, inner).expect("read");
            assert!(*inner == stored[1000..stored.len() - 1], "bytes of {blocks} blocks from {first}");
        }
        disk.trim(7, 1).expect("trimmed");
        let mut seen = [1; 8192];
        disk.read(7, &mut seen).expect("read");
        let second = value(7, 2, 8192)[4096..].to_vec();
        assert!(seen[..4096] == [0; 4096] && seen[4096..] == second, "trimmed blocks read as zeros");
        assert!(disk.write(8192, &[0; 4096]).is_err(), "behind the end");
        disk.flush().expect("flushed");
        disk.close().expect("closed");
    }
    let mut kv = Kv::open(&url(&server, "")).expect("the pairs");
    kv.put(b"key", b"value").expect("stored");
    kv.close().expect("closed");
    server.stop().expect("stopped");
    let mut disk = Block::open(&format!("{device}?nsid=2")).expect("reopened");
    let mut seen = vec![0; 256 * 4096];
    disk.read(500, &mut seen).expect("read");
    assert!(seen == value(500, 256, 256 * 4096), "what the network wrote is on the image");
}

/// A value lands as a whole, beside the pages that all streams of both namespaces hold open: a map on flash has one more of them.
#[test]
fn the_longest_values_land_beside_blocks_whose_map_is_on_flash() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("both.img");
        let blocks =
            NamespacePlan::BlockOnFlash { bytes: Some(2 << 20), block_bytes: 512, map_cache_bytes: 2 << 10 };
        let namespaces = vec![NamespacePlan::Kv { flash_bytes: None }, blocks];
        let plan = ImagePlan { engine, namespaces, ..ImagePlan::kv(32 << 20, "tiny", 1) };
        plan.create(&path).expect("an image");
        let server = serve(&format!("file:{}", path.display()));
        let mut disk = Block::open(&url(&server, "nsid=2")).expect("the blocks");
        let mut kv = Kv::open(&url(&server, "")).expect("the pairs");
        let longest = kv.client().value_bytes_max() as usize;
        for n in 0..400_u32 {
            for block in 0..30 {
                let lba = (n * 30 + block) * 37 % 4096;
                disk.write(lba.into(), &value(n, block, 512)).expect("written");
            }
            kv.put(&(n % 7).to_be_bytes(), &value(n, 1, longest)).expect("it finds room");
            kv.put(&[9, n as u8], &value(n, 2, 100)).expect("it finds room");
            if n % 3 == 0 {
                kv.delete(&[9, n as u8]).expect("deleted");
            }
        }
        for n in 393..400_u32 {
            let found = kv.get(&(n % 7).to_be_bytes()).expect("read");
            assert!(found == Some(value(n, 1, longest)), "{}: {n}", engine.name());
        }
        kv.close().expect("closed");
        disk.close().expect("closed");
        server.stop().expect("stopped");
    }
}
