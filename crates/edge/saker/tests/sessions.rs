// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions on threads of the operating system: inline devices, devices with a thread, images.

use saker::{EngineKind, Error, KeyRange, Saker, SakerOptions, create_image};
use saker_host::session::SyncError;
use saker_host::{HostError, KvError};
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

const MEM: &str = "mem:?size=256MiB&profile=tiny";
const MEM_THREAD: &str = "mem:?size=256MiB&profile=tiny&threads=1";

fn open(url: &str) -> Saker {
    Saker::open(url, SakerOptions { sessions: 4, ..SakerOptions::default() }).expect("opens")
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn key(thread: u8, n: u16) -> [u8; 3] {
    let [low, high] = n.to_le_bytes();
    [thread, low, high]
}

#[test]
fn four_threads_write_read_each_other_and_sync() {
    let cached = format!("{MEM}&cache=1MiB&cache_policy=s3fifo");
    for url in [MEM, MEM_THREAD, &cached] {
        let saker = open(url);
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let (mut session, barrier) = (saker.session().expect("four are possible"), &barrier);
                scope.spawn(move || {
                    for n in 0..500 {
                        session.put(&key(thread, n), &[thread; 20]).expect("buffered");
                    }
                    barrier.wait();
                    // Some of these are in containers of other threads.
                    for n in 0..500 {
                        let other = (thread + 1) % 4;
                        assert_eq!(session.get(&key(other, n)).expect("read"), Some(vec![other; 20]));
                    }
                    session.sync().expect("stored");
                });
            }
        });
        let mut session = saker.session().expect("free again");
        let mut count = 0;
        session.scan(&[2], &mut |_, _| count += 1).expect("scanned");
        assert_eq!(count, 500, "{url}");
        drop(session);
        saker.close().expect("closes");
    }
}

/// From a snapshot of the device, or from its list; buffered writes of another session are merged in.
#[test]
fn ranges_come_in_the_order_of_keys_with_what_is_buffered() {
    let urls = [
        "mem:?engine=lsm&size=256MiB&profile=tiny",
        "mem:?engine=lsm&size=256MiB&profile=tiny&min_blob_size=unlimited&write_buffer_size=16KiB",
        "mem:?engine=tree&size=256MiB&profile=tiny",
        MEM,
        "mem:?engine=lsm&profile=tiny&size=256MiB&shards=3",
    ];
    for url in urls {
        let saker = open(url);
        let (mut writer, mut reader) = (saker.session().expect("free"), saker.session().expect("free"));
        let key = |n: u16| n.to_be_bytes();
        (0..2000_u16).filter(|n| n % 2 == 0).for_each(|n| writer.put(&key(n), &[1; 100]).expect("takes it"));
        writer.sync().expect("stored");
        // So few that they stay in the open container.
        [501, 503, 504].iter().for_each(|n| writer.put(&key(*n), &[2; 5]).expect("buffered"));
        writer.delete(&key(502)).expect("buffered");
        let (from, to) = (key(499), key(1800));
        let range = KeyRange { from: &from, to: &to, ..KeyRange::default() };
        let mut found = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            found.push((u16::from_be_bytes([key[0], key[1]]), value.len()));
            found.len() < 600
        };
        reader.scan_range(&range, &mut visit).expect("scanned");
        let mut expected = vec![(500, 100), (501, 5), (503, 5), (504, 5)];
        expected.extend((506..).step_by(2).map(|n| (n, 100)).take(596));
        assert_eq!(found, expected, "{url}");
        let mut count = 0;
        let mut visit = |_: &[u8], _: &[u8]| {
            count += 1;
            true
        };
        reader.scan_range(&range, &mut visit).expect("scanned");
        // The even ones from 500 to 1798, two more, one less.
        assert_eq!(count, 650 + 2 - 1, "{url}: up to the end of the range");
        drop((writer, reader));
        saker.close().expect("closes");
    }
}

/// The threads wait for each other while their writes wait for each other's containers.
#[test]
fn crossed_keys_with_waits_in_the_application_do_not_block() {
    for url in [MEM, MEM_THREAD] {
        let saker = open(url);
        let mut a = saker.session().expect("free");
        let mut b = saker.session().expect("free");
        let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..50u16 {
                    a.put(b"one", &n.to_le_bytes()).expect("buffered");
                    to_b.send(()).expect("listens");
                    from_b.recv().expect("sends");
                    a.put(b"two", &n.to_le_bytes()).expect("buffered");
                    a.sync().expect("stored");
                }
            });
            scope.spawn(move || {
                for n in 0..50u16 {
                    b.put(b"two", &n.to_le_bytes()).expect("buffered");
                    from_a.recv().expect("sends");
                    b.put(b"one", &n.to_le_bytes()).expect("buffered");
                    b.sync().expect("stored");
                    to_a.send(()).expect("listens");
                }
            });
        });
        saker.close().expect("closes");
    }
}

/// The owner of the container that is in the way does nothing at all.
#[test]
fn a_sync_sends_the_container_of_an_idle_session() {
    let options = SakerOptions { sessions: 2, linger: Duration::from_secs(3600), ..SakerOptions::default() };
    let saker = Saker::open(MEM, options).expect("opens");
    let (mut idle, mut busy) = (saker.session().expect("free"), saker.session().expect("free"));
    idle.put(b"key", b"older").expect("buffered");
    busy.put(b"key", b"newer").expect("parked");
    busy.sync().expect("stored");
    assert_eq!(idle.get(b"key").expect("read"), Some(b"newer".to_vec()));
    drop((idle, busy));
    saker.close().expect("closes");
}

#[test]
fn the_pump_sends_what_lingers() {
    let saker = open(MEM);
    let mut session = saker.session().expect("free");
    session.put(b"key", b"value").expect("buffered");
    let mut other = saker.session().expect("free");
    // The futures of other sessions complete without anybody else doing anything, too.
    block_on(other.sync_async()).expect("nothing to store");
    for _ in 0..10_000 {
        if saker.pending() == 0 {
            drop((session, other));
            return saker.close().expect("closes");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the write still lingers");
}

#[test]
fn futures_tell_the_same_as_calls() {
    let saker = open(MEM_THREAD);
    let mut session = saker.session().expect("free");
    for n in 0..500 {
        session.put(&key(1, n), b"async").expect("buffered");
    }
    let synced = session.sync_async();
    let durable = session.put_durable_async(b"durable", b"yes").expect("buffered");
    assert_eq!(session.get(b"durable").expect("read"), Some(b"yes".to_vec()));
    block_on(durable).expect("durable");
    block_on(synced).expect("stored");
    drop(session);
    saker.close().expect("closes");
}

#[test]
fn what_was_synced_is_in_the_image_and_what_was_buffered_at_the_close_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("disk.img");
    create_image(&path, 64 << 20, "tiny", 1).expect("created");
    let url = format!("file:{}", path.display());
    let saker = open(&url);
    let mut session = saker.session().expect("free");
    session.put(b"synced", b"1").expect("buffered");
    session.sync().expect("stored");
    session.put_durable(b"durable", b"2").expect("stored");
    session.put(b"buffered", b"3").expect("buffered");
    session.delete(b"synced").expect("buffered");
    drop(session);
    saker.close().expect("closes");
    let saker = open(&url);
    let mut session = saker.session().expect("free");
    let keys: [&[u8]; 3] = [b"synced", b"durable", b"buffered"];
    let found = session.multi_get(&keys).expect("read");
    assert_eq!(found, [None, Some(b"2".to_vec()), Some(b"3".to_vec())]);
    assert_eq!(session.multi_exist(&keys).expect("read"), [false, true, true]);
    let pairs: [(&[u8], &[u8]); 2] = [(b"durable", b"no"), (b"synced", b"4")];
    assert_eq!(session.multi_put_if_absent(&pairs).expect("read"), [false, true]);
    drop(session);
    saker.close().expect("closes");
}

#[test]
fn a_full_device_is_told_by_key_at_the_sync_and_readers_see_what_is_stored() {
    let saker = open("mem:?size=64MiB&profile=tiny");
    let mut session = saker.session().expect("free");
    session.put(b"kept", b"stored").expect("buffered");
    session.sync().expect("there is room");
    let value = vec![7; 30_000];
    let mut failures = Vec::new();
    for n in 0..4000 {
        session.put(&key(9, n), &value).expect("buffered");
        if n % 50 == 49
            && let Err(SyncError::Failed(failed)) = session.sync()
        {
            failures = failed;
            break;
        }
    }
    assert!(!failures.is_empty(), "120 MB do not fit 64");
    assert!(failures.iter().all(|(_, error)| *error == HostError::Kv(KvError::Full)), "{failures:?}");
    for (key, _) in &failures {
        assert_eq!(session.get(key.as_bytes()).expect("read"), None);
    }
    assert_eq!(session.get(b"kept").expect("read"), Some(b"stored".to_vec()));
    drop(session);
    saker.close().expect("closes");
}

#[test]
fn a_session_that_is_still_open_is_told_that_the_device_is_closed() {
    let saker = open(MEM_THREAD);
    let mut session = saker.session().expect("free");
    session.put(b"key", b"value").expect("buffered");
    saker.close().expect("what was buffered is stored");
    let gone = HostError::Kv(KvError::Unreachable);
    assert_eq!(session.put(b"key", b"late"), Err(gone.clone()));
    assert_eq!(session.get(b"key"), Err(gone.clone()));
    assert_eq!(session.put_durable(b"key", b"late"), Err(SyncError::Unknown(gone)));
}

#[test]
fn there_are_as_many_sessions_as_were_asked_for() {
    let saker = Saker::open(MEM, SakerOptions { sessions: 1, ..SakerOptions::default() }).expect("opens");
    let first = saker.session().expect("one");
    assert!(matches!(saker.session(), Err(Error::NoSession)));
    drop(first);
    let mut again = saker.session().expect("free again");
    let refused = |outcome: Result<(), HostError>| outcome.expect_err("no key of sessions").to_string();
    assert_eq!(refused(again.put(b"", b"no key")), "a key has 1 to 16 bytes, not 0");
    let long = [7; 17];
    assert_eq!(refused(again.put(&long, b"v")), "a key has 1 to 16 bytes, not 17");
    assert_eq!(refused(again.get(&long).map(drop)), "a key has 1 to 16 bytes, not 17");
    assert_eq!(refused(again.delete(&long)), "a key has 1 to 16 bytes, not 17");
    again.put(&long[..16], b"v").expect("as long as can be");
    drop(again);
    saker.close().expect("closes");
}

/// Each thread reads the keys of all and writes its own: no read may fall behind what was read or written before.
#[test]
fn what_a_cache_shows_never_goes_back() {
    const ROUNDS: u32 = 2000;
    for policy in ["lru", "s3fifo"] {
        let saker = open(&format!("{MEM}&cache=8KiB&cache_policy={policy}"));
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let mut session = saker.session().expect("three are possible");
                scope.spawn(move || {
                    let mut seen = [0u32; 3];
                    for round in 1..=ROUNDS {
                        session.put(&[thread], &round.to_le_bytes()).expect("buffered");
                        seen[usize::from(thread)] = round;
                        for other in 0..3u8 {
                            let found =
                                session.get(&[other]).expect("read").map_or(0, |value| number(&value));
                            assert!(found >= seen[usize::from(other)], "{found} after {seen:?}");
                            seen[usize::from(other)] = found;
                        }
                        if round % 50 == 0 {
                            session.sync().expect("stored");
                        }
                    }
                });
            }
        });
        assert!(saker.cache_stats().hits > 0, "{policy}");
        saker.close().expect("closes");
    }
}

fn number(value: &[u8]) -> u32 {
    u32::from_le_bytes(value.try_into().expect("four bytes"))
}

/// Containers and batches are groups on every engine.
#[test]
fn every_engine_takes_containers_and_batches() {
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        let url = format!("mem:?profile=tiny&size=32MiB&engine={engine}");
        let saker = Saker::open(&url, SakerOptions::default()).expect("opens");
        let mut session = saker.session().expect("the first");
        (0..200_u8).for_each(|n| session.put(&[n, 7], &[n; 20]).expect("takes it"));
        session.sync().unwrap_or_else(|e| panic!("{engine}: {e}"));
        for n in 0..200_u8 {
            assert_eq!(session.get(&[n, 7]), Ok(Some(vec![n; 20])), "{engine}");
        }
        drop(session);
        saker.close().expect("closes");
        let mut kv = saker::Kv::open(&url).expect("opens");
        let mut batch = saker::WriteBatch::new();
        batch.put(b"one", b"1").put(b"two", b"2").delete(b"three");
        kv.write(&batch).unwrap_or_else(|e| panic!("{engine}: {e}"));
        let keys: [&[u8]; 2] = [b"two", b"three"];
        assert_eq!(kv.multi_get(&keys), Ok(vec![Some(b"2".to_vec()), None]), "{engine}");
        let stats = kv.group_stats();
        assert!(stats.groups > 0 && stats.singles == 0, "{engine}: {stats:?}");
        kv.close().expect("closes");
    }
}

/// Shards do what one device does, on threads of their own and on the caller's.
#[test]
fn shards_are_one_device() {
    for url in ["mem:?profile=tiny&size=128MiB&shards=3", "mem:?profile=tiny&size=128MiB&shards=3&threads=1"]
    {
        let saker = Saker::open(url, SakerOptions::default()).expect("opens");
        std::thread::scope(|scope| {
            for lane in 0..3_u8 {
                let mut session = saker.session().expect("eight are possible");
                scope.spawn(move || {
                    (0..200_u8).for_each(|n| session.put(&[n, lane], &[n; 20]).expect("takes it"));
                    session.sync().expect("stored");
                    (0..200_u8).for_each(|n| assert_eq!(session.get(&[n, lane]), Ok(Some(vec![n; 20]))));
                });
            }
        });
        let mut session = saker.session().expect("free again");
        let mut count = 0;
        session.scan(&[], &mut |_, value| count += usize::from(value.len() == 20)).expect("all shards");
        assert_eq!(count, 600);
        drop(session);
        saker.close().expect("closes");
        let mut kv = saker::Kv::open(url).expect("opens");
        let mut batch = saker::WriteBatch::new();
        let long = [b'l'; 100];
        batch.put(b"one", b"1").put(b"two", &[2; 5000]).put(&long, b"3").delete(b"three");
        kv.write(&batch).expect("room");
        let keys: [&[u8]; 4] = [b"two", b"three", &long, b"one"];
        let values = kv.multi_get(&keys).expect("reads");
        assert_eq!(values, [Some(vec![2; 5000]), None, Some(b"3".to_vec()), Some(b"1".to_vec())]);
        let keys: Vec<_> = kv.list(None).map(|key| key.expect("listed")).collect();
        assert_eq!(keys.len(), 3);
        kv.close().expect("closes");
    }
}
