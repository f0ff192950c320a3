// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A full device behind a target: long values that are gone, and iterators whose connection was lost, make room.

use crate::loopback::support::{open, serve};
use saker::{EngineKind, Kv};
use saker_host::{HostError, KeyRange, KvError};

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

#[test]
fn a_long_value_that_was_deleted_leaves_no_trace() {
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        let url = format!("mem:?size=320MiB&engine={engine}");
        let server = serve(&url);
        let fresh = fill(&mut open(&server, ""), 0, 256 << 10);
        server.stop().expect("stopped");
        let server = serve(&url);
        let mut kv = open(&server, "");
        for bytes in [512 << 10, 2 << 20] {
            kv.put(b"long", &vec![b'l'; bytes]).expect("there is room");
            assert!(kv.delete(b"long").expect("it is there"));
        }
        let after = fill(&mut kv, 0, 256 << 10);
        assert!(after * 100 >= fresh * 98, "{engine}: {after} of {fresh} pairs fit");
        server.stop().expect("stopped");
    }
}

/// What is refused makes an iterator time out that another host has left open.
#[test]
fn what_an_idle_iterator_saw_makes_room_while_stores_are_refused() {
    for engine in ["lsm", "tree"] {
        let server = serve(&format!("mem:?size=16MiB&profile=tiny&engine={engine}"));
        let (mut kv, mut other) = (open(&server, ""), open(&server, ""));
        let pairs = fill(&mut kv, 0, 2000);
        let mut iterator =
            other.open_iterator(&KeyRange::default()).expect("opens").expect("it has iterators");
        for n in (0..pairs).step_by(2) {
            assert!(kv.delete(&key(n)).expect("a full device deletes"));
        }
        let capacity = kv.capacity_bytes().expect("told");
        let (mut again, mut refused) = (0, 0);
        while again * 100 < pairs / 2 * 95 && refused * 2000 < capacity / 4 {
            again += fill(&mut kv, (1 << 24) + again, 2000);
            refused += 1;
        }
        assert!(again * 100 >= pairs / 2 * 95, "{engine}: {again} fit after half of {pairs} went");
        assert!(refused > 1, "{engine}: it was full");
        assert!(other.next_pairs(&mut iterator, 1, false, None).is_err(), "{engine}: it has timed out");
        drop(other);
        server.stop().expect("stopped");
    }
}

#[test]
fn what_an_iterator_saw_makes_room_when_its_connection_is_lost() {
    for engine in ["lsm", "tree"] {
        for is_lost in [false, true] {
            let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={engine}"));
            let (mut kv, mut other) = (open(&server, ""), open(&server, ""));
            let pairs = fill(&mut kv, 0, 2000);
            let iterator =
                other.open_iterator(&KeyRange::default()).expect("opens").expect("it has iterators");
            for n in (0..pairs).step_by(2) {
                assert!(kv.delete(&key(n)).expect("a full device deletes"));
            }
            if is_lost {
                drop(other);
            } else {
                other.close_iterator(iterator).expect("closes");
            }
            // The target finds out about a lost connection some time later.
            let mut again = 0;
            for _ in 0..100 {
                again += fill(&mut kv, (1 << 24) + again, 2000);
                if !is_lost || again * 100 >= pairs / 2 * 95 {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert!(
                again * 100 >= pairs / 2 * 95,
                "{engine} {is_lost}: {again} fit after half of {pairs} went"
            );
            server.stop().expect("stopped");
        }
    }
}
