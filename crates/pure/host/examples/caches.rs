// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints why the read cache has the libraries it has: hits and time of each under the same reads, alone, then behind our
//! lock and count of bytes; and what a session's cached get costs beside the library's own.
//!
//! Candidates: lru and hashlink for LRU; quick_cache (S3-FIFO). Libraries that read a clock or start threads (moka, foyer)
//! cannot be had in code that has to repeat its runs. Counts of instructions:
//! `valgrind --tool=callgrind target/release/examples/caches LABEL`, with one of the labels printed.
#![expect(clippy::disallowed_types, reason = "a measurement needs the OS clock; the library does not")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use saker_host::cache::ENTRY_BYTES;
use saker_host::session::{Hub, Options, Session};
use saker_host::{CacheOptions, CachePolicy, DriverFn, KvQueue, Patience, ReadCache};
use saker_link::probe::NoopController;
use saker_link::{DeviceCq, DeviceSq, DmaSpace, Doorbells, HostQueuePair};
use saker_nvme::Key;
use saker_sim::{Free, Seed};
use saker_workload::Distribution;

const KEYS: u64 = 100_000;
const ENTRIES: usize = 10_000;
const READS: usize = 1_000_000;
const VALUE_BYTES: usize = 100;
const ROUNDS: usize = 5;

fn key(n: u64) -> Key {
    Key::new(&n.to_le_bytes()).expect("8 bytes")
}

/// Zipfian reads; with `scans`, every fourth is of a key that is never read again.
fn reads(scans: bool) -> Vec<Key> {
    let mut rng = Seed(1).rng();
    let mut picker = Distribution::Scrambled { theta: 0.99 }.picker(1, KEYS).expect("in range");
    let once = |n: usize| scans && n % 4 == 3;
    (0..READS).map(|n| key(if once(n) { KEYS + n as u64 } else { picker.pick(&mut rng) })).collect()
}

/// One candidate: reads a key, entering it if it is missing; true if it was there.
type Candidate = Box<dyn FnMut(&Key) -> bool>;

fn value() -> Arc<[u8]> {
    vec![7; VALUE_BYTES].into()
}

fn used(value: &[u8]) {
    black_box(value.to_vec());
}

fn ours(policy: CachePolicy) -> Candidate {
    let bytes = ENTRIES * (VALUE_BYTES + ENTRY_BYTES);
    let cache = ReadCache::new(CacheOptions { bytes, policy, value_bytes_max: 4096 }).expect("has bytes");
    Box::new(move |key| {
        let found = cache.get(key, &mut Free, used).is_some();
        if !found {
            cache.insert(key, &[7; VALUE_BYTES], &mut Free);
        }
        found
    })
}

fn candidates() -> Vec<(&'static str, Candidate)> {
    let mut lru = lru::LruCache::new(NonZeroUsize::new(ENTRIES).expect("not zero"));
    let mut linked = hashlink::LruCache::with_hasher(ENTRIES, lru::DefaultHasher::default());
    let mut fifo = quick_cache::unsync::Cache::new(ENTRIES);
    let locked = quick_cache::sync::Cache::new(ENTRIES);
    vec![
        (
            "lru",
            Box::new(move |key: &Key| {
                let found = lru.get(key).map(|value: &Arc<[u8]>| used(value)).is_some();
                if !found {
                    lru.put(*key, value());
                }
                found
            }) as Candidate,
        ),
        (
            "hashlink",
            Box::new(move |key: &Key| {
                let found = linked.get(key).map(|value: &Arc<[u8]>| used(value)).is_some();
                if !found {
                    linked.insert(*key, value());
                }
                found
            }),
        ),
        (
            "quick_cache",
            Box::new(move |key: &Key| {
                let found = fifo.get(key).map(|value: &Arc<[u8]>| used(value)).is_some();
                if !found {
                    fifo.insert(*key, value());
                }
                found
            }),
        ),
        (
            "quick_cache::sync",
            Box::new(move |key: &Key| {
                let found = locked.get(key).map(|value: Arc<[u8]>| used(&value)).is_some();
                if !found {
                    locked.insert(*key, value());
                }
                found
            }),
        ),
        ("ours: lru", ours(CachePolicy::Lru)),
        ("ours: s3fifo", ours(CachePolicy::S3Fifo)),
    ]
}

fn hits_and_time() {
    println!("{KEYS} keys, zipfian 0.99, room for {ENTRIES}; values of {VALUE_BYTES} B are copied out");
    println!("{:<20} {:>8} {:>10} {:>15}", "", "hits", "ns a read", "hits with scans");
    for n in 0..candidates().len() {
        let (name, mut read) = candidates().swap_remove(n);
        let plain = reads(false);
        let begun = Instant::now();
        let hits = plain.iter().filter(|key| read(key)).count();
        let nanos = begun.elapsed().as_nanos() as f64 / READS as f64;
        let mut scanned = candidates().swap_remove(n).1;
        let with_scans = reads(true).iter().filter(|key| scanned(key)).count();
        let share = |hits| 100.0 * hits as f64 / READS as f64;
        println!("{name:<20} {:>7.2}% {nanos:>10.1} {:>14.2}%", share(hits), share(with_scans));
    }
}

/// A session over a device that is never asked.
fn session(policy: CachePolicy) -> Session<KvQueue, DriverFn<impl FnMut()>> {
    let space = DmaSpace::new(512, 128);
    let doorbells = Doorbells::new(2);
    let host = HostQueuePair::new(&space, &doorbells, 1, 65, 65).expect("fits");
    let sq = DeviceSq::new(&space, &doorbells, 1, host.sq_iova(), 65).expect("fits");
    let cq = DeviceCq::new(&space, &doorbells, 1, host.cq_iova(), 65).expect("fits");
    let mut device = NoopController::new(sq, cq, 1);
    let driver = DriverFn(move || {
        device.drive(64).expect("good doorbells");
    });
    let queue = KvQueue::new(&space, host, 64, 1).expect("fits");
    let cache = CacheOptions { policy, ..CacheOptions::sized(64 << 20) };
    let hub = Arc::new(Hub::new(vec![queue], Options { cache, ..Options::default() }));
    for n in 0..ENTRIES as u64 {
        let version = hub.look(&key(n), &mut Free, |_| ()).expect_err("nothing is written");
        hub.fill(&key(n), &[7; VALUE_BYTES], version, &mut Free);
    }
    Session::new(hub, (0, 0), driver, 1 << 20, Patience::default())
}

/// A get by its label.
type Get = (&'static str, Box<dyn FnMut(&Key)>);

/// Reads that hit: the session's call, and the library's own with the lock that threads need.
fn gets() -> Vec<Get> {
    let lru = Mutex::new(lru::LruCache::new(NonZeroUsize::new(ENTRIES).expect("not zero")));
    let fifo = quick_cache::sync::Cache::new(2 * ENTRIES);
    for n in 0..ENTRIES as u64 {
        lru.lock().expect("one thread").put(key(n), value());
        fifo.insert(key(n), value());
    }
    let session_get = |policy| {
        let mut session = session(policy);
        Box::new(move |key: &Key| drop(black_box(session.get(key).expect("cached").expect("there"))))
            as Box<dyn FnMut(&Key)>
    };
    vec![
        ("lru", Box::new(move |key: &Key| used(lru.lock().expect("one thread").get(key).expect("there")))),
        ("session-lru", session_get(CachePolicy::Lru)),
        ("quick_cache", Box::new(move |key: &Key| used(&fifo.get(key).expect("there")))),
        ("session-s3fifo", session_get(CachePolicy::S3Fifo)),
    ]
}

fn round(get: &mut dyn FnMut(&Key), keys: &[Key]) -> f64 {
    let begun = Instant::now();
    keys.iter().for_each(get);
    begun.elapsed().as_nanos() as f64 / keys.len() as f64
}

/// In turn, so that the machine's moods meet all of them.
fn cached_gets(keys: &[Key]) {
    let mut gets = gets();
    let mut times = vec![Vec::new(); gets.len()];
    for _ in 0..ROUNDS {
        for (n, (_, get)) in gets.iter_mut().enumerate() {
            times[n].push(round(get, keys));
        }
    }
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        })
        .collect();
    println!("\na cached get of {VALUE_BYTES} B, medians of {ROUNDS}: the library's own, the session's");
    for n in [0, 2] {
        let (library, session) = (medians[n], medians[n + 1]);
        println!("{:<20} {library:>6.1} ns  {session:>6.1} ns  {:.2} times", gets[n].0, session / library);
    }
}

fn main() {
    let mut rng = Seed(2).rng();
    let keys: Vec<Key> = (0..READS / 2).map(|_| key(rng.below(ENTRIES as u64))).collect();
    match std::env::args().nth(1) {
        Some(label) => {
            let mut gets = gets();
            let (_, get) = gets.iter_mut().find(|(name, _)| *name == label).expect("one of the labels");
            round(get, &keys);
        }
        None => {
            hits_and_time();
            cached_gets(&keys);
        }
    }
}
