// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces of a target (option `hybrid`), in memory and on an image.

use saker::{EngineKind, HostError, ImagePlan, KeyRange, Kv, ScanOptions, Typed, WriteBatch};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;

use crate::loopback::support::{serve, url};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn all_of(kv: &mut Kv) -> Model {
    let (mut all, options) =
        (Model::new(), ScanOptions { range: KeyRange::default(), ..ScanOptions::default() });
    let mut visit = |key: &[u8], value: &[u8]| all.insert(key.to_vec(), value.to_vec()).is_none();
    kv.scan(&options, &mut visit).expect("scans");
    all
}

fn writes(kv: &mut Kv, model: &mut Model, rng: &mut Rng) {
    for n in 0..800_u64 {
        let key = format!("key{}", rng.below(300)).into_bytes();
        match rng.below(4) {
            0 => assert_eq!(kv.delete(&key).expect("deletes"), model.remove(&key).is_some(), "{n}"),
            1 => assert_eq!(kv.get(&key).expect("reads").as_ref(), model.get(&key), "{n}"),
            _ => {
                let value = vec![n as u8; rng.below(3000) as usize];
                kv.put(&key, &value).expect("room");
                model.insert(key, value);
            }
        }
    }
    assert_eq!(all_of(kv), *model);
}

/// Batches of all or nothing, transactions, and a scan that falls.
fn together(kv: &mut Kv, model: &mut Model, rng: &mut Rng) {
    for n in 0..60_u64 {
        let mut batch = WriteBatch::new();
        batch.set_atomic(n % 2 == 0);
        for _ in 0..5 {
            let key = format!("key{}", rng.below(300)).into_bytes();
            if rng.below(3) == 0 {
                batch.delete(&key);
                model.remove(&key);
            } else {
                batch.put(&key, &[n as u8; 900]);
                model.insert(key, vec![n as u8; 900]);
            }
        }
        kv.write(&batch).expect("room");
        let key = format!("key{}", rng.below(300)).into_bytes();
        let mut txn = kv.begin_transaction().expect("it has them");
        assert_eq!(txn.get(&key).expect("reads").as_ref(), model.get(&key), "{n}");
        txn.put(b"last", &key).expect("a key");
        let set = txn.suspend();
        kv.put(&key, b"between").expect("room");
        model.insert(key.clone(), b"between".to_vec());
        assert_eq!(kv.resume_transaction(set).commit(), Err(HostError::Conflict { key }), "{n}");
    }
    let mut fallen = Vec::new();
    let options = ScanOptions { backwards: true, ..ScanOptions::default() };
    kv.scan(&options, &mut |key, value| {
        fallen.push((key.to_vec(), value.to_vec()));
        true
    })
    .expect("scans");
    fallen.reverse();
    assert!(model.iter().map(|(key, value)| (key.clone(), value.clone())).eq(fallen));
}

#[test]
fn both_namespaces_of_a_target_are_one_store() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    ImagePlan::hybrid(24 << 20, "tiny", 1).create(&path).expect("made");
    // Its main tree has values inside. Who opens the target is not told: the device keeps it.
    let inside = dir.path().join("inside.img");
    let mut typed = Typed::default();
    typed.push("min_blob_size", "unlimited");
    let main = typed.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that");
    ImagePlan::hybrid_with(24 << 20, "tiny", 1, &main).and_then(|plan| plan.create(&inside)).expect("made");
    for device in [
        "mem:?profile=tiny&size=24MiB&blocks=16MiB&engine=lsm".to_owned(),
        "mem:?profile=tiny&size=24MiB&blocks=16MiB&engine=lsm&main_min_blob_size=unlimited".to_owned(),
        "mem:?profile=tiny&size=24MiB&blocks=16MiB&engine=lsm&min_blob_size=auto&main_min_blob_size=auto"
            .to_owned(),
        format!("file:{}", path.display()),
        format!("file:{}", inside.display()),
    ] {
        let server = serve(&device);
        let (mut model, mut rng) = (Model::new(), Seed(1).rng());
        for life in 0..2 {
            let mut kv = Kv::open(&url(&server, "hybrid=lazy&depth=16")).expect("opens");
            assert_eq!(all_of(&mut kv), model, "{device}, life {life}");
            writes(&mut kv, &mut model, &mut rng);
            together(&mut kv, &mut model, &mut rng);
            kv.close().expect("closes");
        }
        let mut kv = Kv::open(&url(&server, "hybrid=lazy")).expect("opens");
        kv.format().expect("emptied");
        assert!(all_of(&mut kv).is_empty());
        model.clear();
        writes(&mut kv, &mut model, &mut rng);
        kv.close().expect("closes");
        server.stop().expect("stopped");
        if device.starts_with("file:") {
            let mut kv = Kv::open(&format!("{device}?hybrid")).expect("opens");
            assert_eq!(all_of(&mut kv), model, "what the network wrote is on the image");
        }
    }
}
