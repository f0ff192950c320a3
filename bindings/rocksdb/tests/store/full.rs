// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is full serves reads and deletes, and deletes make room.

use super::{engine, image};
use saker::{Error, Kv};
use saker_rocksdb as _;

fn value(n: u32, turn: u8) -> Vec<u8> {
    vec![(n as u8) ^ turn; 4000]
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Pairs that were stored before the device was full.
fn fill(kv: &mut Kv, turn: u8) -> u32 {
    for n in 0..100_000 {
        match kv.put(&key(n), &value(n, turn)).map_err(Error::from) {
            Ok(()) => {}
            Err(error) => {
                assert!(error.to_string().contains("full"), "{error}");
                return n;
            }
        }
    }
    panic!("the device has no end");
}

fn cycles(url: &str) {
    let mut kv = Kv::open(url).expect("opens");
    let mut least = u32::MAX;
    for turn in 0..3 {
        let pairs = fill(&mut kv, turn);
        assert!(pairs > 1000, "{pairs} pairs");
        least = least.min(pairs);
        for n in 0..pairs {
            assert_eq!(kv.get(&key(n)).expect("reads"), Some(value(n, turn)));
        }
        for n in 0..pairs {
            assert!(kv.delete(&key(n)).expect("goes"), "{n} of {pairs}");
        }
        assert_eq!(kv.list(None).count(), 0);
    }
    kv.close().expect("closes");
}

#[test]
fn in_memory() {
    engine();
    cycles("mem:?size=48MiB&profile=tiny&engine=rocksdb");
}

#[test]
fn on_an_image() {
    let folder = tempfile::tempdir().expect("a folder");
    cycles(&image(&folder.path().join("disk.img"), 48 << 20, "tiny"));
}
