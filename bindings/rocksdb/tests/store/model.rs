// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations beside a map in memory; and what `saker conform` says.

use super::{Rng, Target, engine, image, saker, seed, tier};
use saker::Kv;
use std::collections::BTreeMap;

const KEYS: u64 = 400;

fn key(n: u64) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let bytes = if rng.below(40) == 0 { 100_000 + rng.below(200_000) } else { rng.below(3000) };
    let first = rng.next();
    (0..bytes).map(|at| (first.wrapping_add(at * 31)) as u8).collect()
}

/// Runs a history on a device, and compares all that it can be asked.
fn history(kv: &mut Kv, model: &mut BTreeMap<Vec<u8>, Vec<u8>>, rng: &mut Rng, operations: u64) {
    for n in 0..operations {
        let key = key(rng.below(KEYS));
        match rng.below(10) {
            0..=4 => {
                let value = value(rng);
                kv.put(&key, &value).expect("room");
                model.insert(key, value);
            }
            5 => assert_eq!(kv.delete(&key).expect("goes"), model.remove(&key).is_some(), "operation {n}"),
            6 => assert_eq!(kv.exists(&key).expect("answers"), model.contains_key(&key), "operation {n}"),
            7 if n % 16 == 0 => kv.flush().expect("lasts"),
            _ => assert_eq!(kv.get(&key).expect("reads").as_ref(), model.get(&key), "operation {n}"),
        }
    }
    same(kv, model);
}

fn same(kv: &mut Kv, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let listed: Vec<_> = kv.list(None).collect::<Result<_, _>>().expect("lists");
    assert_eq!(listed, model.keys().cloned().collect::<Vec<_>>(), "in the order of their bytes");
    let from = key(KEYS / 2);
    let behind: Vec<_> = kv.list(Some(&from)).collect::<Result<_, _>>().expect("lists");
    assert_eq!(behind, model.range(from..).map(|(key, _)| key.clone()).collect::<Vec<_>>());
    for (key, value) in model {
        assert_eq!(kv.get(key).expect("reads").as_ref(), Some(value));
    }
}

#[test]
fn a_device_in_memory() {
    engine();
    let mut rng = Rng(seed());
    let mut kv = Kv::open("mem:?size=320MiB&engine=rocksdb").expect("opens");
    history(&mut kv, &mut BTreeMap::new(), &mut rng, tier(3000, 60_000));
    kv.close().expect("closes");
}

/// Opened again after a close, and for reading; and what `saker check` says of it.
#[test]
fn an_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    let url = image(&path, 320 << 20, "default");
    let (mut rng, mut model) = (Rng(seed()), BTreeMap::new());
    for _ in 0..3 {
        let mut kv = Kv::open(&url).expect("opens");
        same(&mut kv, &model);
        history(&mut kv, &mut model, &mut rng, tier(1000, 20_000));
        kv.close().expect("closes");
        saker(&["check", &path.display().to_string()]);
        let mut kv = Kv::open(&format!("{url}?readonly")).expect("opens for reading");
        same(&mut kv, &model);
        assert!(kv.put(b"key", b"value").is_err());
    }
}

#[test]
fn a_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    image(&path, 320 << 20, "default");
    let target = Target::start(&path);
    let mut kv = Kv::open(&target.1).expect("connects");
    history(&mut kv, &mut BTreeMap::new(), &mut Rng(seed()), tier(1000, 20_000));
    drop(kv);
    target.kill();
}

/// Formats, aborts, wrong commands and all else that the specification knows, on each place of a device.
#[test]
fn it_conforms() {
    engine();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    let url = image(&path, 320 << 20, "default");
    saker(&["conform", "mem:?size=320MiB&engine=rocksdb"]);
    saker(&["conform", &url]);
    let target = Target::start(&path);
    saker(&["conform", &target.1]);
    target.kill();
    saker(&["check", &path.display().to_string()]);
}
