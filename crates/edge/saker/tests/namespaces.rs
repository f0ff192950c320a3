// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images with several namespaces: how flash is divided, and that pairs and blocks keep apart.

use crate::support;

use saker::{Block, Error, ImagePlan, Kv, NamespaceKind, NamespacePlan, PlanError, verify_image};
use saker_testing::tier;
use std::path::{Path, PathBuf};
use support::{is_soak, key, value};
use tempfile::TempDir;

const KV: NamespacePlan = NamespacePlan::Kv { flash_bytes: None };

fn plan(bytes: Option<u64>, namespaces: &[NamespacePlan]) -> ImagePlan {
    ImagePlan { namespaces: namespaces.to_vec(), bytes, ..ImagePlan::kv(0, "tiny", 3) }
}

fn image(namespaces: &[NamespacePlan]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    plan(Some(32 << 20), namespaces).create(&path).expect("creates");
    (dir, path)
}

fn block(bytes: u64, block_bytes: u32) -> NamespacePlan {
    NamespacePlan::Block { bytes: Some(bytes), block_bytes }
}

fn url(path: &Path, nsid: u32) -> String {
    format!("file:{}?nsid={nsid}", path.display())
}

#[test]
fn pairs_and_blocks_keep_apart() {
    let (_dir, path) = image(&[KV, block(4 << 20, 512), NamespacePlan::Kv { flash_bytes: Some(8 << 20) }]);
    for round in 0..3 {
        for nsid in [1, 3] {
            let mut kv = Kv::open(&url(&path, nsid)).expect("opens");
            for n in 0..200 {
                let version = u64::from(nsid) * 100 + round;
                kv.put(&key(n), &value(n, version, 700)).expect("puts");
            }
            kv.close().expect("closes");
        }
        let mut disk = Block::open(&url(&path, 2)).expect("opens");
        disk.write(round * 10, &value(0, round, 5120)).expect("writes");
        disk.close().expect("closes");
    }
    for nsid in [1, 3] {
        let mut kv = Kv::open(&url(&path, nsid)).expect("opens");
        assert_eq!(kv.list(None).count(), 200);
        for n in 0..200 {
            let expected = value(n, u64::from(nsid) * 100 + 2, 700);
            assert_eq!(kv.get(&key(n)).expect("gets"), Some(expected), "namespace {nsid}");
        }
        kv.close().expect("closes");
    }
    let mut disk = Block::open(&url(&path, 2)).expect("opens");
    let mut all = vec![1; 31 * 512];
    disk.read(0, &mut all).expect("reads");
    let expected: Vec<u8> = (0..3).flat_map(|round| value(0, round, 5120)).chain(vec![0; 512]).collect();
    assert!(all == expected, "blocks are as written, and zero where never written");
    disk.close().expect("closes");
    let found = verify_image(&path, &mut |_| {}).expect("checks");
    assert!(found.report.is_sound());
    let of = |n: usize| (found.namespaces[n].nsid, found.namespaces[n].kind, found.namespaces[n].store.pairs);
    assert_eq!([of(0), of(1), of(2)], [(1, "kv", 200), (2, "block", 0), (3, "kv", 200)]);
    assert_eq!(found.namespaces[1].live_bytes, 30 * 512);
}

/// Long transfers are many commands, of which several are in flight: fewer than the call wants where the queue is short.
#[test]
fn bytes_are_read_where_they_were_written_however_short_the_queue_is() {
    let (_dir, path) = image(&[block(4 << 20, 512)]);
    let mut model = vec![0; 4 << 20];
    for (round, options) in ["depth=1", "depth=3", "depth=64", "depth=3&threads=1"].into_iter().enumerate() {
        let mut disk = Block::open(&format!("file:{}?{options}", path.display())).expect("opens");
        let mut rng = saker_sim::Seed(round as u64).child("spans").rng();
        for n in 0..tier(12, 200) {
            let (at, blocks) =
                (rng.below(8000) as usize, 1 + rng.below(190).pow(2).div_ceil(190) as usize * 16);
            let blocks = blocks.min(8192 - at);
            let bytes = value(n as u32, round as u64, blocks as u32 * 512);
            disk.write(at as u64, &bytes).expect("writes");
            model[at * 512..][..bytes.len()].copy_from_slice(&bytes);
            for _ in 0..4 {
                let offset = rng.below(4 << 20) as usize;
                let mut seen = vec![1; (rng.below(2 << 20) as usize).min((4 << 20) - offset)];
                disk.read_at(offset as u64, &mut seen).expect("reads");
                assert!(
                    seen == model[offset..][..seen.len()],
                    "{} bytes from {offset}, {options}",
                    seen.len()
                );
            }
        }
        let behind = disk.read_at((4 << 20) - 1, &mut [0; 2]);
        assert!(matches!(behind, Err(Error::Range(_))), "{behind:?}");
        disk.read_at(4 << 20, &mut []).expect("nothing is behind the end");
        disk.close().expect("closes");
    }
}

#[test]
fn blocks_have_exactly_the_size_asked_for_and_all_of_it_can_be_rewritten() {
    let (_dir, path) = image(&[block(6 << 20, 2048), KV]);
    let mut disk = Block::open(&url(&path, 1)).expect("opens");
    assert_eq!((disk.nsid(), disk.block_bytes(), disk.blocks()), (1, 2048, 3072));
    let piece = value(1, 1, 1 << 20);
    for round in 0..if is_soak() { 100 } else { 4 } {
        for n in 0..6 {
            disk.write(n * 512, &piece).unwrap_or_else(|e| panic!("round {round}, {n}: {e}"));
        }
    }
    let mut back = vec![0; 1 << 20];
    disk.read(5 * 512, &mut back).expect("reads");
    assert!(back == piece);
    disk.trim(5 * 512, 512).expect("trims");
    disk.read(5 * 512, &mut back).expect("reads");
    assert!(back.iter().all(|b| *b == 0), "trimmed blocks read as zeros");
    for (first, bytes, words) in
        [(3072, 2048, "3072 blocks"), (u64::MAX, 2048, "3072 blocks"), (0, 100, "2048 bytes")]
    {
        let text = disk.write(first, &piece[..bytes]).expect_err("out of range").to_string();
        assert!(text.contains(words) && !text.contains('\n'), "{text}");
        assert!(matches!(disk.read(first, &mut back[..bytes]), Err(Error::Range(_))));
    }
    disk.close().expect("closes");
}

#[test]
fn the_namespace_is_the_one_asked_for() {
    let (_dir, path) = image(&[block(4 << 20, 512), KV, NamespacePlan::Kv { flash_bytes: Some(4 << 20) }]);
    let plain = format!("file:{}", path.display());
    // Without a number: the first of the kind.
    Kv::open(&plain).expect("opens").put(b"k", b"2").expect("puts");
    assert_eq!(Block::open(&plain).expect("opens").nsid(), 1);
    assert_eq!(Kv::open(&url(&path, 2)).expect("opens").get(b"k").expect("gets"), Some(b"2".to_vec()));
    assert_eq!(Kv::open(&url(&path, 3)).expect("opens").get(b"k").expect("gets"), None);
    let there = "the device has 1 (block), 2 (kv), 3 (kv)";
    let refused = |nsid| Kv::open(&url(&path, nsid)).map(|_| ()).expect_err("no pairs there").to_string();
    assert_eq!(refused(1), format!("namespace 1 is no key-value namespace; {there}"));
    assert_eq!(refused(9), format!("there is no namespace 9; {there}"));
    let refused = Block::open(&url(&path, 2)).map(|_| ()).expect_err("no blocks there").to_string();
    assert_eq!(refused, format!("namespace 2 is no block namespace; {there}"));
}

#[test]
fn plans_that_make_no_sense_leave_no_file() {
    let kv = |bytes| NamespacePlan::Kv { flash_bytes: Some(bytes) };
    for (bytes, namespaces, words) in [
        (Some(32 << 20), vec![], "0 namespaces are asked for; an image has 1 to 16"),
        (Some(32 << 20), vec![kv(4 << 20); 17], "17 namespaces"),
        (Some(32 << 20), vec![KV, KV], "more than one namespace has no size"),
        (None, vec![KV, kv(1 << 20)], "give --size"),
        (Some(32 << 20), vec![kv(20 << 20), kv(20 << 20)], "larger --size or smaller namespaces"),
        (Some(32 << 20), vec![kv(10_000), KV], "namespace 1 would have 0B of flash and needs at least"),
        (
            Some(32 << 20),
            vec![block(4 << 20, 4096), KV],
            "blocks of 4096 bytes do not fit the pages of profile tiny; give 512 or 1024 or 2048",
        ),
        (Some(32 << 20), vec![block(4 << 20, 1000), KV], "give 512 or 1024 or 2048"),
        (Some(32 << 20), vec![block(4 << 20, 0), KV], "give 512 or 1024 or 2048"),
        (Some(32 << 20), vec![block(u64::MAX, 512), KV], "larger --size or smaller namespaces"),
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        let error = plan(bytes, &namespaces).create(&path).expect_err("makes no sense");
        let text = error.to_string();
        assert!(text.contains(words) && !text.contains('\n'), "{namespaces:?}: {text}");
        assert!(!path.exists(), "{text}");
    }
}

#[test]
fn without_a_size_the_image_is_as_large_as_its_namespaces_need() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let namespaces = [NamespacePlan::Kv { flash_bytes: Some(8 << 20) }, block(5_000_000, 1024)];
    let made = plan(None, &namespaces).create(&dir.path().join("disk.img")).expect("creates");
    let quotas: u64 = made.namespaces.iter().map(|n| u64::from(n.quota_segments)).sum();
    assert_eq!(made.flash_bytes, quotas * made.segment_bytes, "nothing is left over");
    assert_eq!(made.namespaces[0].quota_segments as u64 * made.segment_bytes, 8 << 20);
    assert_eq!(
        made.namespaces[1].kind,
        NamespaceKind::Block { block_bytes: 1024, blocks: 4882, map_cache_bytes: 0 }
    );
    assert!(made.flash_bytes < 20 << 20, "{}", made.flash_bytes);
    assert!(matches!(plan(None, &[KV]).create(&dir.path().join("x")), Err(Error::Plan(PlanError::NoSize))));
}
