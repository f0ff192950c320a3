// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of 17 to 255 bytes: by pointer, in groups, through envelopes, side by side on one device; with digests that collide.

use saker_assembly::Build;
use saker_assembly::port;
use saker_engine::EngineKind;
use saker_host::group::{Form, Op};
use saker_host::long_keys::Xxh3Digest;
use saker_host::{
    ClientOptions, Condition, ConnectOptions, Connection, HostError, KvClient, KvError, KvStoreClient,
    Patience, WriteBatch,
};
use saker_long_keys::{KeyDigest, NarrowDigest};
use saker_nvme::group::Packer;
use saker_nvme::vendor_specific::{IndirectCommand, IndirectOp, Methods};
use saker_nvme::{Key, Status};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::{Clocked, Inline};
use std::collections::BTreeMap;

const PATIENCE: Patience = Patience { polls_max: 1_000_000 };

type Client = KvClient<Inline>;

fn build(methods: Methods, bits: u32) -> Build {
    let profile = Profile::builtin("tiny").expect("built in");
    let mut build = Build::kv(&profile, 32 << 20, 1).expect("large enough");
    build.config.methods = methods;
    build.config.long_key_digest = NarrowDigest { bits };
    build
}

fn open(methods: Methods, bits: u32) -> (Connection, Client) {
    open_on(EngineKind::HASH_STORE, methods, bits)
}

fn open_on(engine: EngineKind, methods: Methods, bits: u32) -> (Connection, Client) {
    let build = build(methods, bits).with_engine(engine);
    let host = build.attach(2, 8);
    let mut device = Inline(build.untimed(host.clone()));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}

fn key(n: u64, bytes: usize) -> Vec<u8> {
    let mut key = n.to_be_bytes().repeat(32);
    key.truncate(bytes);
    key
}

/// Random operations on few keys, one by one and in groups, against a model.
fn against_a_model(client: &mut Client, seed: u64, rounds: u32) {
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut rng = Seed(seed).child("long keys").rng();
    let mut below = |n: u64| rng.below(n);
    for round in 0..rounds {
        let mut entries: BTreeMap<Vec<u8>, (Op, Vec<u8>)> = BTreeMap::new();
        let members = if below(3) == 0 { 1 } else { below(12) + 1 };
        for _ in 0..members {
            let bytes = [3, 16, 17, 23, 32, 200, 255][below(7) as usize];
            let op = Op::from_number(below(4) as u32 + 1).expect("a type");
            let value = if op == Op::Store { vec![round as u8; below(300) as usize] } else { Vec::new() };
            entries.insert(key(below(6), bytes), (op, value));
        }
        let mut group = client.begin(Form::Mixed);
        for (key, (op, value)) in &entries {
            match op {
                Op::Store => group.store(key, value),
                Op::Retrieve => group.retrieve(key),
                Op::Delete => group.delete(key),
                Op::Exist => group.exist(key),
            }
            .expect("mixed");
        }
        let told = group.commit().expect("carried out");
        for ((key, (op, value)), told) in entries.into_iter().zip(told) {
            let before = model.get(&key).cloned();
            let missing = Err(HostError::Kv(KvError::NotFound));
            let expected = match op {
                Op::Store => {
                    model.insert(key.clone(), value);
                    Ok(None)
                }
                Op::Retrieve => before.clone().map_or(missing, |value| Ok(Some(value))),
                Op::Delete => model.remove(&key).map_or(missing, |_| Ok(None)),
                Op::Exist => before.clone().map_or(missing, |_| Ok(None)),
            };
            assert_eq!(told, expected, "round {round}: {op:?} of {key:?}");
        }
    }
    let keys: Vec<_> =
        (0..6).flat_map(|n| [3, 16, 17, 23, 32, 200, 255].map(|bytes| key(n, bytes))).collect();
    let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
    assert_eq!(client.multi_get(&keys), Ok(expected));
}

#[test]
fn random_groups_do_what_single_operations_do() {
    for engine in EngineKind::ALL {
        let (_connection, mut client) = open_on(*engine, Methods::ALL, 128);
        against_a_model(&mut client, 1, if *engine == EngineKind::HASH_STORE { 400 } else { 100 });
        let stats = client.group_stats();
        assert!(stats.fetches == 0 && stats.groups > 0, "{}: {stats:?}", engine.name());
    }
}

/// A Bulk Put stores pairs under keys of any length, whatever the engine.
#[test]
fn bulk_puts_take_long_keys() {
    for engine in EngineKind::ALL {
        let (_connection, mut client) = open_on(*engine, Methods::ALL, 2);
        let keys: Vec<_> = [1, 16, 17, 255, 40].into_iter().zip(1..).map(|(len, n)| key(n, len)).collect();
        let mut payload = vec![0; 4096];
        let mut packer = Packer::new(Form::All(Op::Store), &mut payload).expect("room");
        for key in &keys {
            packer.push(Op::Store, key, &key[..key.len() / 2]).expect("room");
        }
        let bytes = packer.finish();
        let ticket = client.queue_mut().bulk_put(&payload[..bytes]).expect("room");
        let mut failed = None;
        for _ in 0..10_000 {
            client.queue_mut().ring();
            if let Some(done) = client.queue_mut().poll(|d| (d.ticket, d.status, d.result)) {
                failed = Some(done.expect("an answer"));
                break;
            }
            saker_host::Driver::drive(client.driver_mut());
        }
        assert_eq!(failed, Some((ticket, Status::SUCCESS, 0)), "{}", engine.name());
        let values = client.multi_get(&keys).expect("reads");
        let stored: Vec<_> = keys.iter().map(|k| Some(k[..k.len() / 2].to_vec())).collect();
        assert_eq!(values, stored, "{}", engine.name());
    }
}

/// With one way groups, and with none, the answers are the same.
#[test]
fn devices_without_all_methods_do_the_same() {
    for methods in [
        Methods::default().with_groups(true).with_indirect_keys(true),
        Methods::default().with_indirect_keys(true),
    ] {
        let (_connection, mut client) = open(methods, 128);
        against_a_model(&mut client, 2, 150);
    }
}

/// A digest of two bits makes nearly all long keys share four envelopes; one of none makes all share one.
#[test]
fn keys_of_one_digest_do_not_disturb_each_other() {
    for bits in [0, 2] {
        let (_connection, mut client) = open(Methods::ALL, bits);
        against_a_model(&mut client, 3 + u64::from(bits), 250);
    }
}

/// Operations one by one, and what a group with colliding keys leaves, by name.
#[test]
fn a_collision_costs_no_pair() {
    let (_connection, mut client) = open(Methods::ALL, 0);
    let keys: Vec<_> = (0..5).map(|n| key(n, 17 + n as usize)).collect();
    for (n, key) in keys.iter().enumerate() {
        client.put_indirect(key, &[n as u8; 3], Condition::MustNotExist).expect("new");
        assert_eq!(client.put_indirect(key, b"", Condition::MustNotExist), Err(KvError::Exists.into()));
    }
    assert_eq!(client.put_indirect(&key(9, 20), b"", Condition::MustExist), Err(KvError::NotFound.into()));
    assert_eq!(client.delete_indirect(&keys[2]), Ok(true));
    assert_eq!(client.delete_indirect(&keys[2]), Ok(false));
    let mut group = client.begin(Form::Mixed);
    group
        .delete(&keys[0])
        .and_then(|g| g.store(&keys[2], b"again"))
        .and_then(|g| g.retrieve(&keys[1]))
        .expect("mixed");
    assert_eq!(group.commit(), Ok(vec![Ok(None), Ok(None), Ok(Some(vec![1; 3]))]));
    let values =
        keys.iter().map(|key| client.get_indirect(key)).collect::<Result<Vec<_>, _>>().expect("reads");
    assert_eq!(values, [None, Some(vec![1; 3]), Some(b"again".to_vec()), Some(vec![3; 3]), Some(vec![4; 3])]);
    // All of them are in one envelope.
    let listed: Vec<Key> = client.list(None).collect::<Result<_, _>>().expect("lists");
    assert_eq!(listed.len(), 1);
    for key in &keys {
        assert_eq!(client.delete_indirect(key), Ok(*key != keys[0]));
    }
    assert_eq!(client.list(None).count(), 0);
}

/// What one writes the other reads, lists and deletes.
#[test]
fn pointers_and_envelopes_are_one_store() {
    let (_connection, client) = open(Methods::ALL, 128);
    let mut store = KvStoreClient::new(client);
    assert!(store.has_long_keys_by_pointer());
    for n in 0..20 {
        store.put(&key(n, 40), &[n as u8; 70]).expect("room");
    }
    let mut batch = WriteBatch::new();
    batch.put(&key(20, 40), b"batch").put(b"short", b"1").delete(&key(0, 40));
    store.write(&batch).expect("room");
    assert_eq!(store.native().group_stats().singles, 0, "long keys went with the group");
    let mut store = KvStoreClient::with_digest(store.into_client(), Xxh3Digest);
    assert!(!store.has_long_keys_by_pointer());
    assert_eq!(store.get(&key(7, 40)), Ok(Some(vec![7; 70])));
    assert_eq!(store.get(&key(0, 40)), Ok(None));
    assert_eq!(store.list(None).filter(|key| key.as_ref().is_ok_and(|key| key.len() == 40)).count(), 20);
    store.put(&key(7, 40), b"through an envelope").expect("room");
    assert_eq!(store.delete(&key(8, 40)), Ok(true));
    let mut store = KvStoreClient::new(store.into_client());
    let found = store.multi_get(&[&key(7, 40), &key(8, 40), &key(20, 40), b"short"]).expect("reads");
    assert_eq!(
        found,
        [Some(b"through an envelope".to_vec()), None, Some(b"batch".to_vec()), Some(b"1".to_vec())]
    );
}

#[test]
fn long_values_go_in_and_out() {
    let (_connection, client) = open(Methods::ALL, 128);
    let mut store = KvStoreClient::new(client);
    let longest = store.long_value_bytes_max(100);
    for bytes in [0, 1, 4096, 4097, longest] {
        let value: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
        store.put(&key(1, 100), &value).expect("room");
        assert!(store.get(&key(1, 100)).expect("reads") == Some(value.clone()), "{bytes} bytes");
        let mut buffer = vec![0; 50];
        assert_eq!(store.get_into(&key(1, 100), &mut buffer), Ok(Some(bytes)));
        assert_eq!(buffer[..bytes.min(50)], value[..bytes.min(50)]);
    }
    let refused = store.put(&key(1, 100), &vec![0; longest + 1]);
    assert!(matches!(refused, Err(HostError::ValueLength { .. })), "{refused:?}");
}

/// A key in no memory, a value that is too long for an envelope, a broken envelope: each its status, and nothing changes.
#[test]
fn outside_bytes_become_status() {
    let (_connection, mut client) = open(Methods::ALL, 128);
    client.put_indirect(&key(1, 30), b"before", Condition::Always).expect("room");
    let send = |client: &mut Client, op: IndirectOp, key_address: u64| {
        let sqe = IndirectCommand { op, key_address, key_bytes: 30 }.encode(1);
        let ticket = client.queue_mut().raw(sqe, saker_host::RawData::Untouched).expect("room");
        client.queue_mut().ring();
        loop {
            let polled = client.queue_mut().poll(|done| (done.ticket == ticket).then_some(done.status));
            match polled {
                Some(status) => break status.expect("an answer").expect("ours"),
                None => saker_host::Driver::drive(client.driver_mut()),
            }
        }
    };
    for op in [IndirectOp::Delete, IndirectOp::Exist] {
        assert_eq!(send(&mut client, op, u64::MAX - 5), Status::DATA_TRANSFER_ERROR);
    }
    let mut at = [0; 16];
    at.copy_from_slice(&saker_long_keys::device_key(&key(2, 30), &NarrowDigest::default()));
    client.put(&Key::new(&at).expect("16 bytes"), b"no envelope").expect("room");
    assert_eq!(client.get_indirect(&key(2, 30)), Err(KvError::Damaged.into()));
    let mut group = client.begin(Form::Mixed);
    group.store(key(2, 30), b"x").and_then(|g| g.store(key(3, 30), b"y")).expect("mixed");
    assert_eq!(group.commit(), Ok(vec![Err(KvError::Damaged.into()), Ok(None)]));
    assert_eq!(client.get_indirect(&key(1, 30)), Ok(Some(b"before".to_vec())));
    assert!(NarrowDigest::default().digest(b"a") != NarrowDigest::default().digest(b"b"));
}

/// One more fetch: a pair with a long key takes longer than with a short one, by the profile's round trip at least.
#[test]
fn the_fetch_of_a_key_takes_time() {
    let mut profile = Profile::builtin("saker-mid").expect("built in");
    let time = |profile: &Profile, long: bool| {
        let build = Build::kv(profile, 512 << 20, 1).expect("large enough");
        let host = build.attach(2, 8);
        let mut device = Clocked(build.timed(host.clone()));
        let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
        let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
        let mut client = KvClient::open(&mut connection, device, 1, options).expect("opens");
        let begun = client.driver_mut().0.now();
        if long {
            assert_eq!(client.exists_indirect(&key(1, 32)), Ok(false));
        } else {
            assert_eq!(client.exists(&Key::new(&key(1, 16)).expect("16 bytes")), Ok(false));
        }
        let bytes = client.driver_mut().0.stats().device.traffic.to_device.bytes();
        (client.driver_mut().0.now().since(begun).as_nanos(), bytes)
    };
    let more = |profile: &Profile| {
        let ((short, none), (long, key)) = (time(profile, false), time(profile, true));
        assert_eq!((none, key), (0, 32));
        long - short
    };
    let before = more(&profile);
    let latency = profile.link.latency_ns.get();
    profile.set("link.latency_ns", &(latency + 1000).to_string()).expect("a number");
    assert_eq!(more(&profile) - before, 2000, "a round trip of its own");
}

/// In a group that is no transaction a key with the mark of envelopes is that of an envelope, as it is in Store and Retrieve.
#[test]
fn marked_keys_of_plain_groups_are_those_of_envelopes() {
    for engine in EngineKind::ALL.iter().copied() {
        let (_connection, mut client) = open_on(engine, Methods::ALL, 128);
        client.put_indirect(&key(1, 30), b"in an envelope", Condition::Always).expect("room");
        let mut at = [0; 16];
        at.copy_from_slice(&saker_long_keys::device_key(&key(1, 30), &NarrowDigest::default()));
        let envelope = client.get(&Key::new(&at).expect("16 bytes")).expect("reads").expect("is there");
        let mut copied = at;
        copied[15] ^= 1;
        let mut group = client.begin(Form::All(Op::Store));
        group.store(copied, &envelope).and_then(|g| g.store(b"beside", b"1")).expect("stores");
        assert!(group.commit().expect("carried out").iter().all(Result::is_ok), "{}", engine.name());
        let copy = client.get(&Key::new(&copied).expect("16 bytes")).expect("reads");
        assert_eq!(copy, Some(envelope), "{}: as it was given", engine.name());
    }
}
