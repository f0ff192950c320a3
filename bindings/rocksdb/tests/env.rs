// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The crate `rocksdb` on a device: what is written is read, walked, compacted, and there when the device is opened again.

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{DB, Direction, Env, IteratorMode, Options, WriteOptions};
use std::path::Path;

fn options(env: &Env) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_env(env);
    options.set_write_buffer_size(1 << 20);
    options
}

fn value(key: u64) -> Vec<u8> {
    (0..100).map(|at| (key * 7 + at) as u8).collect()
}

fn has_all(db: &DB, keys: u64) {
    let mut next = 0_u64;
    for pair in db.iterator(IteratorMode::Start) {
        let (key, found) = pair.expect("reads");
        assert_eq!((&*key, &*found), (&next.to_be_bytes()[..], value(next).as_slice()));
        next += 1;
    }
    assert_eq!(next, keys);
    let last = db.iterator(IteratorMode::From(&7_u64.to_be_bytes(), Direction::Reverse)).next();
    assert_eq!(&*last.expect("is there").expect("reads").0, 7_u64.to_be_bytes());
}

fn fill(db: &DB, keys: u64) {
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    for key in 0..keys {
        db.put(key.to_be_bytes(), value(key)).expect("takes it");
    }
    db.put_opt(0_u64.to_be_bytes(), value(0), &synced).expect("takes it");
}

#[test]
fn a_device_in_memory() {
    let env = saker_rocksdb::env::open("mem:?size=1GiB&blocks=512MiB").expect("opens");
    {
        let db = DB::open(&options(&env), "/db").expect("opens");
        fill(&db, 100_000);
        db.compact_range::<&[u8], &[u8]>(None, None);
        has_all(&db, 100_000);
        Checkpoint::new(&db).and_then(|c| c.create_checkpoint("/copy")).expect("copies");
    }
    for path in ["/db", "/copy"] {
        has_all(&DB::open(&options(&env), path).expect("opens again"), 100_000);
    }
}

fn image(path: &Path) -> String {
    let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(128 << 20), block_bytes: 2048 }];
    saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(512 << 20, "tiny", 1) }
        .create(path)
        .expect("creates");
    let url = format!("file:{}", path.display());
    saker_files::make(&url, None).expect("makes");
    url
}

#[test]
fn an_image_that_is_opened_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = image(&folder.path().join("disk.img"));
    for keys in [20_000, 30_000] {
        let env = saker_rocksdb::env::open(&url).expect("opens");
        let db = DB::open(&options(&env), "/db").expect("opens");
        fill(&db, keys);
        has_all(&db, keys);
    }
    assert!(saker_files::check(&url).expect("is sound").problems.is_empty());
}

#[test]
fn what_cannot_be_opened_is_told() {
    let told = saker_rocksdb::env::open("file:/nowhere/disk.img").map(|_| ()).expect_err("there is none");
    assert!(told.text.contains("/nowhere/disk.img"), "{}", told.text);
}
