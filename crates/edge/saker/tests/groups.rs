// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches and groups through the door for applications.

use crate::support::batches::of_every_shape;
use saker::{EngineKind, Kv};
use saker_host::group::{Form, Op};
use saker_host::{HostError, KvError, WriteBatch};
use saker_nvme::Key;
use std::collections::BTreeMap;

fn long(n: u32) -> Vec<u8> {
    format!("a key that no device takes as it is, number {n:03}").into_bytes()
}

fn open(options: &str) -> Kv {
    Kv::open(&format!("mem:?size=512MiB&profile=default{options}")).expect("opens")
}

#[test]
fn a_batch_is_written_and_read_back() {
    for options in ["", "&threads=1"] {
        let mut kv = open(options);
        let mut model = BTreeMap::new();
        let mut batch = WriteBatch::new();
        for n in 0..3000_u32 {
            let key = if n % 10 == 0 { long(n) } else { n.to_be_bytes().to_vec() };
            batch.put(&key, &vec![n as u8; n as usize % 300]);
            model.insert(key, vec![n as u8; n as usize % 300]);
        }
        kv.write(&batch).expect("room");
        let mut changes = WriteBatch::new();
        for n in (0..3000_u32).step_by(7) {
            let key = if n % 10 == 0 { long(n) } else { n.to_be_bytes().to_vec() };
            if n % 2 == 0 {
                changes.delete(&key);
                model.remove(&key);
            } else {
                changes.put(&key, b"changed").put(&key, b"changed again");
                model.insert(key, b"changed again".to_vec());
            }
        }
        changes.delete(b"never was");
        kv.write(&changes).expect("room");
        let asked: Vec<Vec<u8>> =
            (0..3000_u32).map(|n| if n % 10 == 0 { long(n) } else { n.to_be_bytes().to_vec() }).collect();
        let keys: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
        let expected: Vec<_> = keys.iter().map(|k| model.get(*k).cloned()).collect();
        assert_eq!(kv.multi_get(&keys).expect("reads"), expected);
        let there: Vec<_> = expected.iter().map(Option::is_some).collect();
        assert_eq!(kv.multi_exist(&keys).expect("looks"), there);
        let stats = kv.group_stats();
        assert!(stats.grouped > 8000 && stats.singles == 0 && stats.groups < 20, "{stats:?}");
        kv.close().expect("closes");
    }
}

#[test]
fn a_group_tells_what_became_of_each_operation() {
    let mut kv = open("");
    let key = |k: &[u8]| Key::new(k).expect("1 to 16 bytes");
    kv.put(b"there", b"1").expect("room");
    let mut group = kv.begin(Form::Mixed);
    group.retrieve(key(b"there")).expect("mixed").delete(key(b"nowhere")).expect("mixed");
    group.store(key(b"new"), b"2").expect("mixed").exist(key(b"nothing")).expect("mixed");
    let missing = Err(HostError::Kv(KvError::NotFound));
    let told = group.commit().expect("carried out");
    assert_eq!(told, [Ok(Some(b"1".to_vec())), missing.clone(), Ok(None), missing]);
    let mut stores = kv.begin(Form::All(Op::Store));
    assert!(matches!(stores.delete(key(b"new")), Err(HostError::Group(_))));
    // A key that is written twice: nothing happens.
    let mut twice = kv.begin(Form::All(Op::Store));
    twice.store(key(b"x"), b"1").expect("a store").store(key(b"x"), b"2").expect("a store");
    assert!(twice.commit().is_err());
    assert_eq!(kv.get(b"x").expect("reads"), None);
}

/// Values that results have no room for come alone.
#[test]
fn large_values_in_multi_get() {
    let mut kv = open("");
    let sizes = [10, 5000, 100_000, 0, 1_200_000, 3];
    for (n, size) in sizes.into_iter().enumerate() {
        kv.put(&[n as u8], &vec![n as u8; size]).expect("room");
    }
    let keys: Vec<[u8; 1]> = (0..7).map(|n| [n]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|k| k.as_slice()).collect();
    for _ in 0..3 {
        let values = kv.multi_get(&keys).expect("reads");
        for (n, value) in values.into_iter().enumerate() {
            assert_eq!(value, sizes.get(n).map(|size| vec![n as u8; *size]), "{n}");
        }
    }
}

#[test]
fn groups_survive_an_image() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    saker::create_image(&path, 320 << 20, "default", 5).expect("creates");
    let url = format!("file:{}", path.display());
    let mut kv = Kv::open(&url).expect("opens");
    for round in 0..200_u32 {
        let mut batch = WriteBatch::new();
        for n in 0..100_u32 {
            batch.put(&(n * 3 + round % 50).to_le_bytes(), &[round as u8; 90]);
        }
        kv.write(&batch).expect("room");
    }
    let keys: Vec<_> = (0..350_u32).map(u32::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|k| k.as_slice()).collect();
    let before = kv.multi_get(&keys).expect("reads");
    // Not closed: recovery reads the records.
    drop(kv);
    let (report, pairs) = saker::check_image(&path, &mut |_| {}).expect("an image");
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(pairs as usize, before.iter().flatten().count());
    let mut kv = Kv::open(&url).expect("recovers");
    assert_eq!(kv.multi_get(&keys).expect("reads"), before);
}

/// Long keys go by pointer where the device takes them, in batches too, and are listed with the others; a prefetch group may
/// have them.
#[test]
fn long_keys_and_prefetch_groups() {
    let mut kv = Kv::open("mem:?profile=tiny&size=16MiB").expect("opens");
    assert!(kv.has_long_keys_by_pointer());
    let long: Vec<Vec<u8>> = (0..40_u8).map(|n| vec![n; 17 + usize::from(n) * 5]).collect();
    let mut batch = WriteBatch::new();
    for key in &long {
        batch.put(key, &key[..9]);
    }
    batch.put(b"short", b"1");
    kv.write(&batch).expect("room");
    assert_eq!(kv.group_stats().singles, 0);
    let keys: Vec<&[u8]> = long.iter().map(Vec::as_slice).collect();
    assert_eq!(kv.prefetch_group(b"together", &keys), Ok(true));
    assert!(kv.prefetch_group(b"a name of seventeen bytes", &keys).is_err());
    for key in &long {
        assert_eq!(kv.get(key), Ok(Some(key[..9].to_vec())));
    }
    assert!(kv.delete(&long[3]).expect("there") && !kv.exists(&long[3]).expect("asked"));
    let listed: Result<Vec<_>, _> = kv.list(None).collect();
    assert_eq!(listed.expect("lists").len(), 40);
    kv.close().expect("closes");
}

/// What does not fit as a group is stored one by one: small values many at a time, large ones alone, in any order.
#[test]
fn a_batch_for_which_there_is_no_room_is_answered() {
    for engine in EngineKind::ALL {
        let mut kv =
            Kv::open(&format!("mem:?profile=tiny&size=8MiB&engine={}", engine.name())).expect("opens");
        let full =
            (0..10_000u32).find(|n| kv.put(&n.to_le_bytes(), &[7; 3000]).is_err()).expect("it has an end");
        let mut batch = WriteBatch::new();
        for n in 0..20u8 {
            batch.put(&[n, 1, 2, 3, 4], &vec![n; if n % 3 == 2 { 9000 } else { 20 }]);
        }
        let answer = kv.write(&batch);
        assert!(!matches!(answer, Err(HostError::Timeout { .. })), "{}: after {full} pairs", engine.name());
        assert!(kv.get(&0u32.to_le_bytes()).expect("reads").is_some());
    }
}

/// Batches that are sent as they are packed, and such that are not, are read back on every engine, one by one and many at once.
#[test]
fn batches_of_every_shape_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in EngineKind::ALL {
        for more in ["", "&cache=64KiB", "&threads=1"] {
            of_every_shape(&format!("mem:?size=512MiB&engine={}{more}", engine.name()));
        }
        let path = folder.path().join(engine.name());
        saker::ImagePlan { engine: *engine, ..saker::ImagePlan::kv(64 << 20, "tiny", 1) }
            .create(&path)
            .expect("an image");
        of_every_shape(&format!("file:{}", path.display()));
    }
}
