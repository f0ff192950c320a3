// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format after a Flush, of a full device, of one of several namespaces, with iterators, caches and long keys.

use crate::format::rig::{
    directory, everywhere, fill, in_memory, is_empty, is_filled, on_image, open, short,
};
use crate::support::{key, value};
use saker::{Block, EngineKind, ImagePlan, KeyRange, Kv, NamespacePlan, Raw};
use saker_nvme::NSID_ALL;
use saker_nvme::admin::{FormatNvm, build};

/// A Flush vouches for slots of the ring; stores fill them, and they wait for a sync when the Format comes.
#[test]
fn after_a_flush_with_stores_behind_it() {
    everywhere(|place, what| {
        let mut kv = open(&place.url);
        for round in 0..3 {
            kv.put(b"first", b"one").expect("puts");
            kv.flush().expect("flushes");
            (0..40).for_each(|n| kv.put(&key(n), &value(n, round, 8000)).expect("puts"));
            kv.format().unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(is_empty(&mut kv, (0..40).map(key)), "{what}");
        }
        kv.put(b"after", b"format").expect("puts");
        kv.close().expect("closes");
        if place.is_image {
            let mut kv = open(&place.url);
            assert_eq!(kv.get(b"after").expect("gets").as_deref(), Some(&b"format"[..]), "{what}");
            assert_eq!(kv.list(None).count(), 1, "{what}");
        }
    });
}

#[test]
fn a_full_device_takes_as_much_again() {
    everywhere(|place, what| {
        let mut kv = open(&place.url);
        let pairs = fill(&mut kv, 1);
        kv.flush().expect("flushes");
        kv.format().expect("a full device is formatted");
        assert!(is_empty(&mut kv, (0..pairs).map(|n| short(n).to_vec())), "{what}");
        let again = fill(&mut kv, 2);
        assert!(again >= pairs, "{what}: {pairs} pairs when new, {again} after a Format");
        assert!(is_filled(&mut kv, 2, again), "{what}");
        kv.close().expect("closes");
        if place.is_image {
            let mut kv = open(&place.url);
            assert!(is_filled(&mut kv, 2, again), "{what}");
            kv.format().expect("an opened device is formatted");
            kv.close().expect("closes");
            let mut kv = open(&place.url);
            let last = fill(&mut kv, 3);
            assert!(last >= pairs, "{what}: {pairs} pairs when new, {last} after a Format and an opening");
        }
    });
}

#[test]
fn an_iterator_ends_and_long_keys_go() {
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        for place in [in_memory(engine), on_image(engine)] {
            let mut kv = open(&place.url);
            (0..200).for_each(|n| kv.put(&key(n), &value(n, 1, 500)).expect("puts"));
            let mut iterator =
                kv.open_iterator(&KeyRange::default()).expect("opens").expect("it has iterators");
            assert!(kv.next_pairs(&mut iterator, 10, false, None).is_ok());
            kv.format().expect("formats");
            assert!(kv.next_pairs(&mut iterator, 10, false, None).is_err(), "what it saw is no more");
            (0..200).for_each(|n| kv.put(&key(n), &value(n, 2, 500)).expect("puts"));
            assert!((0..200).all(|n| kv.get(&key(n)) == Ok(Some(value(n, 2, 500)))));
            kv.close().expect("closes");
        }
    }
}

#[test]
fn the_host_that_formats_has_nothing_cached() {
    everywhere(|place, what| {
        let mut kv = open(&format!("{}&cache=1MiB", place.url));
        (0..20).for_each(|n| kv.put(&short(n), b"old").expect("puts"));
        (0..20).for_each(|n| assert!(kv.get(&short(n)).expect("gets").is_some()));
        let hits = kv.cache_stats().hits;
        (0..20).for_each(|n| assert!(kv.get(&short(n)).expect("gets").is_some()));
        assert_eq!(kv.cache_stats().hits, hits + 20, "they are cached");
        kv.put_queued(&short(20), b"queued").expect("queues");
        kv.format().expect("formats");
        assert!(is_empty(&mut kv, (0..21).map(|n| short(n).to_vec())), "{what}");
    });
}

fn several(dir: &tempfile::TempDir, engine: EngineKind) -> String {
    let path = dir.path().join("disk.img");
    let kv = |bytes| NamespacePlan::Kv { flash_bytes: bytes };
    let block = NamespacePlan::Block { bytes: Some(2 << 20), block_bytes: 512 };
    let plan = ImagePlan {
        engine,
        namespaces: vec![kv(None), block, kv(Some(12 << 20))],
        ..ImagePlan::kv(0, "tiny", 1)
    };
    ImagePlan { bytes: Some(32 << 20), ..plan }.create(&path).expect("creates");
    format!("file:{}", path.display())
}

/// What each of the three namespaces holds: nothing, or everything of a version.
fn look(url: &str) -> [Option<u64>; 3] {
    [1, 2, 3].map(|nsid| if nsid == 2 { look_at_blocks(url) } else { look_at_pairs(url, nsid) })
}

fn look_at_pairs(url: &str, nsid: u32) -> Option<u64> {
    let mut kv = open(&format!("{url}?nsid={nsid}"));
    let first = kv.get(&key(0)).expect("gets");
    let version = (1..9).find(|v| first == Some(value(0, *v, 700)));
    let expected = |n: u32| version.map(|version| value(n, version, 700));
    assert!((0..50).all(|n| kv.get(&key(n)) == Ok(expected(n))), "namespace {nsid} holds a mixture");
    kv.close().expect("closes");
    version
}

fn look_at_blocks(url: &str) -> Option<u64> {
    let mut disk = Block::open(&format!("{url}?nsid=2")).expect("opens");
    let mut found = vec![1; 64 << 10];
    disk.read(0, &mut found).expect("reads");
    disk.close().expect("closes");
    let version = (1..9).find(|v| found == value(2, *v, 64 << 10));
    assert!(version.is_some() || found.iter().all(|b| *b == 0), "blocks hold a mixture");
    version
}

fn write_all(url: &str, version: u64) {
    for nsid in [1, 3] {
        let mut kv = open(&format!("{url}?nsid={nsid}"));
        (0..50).for_each(|n| kv.put(&key(n), &value(n, version, 700)).expect("puts"));
        kv.close().expect("closes");
    }
    let mut disk = Block::open(&format!("{url}?nsid=2")).expect("opens");
    disk.write(0, &value(2, version, 64 << 10)).expect("writes");
    disk.close().expect("closes");
}

/// Formats without going through a door that knows of it.
fn format_raw(url: &str, nsid: u32) {
    let mut raw = Raw::open(url).expect("opens");
    let command = FormatNvm { nsid, format_index: 0, secure_erase: 1 };
    let (status, ..) = raw.admin(build::format_nvm(&command), 0).expect("an answer");
    assert!(status.is_success(), "{status:?}");
    raw.close().expect("closes");
}

#[test]
fn one_namespace_of_several_or_all_of_them() {
    for engine in EngineKind::ALL {
        let dir = directory();
        let url = several(&dir, *engine);
        write_all(&url, 1);
        for (round, nsid) in [1, 2, 3].into_iter().enumerate() {
            let version = round as u64 + 2;
            write_all(&url, version);
            format_raw(&url, nsid);
            let left = [1, 2, 3].map(|other| (other != nsid).then_some(version));
            assert_eq!(look(&url), left, "{}: namespace {nsid} is formatted", engine.name());
        }
        write_all(&url, 7);
        format_raw(&url, NSID_ALL);
        assert_eq!(look(&url), [None; 3], "{}", engine.name());
        write_all(&url, 8);
        assert_eq!(look(&url), [Some(8); 3], "{}", engine.name());
    }
}

#[test]
fn blocks_that_wait_for_a_sync() {
    let dir = directory();
    let url = format!("{}?nsid=2", several(&dir, EngineKind::HASH_STORE));
    let mut disk = Block::open(&url).expect("opens");
    for version in 1..4 {
        disk.write(0, &value(0, version, 4096)).expect("writes");
        disk.flush().expect("flushes");
        (0..40).for_each(|n| disk.write(n * 16, &value(1, version, 8192)).expect("writes"));
        disk.format().expect("formats");
        let mut found = vec![1; disk.blocks() as usize * 512];
        disk.read(0, &mut found).expect("reads");
        assert!(found.iter().all(|b| *b == 0));
    }
    let all = value(9, 9, disk.blocks() as u32 * 512);
    disk.write(0, &all).expect("takes as much as ever");
    disk.close().expect("closes");
    let mut disk = Block::open(&url).expect("opens");
    let mut found = vec![0; all.len()];
    disk.read(0, &mut found).expect("reads");
    assert!(found == all);
}

/// Several shards are several devices: each is erased wholly.
#[test]
fn shards_on_their_threads() {
    for threads in [0, 1] {
        let mut kv =
            Kv::open(&format!("mem:?profile=tiny&size=64MiB&shards=3&threads={threads}")).expect("opens");
        (0..100).for_each(|n| kv.put(&key(n), &value(n, 1, 900)).expect("puts"));
        kv.format().expect("formats");
        assert!(is_empty(&mut kv, (0..100).map(key)));
        kv.put(b"k", b"v").expect("puts");
        kv.close().expect("closes");
    }
}
