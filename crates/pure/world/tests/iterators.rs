// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of the device: in both directions, while it is written, compacted and collected; their bounds and ends.

use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Attachment, EngineKind, Stats};
use saker_host::{
    ClientOptions, ConnectOptions, Connection, DeviceIterator, Driver, HostError, KeyRange, KvClient,
    KvError, KvStoreClient, Patience, ScanOptions, ScanOrder,
};
use saker_nvme::{Key, Status};
use saker_profile::Profile;
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};
use std::collections::BTreeMap;

/// The engines that keep keys in order.
const ORDERED: [EngineKind; 2] = [EngineKind::LSM, EngineKind::TREE];

const PATIENCE: Patience = Patience { polls_max: 10_000_000 };

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn build(profile: &str, bytes: u64, engine: EngineKind) -> Build {
    let profile = Profile::builtin(profile).expect("built in");
    Build::kv(&profile, bytes, 1).expect("large enough").with_engine(engine)
}

fn connect<T: Driver>(host: &Attachment, mut device: T) -> (Connection, KvClient<T>) {
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}

fn open_on(build: &Build) -> (Connection, KvClient<Inline>) {
    let host = build.attach(2, 8);
    let device = Inline(build.untimed(host.clone()));
    connect(&host, device)
}

fn open(engine: EngineKind) -> (Connection, KvClient<Inline>) {
    open_on(&build("tiny", 32 << 20, engine))
}

fn key(n: u64) -> Vec<u8> {
    format!("k{n:04}").into_bytes()
}

fn named(key: &[u8]) -> Key {
    Key::new(key).expect("short")
}

fn put<T: Driver>(client: &mut KvClient<T>, model: &mut Model, k: &[u8], value: Vec<u8>) {
    client.put(&named(k), &value).expect("room");
    model.insert(k.to_vec(), value);
}

/// Stores and deletes among `keys` keys.
fn churn<T: Driver>(client: &mut KvClient<T>, model: &mut Model, rng: &mut Rng, (keys, steps): (u64, u64)) {
    for step in 0..steps {
        let k = key(rng.below(keys));
        if rng.below(5) == 0 {
            assert_eq!(client.delete(&named(&k)), Ok(model.remove(&k).is_some()));
        } else {
            put(client, model, &k, vec![step as u8; rng.below(300) as usize]);
        }
    }
}

fn all<T: Driver>(
    client: &mut KvClient<T>,
    iterator: &mut DeviceIterator,
    step: u32,
    backwards: bool,
) -> Pairs {
    let mut found = Pairs::new();
    loop {
        let batch = client.next_pairs(iterator, step, backwards, None).expect("sound");
        found.extend(batch.pairs().map(|(k, v)| (k.to_vec(), v.to_vec())));
        if batch.is_last() {
            return found;
        }
    }
}

fn pairs<'a>(range: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Pairs {
    range.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Every pair once, with the value of the moment of opening, however much is written between two batches.
fn while_written<T: Driver>(client: &mut KvClient<T>, (keys, steps): (u64, u64), pairs_max: u32) {
    let (mut model, mut rng) = (Model::new(), Seed(7).rng());
    churn(client, &mut model, &mut rng, (keys, 3 * keys));
    for round in 0..4 {
        let seen = model.clone();
        let (from, to) = (key(keys / 8), key(keys * 7 / 8));
        let range = KeyRange { from: &from, to: &to, prefix: b"k" };
        let mut iterator = client.open_iterator(&range, false, None).expect("opens").expect("it has them");
        let mut found = Pairs::new();
        loop {
            let batch = client.next_pairs(&mut iterator, pairs_max + round, false, None).expect("sound");
            found.extend(batch.pairs().map(|(k, v)| (k.to_vec(), v.to_vec())));
            if batch.is_last() {
                break;
            }
            churn(client, &mut model, &mut rng, (keys, steps));
        }
        let wanted = |(k, _): &(&Vec<u8>, &Vec<u8>)| range.contains(k);
        assert_eq!(found, pairs(seen.iter().filter(wanted)), "forwards");
        let back = all(client, &mut iterator, 7, true);
        assert_eq!(back, pairs(seen.iter().filter(wanted).rev()), "backwards");
        client.close_iterator(iterator).expect("closes");
    }
}

#[test]
fn scans_show_one_moment_while_compactions_and_collections_run() {
    let (_connection, mut client) = open_on(&build("tiny", 16 << 20, EngineKind::LSM));
    while_written(&mut client, (9000, 400), 100);
    let snapshot = client.driver_mut().0.stats();
    let counters: BTreeMap<_, _> = snapshot.namespaces[0].counters.iter().copied().collect();
    assert!(counters["compactions"] > 5 && counters["flushes"] > 15, "{counters:?}");
    assert!(snapshot.namespaces[0].store.gc_segments > 0, "values were collected meanwhile");
    assert_eq!(counters["num_snapshots"], 0, "closed iterators keep nothing");
}

#[test]
fn scans_show_one_moment_while_merges_and_collections_run() {
    let (_connection, mut client) = open_on(&build("tiny", 16 << 20, EngineKind::TREE));
    while_written(&mut client, (9000, 400), 100);
    let snapshot = client.driver_mut().0.stats();
    let counters: BTreeMap<_, _> = snapshot.namespaces[0].counters.iter().copied().collect();
    assert!(counters["merges"] > 5 && counters["roots"] > counters["merges"], "{counters:?}");
    assert!(snapshot.namespaces[0].store.gc_segments > 0, "values were collected meanwhile");
    assert_eq!(counters["num_snapshots"], 0, "closed iterators keep nothing");
}

#[test]
fn the_same_in_virtual_time() {
    ORDERED.into_iter().for_each(in_virtual_time);
}

fn in_virtual_time(engine: EngineKind) {
    let build = build("tiny", 32 << 20, engine);
    let host = build.attach(2, 8);
    let device = Clocked(build.timed(host.clone()));
    let (_connection, mut client) = connect(&host, device);
    while_written(&mut client, (300, 40), 10);
}

#[test]
fn seeks_go_to_a_key_and_turn_round() {
    ORDERED.into_iter().for_each(seek_on);
}

fn seek_on(engine: EngineKind) {
    let (_connection, mut client) = open(engine);
    let mut model = Model::new();
    (0..50).for_each(|n| put(&mut client, &mut model, &key(2 * n), vec![n as u8; 5]));
    let range = KeyRange { from: &key(10), to: &key(80), prefix: b"" };
    let mut it = client.open_iterator(&range, false, None).expect("opens").expect("it has them");
    let mut step = |backwards, seek: Option<u64>| {
        let seek = seek.map(|n| named(&key(n)));
        let batch = client.next_pairs(&mut it, 1, backwards, seek).expect("sound");
        batch.pairs().next().map(|(k, _)| k.to_vec())
    };
    assert_eq!(step(true, None), None, "nothing is before the range");
    assert_eq!([step(false, None), step(false, None)], [Some(key(10)), Some(key(12))]);
    assert_eq!([step(true, None), step(true, None), step(true, None)], [Some(key(12)), Some(key(10)), None]);
    assert_eq!([step(false, Some(41)), step(false, None)], [Some(key(42)), Some(key(44))], "the next one");
    assert_eq!([step(true, Some(41)), step(true, None)], [Some(key(40)), Some(key(38))], "the one before");
    assert_eq!(
        [step(true, Some(42)), step(false, Some(42))],
        [Some(key(42)), Some(key(42))],
        "the key itself"
    );
    assert_eq!([step(false, Some(2)), step(true, Some(98))], [Some(key(10)), Some(key(78))], "in the range");
    assert_eq!([step(false, Some(79)), step(true, Some(9))], [None, None]);
    client.close_iterator(it).expect("closes");
}

#[test]
fn values_longer_than_a_batch_and_keys_alone() {
    ORDERED.into_iter().for_each(long_values_on);
}

fn long_values_on(engine: EngineKind) {
    let (_connection, mut client) = open_on(&build("default", 1 << 30, engine));
    let mut model = Model::new();
    put(&mut client, &mut model, b"a", vec![1; 10]);
    put(&mut client, &mut model, b"b", vec![2; 100_000]);
    put(&mut client, &mut model, b"c", vec![]);
    let mut it = client.open_iterator(&KeyRange::default(), false, None).expect("opens").expect("has");
    assert_eq!(all(&mut client, &mut it, 0, false), pairs(model.iter()));
    let keys_only = client.open_iterator(&KeyRange::default(), true, Some(&it));
    put(&mut client, &mut model, b"d", vec![4]);
    let mut beside = keys_only.expect("opens").expect("has");
    let found: Vec<_> = all(&mut client, &mut beside, 0, false);
    assert_eq!(found, [&b"a"[..], b"b", b"c"].map(|k| (k.to_vec(), Vec::new())));
    client.close_iterator(it).expect("closes");
    assert_eq!(all(&mut client, &mut beside, 2, true).len(), 3, "what is shared outlives the first holder");
    client.close_iterator(beside).expect("closes");
}

#[test]
fn a_queue_has_sixteen_and_they_end() {
    ORDERED.into_iter().for_each(sixteen_on);
}

fn sixteen_on(engine: EngineKind) {
    let (_connection, mut client) = open(engine);
    let open = |client: &mut KvClient<_>| client.open_iterator(&KeyRange::default(), false, None);
    let mut iterators: Vec<_> = (0..16).map(|_| open(&mut client).expect("opens").expect("has")).collect();
    assert_eq!(open(&mut client).err(), Some(HostError::Kv(KvError::ManyIterators)));
    client.close_iterator(iterators.pop().expect("sixteen")).expect("closes");
    iterators.push(open(&mut client).expect("opens").expect("has"));
    // Writes of more than an eighth of the capacity: who has not been used since has timed out.
    let capacity = client.driver_mut().0.stats().namespaces[0].capacity_bytes;
    let mut used = iterators.pop().expect("sixteen");
    for n in 0..capacity / 8 / 4096 + 2 {
        client.put(&named(&key(n % 50)), &[n as u8; 4096]).expect("room");
        client.next_pairs(&mut used, 1, false, None).expect("it is used");
    }
    let idle = iterators.pop().expect("fifteen");
    let mut idle_again = idle;
    let late = client.next_pairs(&mut idle_again, 1, false, None);
    assert_eq!(late.err(), Some(HostError::Kv(KvError::NotFound)));
    client.close_iterator(idle_again).expect("ended already");
    client.next_pairs(&mut used, 1, false, None).expect("it is there");
    let snapshots = |client: &mut KvClient<Inline>| {
        let counters = client.driver_mut().0.stats().namespaces[0].counters.clone();
        counters.into_iter().find(|(name, _)| *name == "num_snapshots").map(|(_, n)| n)
    };
    assert_eq!(snapshots(&mut client), Some(1));
}

/// On a full device hardly anything is written: what is refused counts, too.
fn idle_on_a_full_one<T: Driver>(client: &mut KvClient<T>, what: &str, stats: fn(&mut T) -> Stats) {
    let (full, value) = (Err(HostError::Kv(KvError::Full)), vec![7; 2000]);
    let taken = (0..).find(|n| client.put(&named(&key(*n)), &value) == full).expect("it is full some time");
    let mut iterator = client.open_iterator(&KeyRange::default(), false, None).expect("opens").expect("has");
    let (mut gone, mut moved, mut stored, mut refused) = (0, 0, 0, 0);
    for n in (0..taken).step_by(2) {
        assert_eq!(client.delete(&named(&key(n))), Ok(true), "{what}: a full device deletes");
        (gone, moved) = (gone + 1, moved + key(n).len() as u64);
    }
    let eighth = stats(client.driver_mut()).namespaces[0].capacity_bytes / 8;
    let new = |n: u64| named(format!("new{n:05}").as_bytes());
    let holds = |(name, n): &(&str, u64)| *name == "num_snapshots" && *n > 0;
    while stats(client.driver_mut()).namespaces[0].counters.iter().any(holds) {
        match client.put(&new(stored), &value) {
            Ok(()) => stored += 1,
            outcome => (assert_eq!(outcome, full, "{what}"), refused += 1).1,
        }
        moved += 8 + value.len() as u64;
        assert!(moved < 2 * eighth, "{what}: {stored} stored and {refused} refused, and it is there");
    }
    assert!(
        refused > stored && moved > eighth,
        "{what}: {stored} stored, {refused} refused, {moved} of {eighth}"
    );
    let late = client.next_pairs(&mut iterator, 1, false, None);
    assert_eq!(late.err(), Some(HostError::Kv(KvError::NotFound)), "{what}");
    let fits = (stored..).find(|n| client.put(&new(*n), &value) == full).expect("it is full again");
    assert!(fits * 100 >= gone * 95, "{what}: {fits} fit after {gone} went");
}

#[test]
fn refused_stores_make_idle_ones_time_out() {
    for engine in ORDERED {
        let build = build("tiny", 16 << 20, engine);
        let (_connection, mut client) = open_on(&build);
        idle_on_a_full_one(&mut client, &format!("{engine:?}"), |device| device.0.stats());
        let host = build.attach(2, 8);
        let device = Clocked(build.timed(host.clone()));
        let (_connection, mut client) = connect(&host, device);
        let what = format!("{engine:?} in virtual time");
        idle_on_a_full_one(&mut client, &what, |device| device.0.stats());
    }
}

#[test]
fn other_engines_say_that_they_have_none() {
    for engine in [EngineKind::HASH_STORE, EngineKind::HASH_PLUS, EngineKind::HASH_ORIGINAL] {
        let (_connection, mut client) = open(engine);
        assert!(client.open_iterator(&KeyRange::default(), false, None).expect("an answer").is_none());
        let queue = client.queue_mut();
        let ticket = queue.iterator_next(1, (4096, 0), false, None).expect("room");
        queue.ring();
        client.driver_mut().drive();
        let status = client.queue_mut().poll(|done| (done.ticket == ticket, done.status));
        assert_eq!(status.expect("completed").expect("sound"), (true, Status::INVALID_OPCODE));
    }
}

/// On every engine, with keys of all lengths.
#[test]
fn scans_show_every_pair_of_a_range_once() {
    for engine in EngineKind::ALL {
        let (_connection, client) = open(*engine);
        let (mut store, mut model, mut rng) = (KvStoreClient::new(client), Model::new(), Seed(3).rng());
        for n in 0..700_u64 {
            let mut k = key(rng.below(500));
            k.resize([5, 16, 17, 40, 255][rng.below(5) as usize], b'x');
            store.put(&k, &vec![n as u8; rng.below(100) as usize]).expect("room");
            model.insert(k, vec![n as u8; 0]);
        }
        model.iter_mut().for_each(|(k, v)| *v = store.get(k).expect("sound").expect("stored"));
        let (from, to) = (key(100), b"k0300xxxxxxxxxxxxxxxxxxxxxxx".to_vec());
        for range in [
            KeyRange::default(),
            KeyRange { from: &from, to: &to, prefix: b"" },
            KeyRange { from: b"", to: b"", prefix: b"k04" },
            KeyRange { from: b"k0100xxxxxxxxxxxxxxxxxxxx", to: &to, prefix: b"k0100xxxxxxxxxxxxxxxxxxxxx" },
        ] {
            let options = ScanOptions { range, ..ScanOptions::default() };
            let mut found = Pairs::new();
            let order = store.scan(&options, |k, v| {
                found.push((k.to_vec(), v.to_vec()));
                true
            });
            let has = if ORDERED.contains(engine) { ScanOrder::Bytes } else { ScanOrder::Device };
            assert_eq!(order, Ok(has));
            let short: Vec<_> = found.iter().map(|(k, _)| k).filter(|k| k.len() <= 16).collect();
            assert!(has == ScanOrder::Device || short.is_sorted());
            found.sort();
            assert_eq!(found, pairs(model.iter().filter(|(k, _)| range.contains(k))), "{engine:?} {range:?}");
        }
        backwards_on(*engine, &mut store, &model);
        let mut left = 3;
        let few = store.scan(&ScanOptions { pairs_max: 3, ..ScanOptions::default() }, |_, _| {
            left -= 1;
            left > 0
        });
        assert!(few.is_ok() && left == 0);
    }
}

fn backwards_on<T: Driver>(
    engine: EngineKind,
    store: &mut KvStoreClient<T, impl saker_long_keys::KeyDigest>,
    model: &Model,
) {
    let (from, to) = (key(100), b"k0300xxxxxxxxxxxxxxxxxxxxxxx".to_vec());
    for range in [
        KeyRange::default(),
        KeyRange { from: &from, to: &to, prefix: b"" },
        KeyRange { from: b"", to: b"", prefix: b"k04" },
    ] {
        let mut found = Pairs::new();
        let order = store.scan(&ScanOptions { range, backwards: true, ..ScanOptions::default() }, |k, v| {
            found.push((k.to_vec(), v.to_vec()));
            true
        });
        if !ORDERED.contains(&engine) {
            assert_eq!((order, found.len()), (Err(HostError::NoOrder), 0));
            continue;
        }
        assert_eq!(order, Ok(ScanOrder::Bytes));
        let short = found.iter().map(|(k, _)| k).filter(|k| k.len() <= 16);
        assert!(short.is_sorted_by(|a, b| a > b));
        found.sort();
        assert_eq!(found, pairs(model.iter().filter(|(k, _)| range.contains(k))), "{engine:?} {range:?}");
    }
    // Asked before each batch, of which there are several, whatever they have.
    let mut batches = 0;
    let range = KeyRange { from: b"", to: b"", prefix: b"none" };
    let ended = store.scan_while(
        &ScanOptions { range, pairs_max: 1, ..ScanOptions::default() },
        || {
            batches += 1;
            false
        },
        |_, _| panic!("it was not to go on"),
    );
    assert!(ended.is_ok() && batches > 0, "{ended:?}");
}
