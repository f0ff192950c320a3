// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces of a target (option `hybrid`), in memory and on an image.

use saker::{HostError, ImagePlan, KeyRange, Kv, ScanOptions, WriteBatch};
use saker_sim::{Rng, Seed};
use saker_tcp::Server;
use std::collections::BTreeMap;

use crate::loopback::support::{config, serve, url};

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
    for device in [
        "mem:?profile=tiny&size=24MiB&blocks=16MiB&engine=lsm".to_owned(),
        format!("file:{}", path.display()),
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

/// The target is restarted while copies are in its tree. The store goes on, or says that it cannot; then it opens again. Either way what was
/// flushed is there, and what was written later is as it was or as it became.
#[test]
fn a_target_that_comes_back_has_what_was_flushed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    ImagePlan::hybrid(24 << 20, "tiny", 1).create(&path).expect("made");
    let mut config = config(&format!("file:{}", path.display()));
    let mut server = Server::start(config.clone()).expect("starts");
    config.listen = server.addresses().to_vec();
    let options = "hybrid=lazy&depth=16&write_buffer_size=8KiB&level0_file_num_compaction_trigger=1&level0_stop_writes_trigger=1&slowdown=off";
    let mut kv = Kv::open(&url(&server, options)).expect("opens");
    let (mut model, mut rng, mut redirected) = (Model::new(), Seed(4).rng(), 0);
    for life in 0..3 {
        let put = |kv: &mut Kv, n: u64| {
            let (key, value) = (format!("key{}", n % 90).into_bytes(), vec![n as u8; 900]);
            (key.clone(), value.clone(), kv.put(&key, &value))
        };
        for _ in 0..400 {
            let (key, value, told) = put(&mut kv, rng.below(10_000));
            told.expect("room");
            model.insert(key, value);
        }
        kv.flush().expect("flushes");
        let counters = kv.counters().expect("told").expect("it has counters");
        redirected += counters.iter().find(|c| c.name == "redirected_writes").map_or(0, |c| c.value);
        server.stop().expect("stopped");
        server = Server::start(config.clone()).expect("starts again");
        let (key, value, told) = put(&mut kv, rng.below(10_000));
        let unknown = told.is_err().then(|| (key.clone(), value.clone()));
        if told.is_ok() {
            model.insert(key, value);
        }
        let goes_on = told.is_ok() && kv.flush().is_ok();
        println!("life {life}: the store {}", if goes_on { "goes on" } else { "has to be opened again" });
        if !goes_on {
            drop(kv);
            kv = Kv::open(&url(&server, options)).expect("opens again");
        }
        let mut all = all_of(&mut kv);
        if let Some((key, value)) = unknown {
            let found = all.get(&key).cloned();
            assert!(found.as_ref() == Some(&value) || found.as_ref() == model.get(&key), "life {life}");
            found.map(|found| model.insert(key.clone(), found));
        }
        if !goes_on {
            // Without a Flush the last write may be lost.
            all.retain(|key, _| model.contains_key(key));
        }
        assert_eq!(all.len(), model.len(), "life {life}");
        let wrong = all.iter().filter(|(key, value)| model.get(*key) != Some(*value)).count();
        assert!(wrong <= usize::from(!goes_on), "life {life}: {wrong} pairs are old");
        model = all;
    }
    assert!(redirected > 0, "nothing went to the target's tree");
    kv.close().expect("closes");
    server.stop().expect("stopped");
}
