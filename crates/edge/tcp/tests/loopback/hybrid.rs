// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces of a target (option `hybrid`), in memory and on an image.

use saker::{ImagePlan, KeyRange, Kv, ScanOptions};
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
