// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device holds does not depend on what was in it: long values, groups with long payloads and what iterators saw
//! make room when they are gone. Every engine, in memory and in an image.

use saker::{EngineKind, ImagePlan, Kv, WriteBatch};
use saker_host::{HostError, KeyRange, KvError};
use std::path::Path;

/// Smallest size at which the default profile keeps its pages and values of 2 MiB.
const BYTES: u64 = 320 << 20;
/// Values of a fill.
const VALUE_BYTES: usize = 64 << 10;

fn key(n: u64) -> Vec<u8> {
    format!("pair{n:08}").into_bytes()
}

/// Stores pairs until one is refused; how many there were.
fn fill(kv: &mut Kv, from: u64, value_bytes: usize) -> u64 {
    let value = vec![b'v'; value_bytes];
    for n in 0.. {
        match kv.put(&key(from + n), &value) {
            Ok(()) => {}
            Err(HostError::Kv(KvError::Full)) => return n,
            Err(e) => panic!("{e}"),
        }
    }
    unreachable!("no device holds so many")
}

fn delete(kv: &mut Kv, from: u64, pairs: u64) {
    for n in from..from + pairs {
        assert!(kv.delete(&key(n)).expect("a full device deletes"), "{n} was there");
    }
}

/// Stores long values and groups with long payloads, and deletes or replaces them all.
fn long_ones_come_and_go(kv: &mut Kv) {
    for bytes in [512 << 10, 2 << 20] {
        kv.put(b"deleted", &vec![b'l'; bytes]).expect("there is room");
        assert!(kv.delete(b"deleted").expect("deleted"));
        kv.put(b"replaced", &vec![b'l'; bytes]).expect("there is room");
        kv.put(b"replaced", b"").expect("it is shorter");
    }
    let mut batch = WriteBatch::new();
    (0..24_u64).for_each(|n| _ = batch.put(&key(n), &vec![b'g'; 60 << 10]));
    batch.put(b"a key that no device key can hold, and a long value", &vec![b'k'; 400 << 10]);
    kv.write(&batch).expect("there is room");
    let mut batch = WriteBatch::new();
    (0..24_u64).for_each(|n| _ = batch.delete(&key(n)));
    batch.delete(b"a key that no device key can hold, and a long value").delete(b"replaced");
    kv.write(&batch).expect("deleted");
}

/// Whether as many pairs fit as on a fresh device: 98 of 100.
fn assert_as_many(after: u64, fresh: u64, what: &str) {
    assert!(after * 100 >= fresh * 98, "{what}: {after} of {fresh} pairs fit");
}

fn in_memory(engine: EngineKind) {
    let url = format!("mem:?size={BYTES}&engine={}", engine.name());
    let fresh = fill(&mut Kv::open(&url).expect("opens"), 0, VALUE_BYTES);
    let mut kv = Kv::open(&url).expect("opens");
    long_ones_come_and_go(&mut kv);
    assert_as_many(fill(&mut kv, 0, VALUE_BYTES), fresh, engine.name());
    // And again, with a long value in a full device.
    delete(&mut kv, 0, fresh * 3 / 4);
    kv.put(b"long", &vec![b'l'; 2 << 20]).expect("three quarters are free");
    let beside = fill(&mut kv, 1 << 20, VALUE_BYTES);
    assert!(kv.delete(b"long").expect("a full device deletes"));
    let more = fill(&mut kv, 1 << 24, VALUE_BYTES);
    assert_as_many(fresh / 4 + beside + more + 1, fresh, engine.name());
}

fn in_an_image(engine: EngineKind) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let made = |name: &str| {
        let path = dir.path().join(name);
        ImagePlan { engine, ..ImagePlan::kv(BYTES, "default", 1) }.create(&path).expect("made");
        path
    };
    let open = |path: &Path| Kv::open(&format!("file:{}", path.display())).expect("opens");
    let path = made("fresh.img");
    let fresh = fill(&mut open(&path), 0, VALUE_BYTES);
    std::fs::remove_file(path).expect("removed");
    let path = made("used.img");
    long_ones_come_and_go(&mut open(&path));
    let mut kv = open(&path);
    kv.put(b"stays", &vec![b'l'; 2 << 20]).expect("there is room");
    kv.close().expect("closes");
    let mut kv = open(&path);
    assert!(kv.delete(b"stays").expect("it is there"));
    let first = fill(&mut kv, 0, VALUE_BYTES);
    assert_as_many(first, fresh, engine.name());
    kv.close().expect("closes");
    let mut kv = open(&path);
    delete(&mut kv, 0, 100);
    assert_as_many(first - 100 + fill(&mut kv, 1 << 20, VALUE_BYTES), fresh, engine.name());
}

macro_rules! on_each_engine {
    ($($name:ident $engine:ident;)*) => {
        $(mod $name {
            use saker::EngineKind;

            #[test]
            fn in_memory() {
                super::in_memory(EngineKind::$engine);
            }

            #[test]
            fn in_an_image() {
                super::in_an_image(EngineKind::$engine);
            }
        })*
    };
}

saker_engine::for_each_engine!(on_each_engine);

/// How an iterator beside a full store ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Closed,
    TimedOut,
    /// By what is refused: nothing else goes on.
    Refused,
    /// With the process.
    Reopened,
}

/// Half of a full store is deleted beside an iterator; new pairs fit when that is gone.
fn beside_an_iterator(engine: EngineKind, end: End, seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan { engine, ..ImagePlan::kv(64 << 20, "tiny", seed) }.create(&path).expect("made");
    let url = format!("file:{}", path.display());
    let mut kv = Kv::open(&url).expect("opens");
    let value_bytes = 1000 + seed as usize * 100;
    let pairs = fill(&mut kv, 0, value_bytes);
    let mut gone = 0;
    // An iterator that nobody uses times out when more than an eighth of the capacity has been written.
    if matches!(end, End::TimedOut) {
        (0..pairs).step_by(4).for_each(|n| delete(&mut kv, n, 1));
        gone += pairs / 4;
    }
    let mut iterator = kv.open_iterator(&KeyRange::default()).expect("opens").expect("it has iterators");
    (1..pairs).step_by(2).for_each(|n| delete(&mut kv, n, 1));
    gone += pairs / 2;
    match end {
        End::Closed => kv.close_iterator(iterator).expect("closes"),
        End::TimedOut => {}
        End::Refused => {
            let capacity = kv.capacity_bytes().expect("told");
            let deletes = pairs / 2 * key(0).len() as u64;
            let bytes = deletes + until_it_ends(&mut kv, value_bytes);
            let eighth = capacity / 8;
            assert!((eighth..eighth / 8 * 9).contains(&bytes), "{engine:?} {seed}: {bytes} of {capacity}");
            assert!(kv.next_pairs(&mut iterator, 1, false, None).is_err(), "{engine:?} {seed}");
        }
        End::Reopened => {
            drop(kv);
            kv = Kv::open(&url).expect("opens");
        }
    }
    let again = fill(&mut kv, 1 << 24, value_bytes);
    assert!(again * 100 >= gone * 95, "{engine:?} {end:?} {seed}: {again} fit after {gone} of {pairs} went");
}

fn snapshots(kv: &mut Kv) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    all.iter().find(|counter| counter.name == "num_snapshots").expect("these engines have it").value
}

/// Stores pairs until nothing is seen of the iterator. Bytes that were stored or refused; the pairs that were stored are deleted.
fn until_it_ends(kv: &mut Kv, value_bytes: usize) -> u64 {
    let (value, mut stored, mut bytes, mut refused) = (vec![b'v'; value_bytes], Vec::new(), 0, 0);
    for n in 0_u64.. {
        let key = key((1 << 25) + n);
        bytes += (key.len() + value.len()) as u64;
        match kv.put(&key, &value) {
            Ok(()) => stored.push(key),
            Err(HostError::Kv(KvError::Full)) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        if n % 8 == 0 && snapshots(kv) == 0 {
            break;
        }
        assert!(bytes < 1 << 26, "it never ends");
    }
    assert!(refused > stored.len(), "{refused} refused, {} stored", stored.len());
    stored.iter().for_each(|key| assert!(kv.delete(key).expect("deleted")));
    bytes
}

#[test]
fn what_an_iterator_saw_makes_room_when_it_ends() {
    for seed in saker_testing::seeds(saker_testing::tier(1, 10)) {
        for engine in [EngineKind::LSM, EngineKind::TREE] {
            for end in [End::Closed, End::TimedOut, End::Refused, End::Reopened] {
                beside_an_iterator(engine, end, seed);
            }
        }
    }
}
