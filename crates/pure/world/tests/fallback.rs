// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same calls on devices with all of groups, with one way only, and with none.

use saker_assembly::Build;
use saker_assembly::port;
use saker_device::Attachment;
use saker_engine::EngineKind;
use saker_host::group::{Form, Op};
use saker_host::transfer::{Available, TransferOptions};
use saker_host::{
    ClientOptions, ConnectOptions, Connection, HostError, KvClient, KvError, KvStoreClient, OpOutcome,
    Patience, WriteBatch,
};
use saker_nvme::Key;
use saker_nvme::vendor_specific::Methods;
use saker_profile::Profile;
use saker_world::Inline;

const PATIENCE: Patience = Patience { polls_max: 100_000 };

fn open(methods: Methods) -> (Connection, KvClient<Inline>) {
    let profile = Profile::builtin("default").expect("built in");
    let mut build = Build::kv(&profile, 512 << 20, 1).expect("large enough");
    build.config.methods = methods;
    open_on(&build)
}

fn open_on(build: &Build) -> (Connection, KvClient<Inline>) {
    let host: Attachment = build.attach(2, 8);
    let mut device = Inline(build.untimed(host.clone()));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}

fn key(n: u32) -> Key {
    Key::new(&n.to_be_bytes()).expect("four bytes")
}

/// Runs through every call; returns everything that was answered.
fn run(client: &mut KvClient<Inline>) -> Vec<OpOutcome> {
    let mut told = Vec::new();
    let mut stores = client.begin(Form::All(Op::Store));
    for n in 0..100 {
        stores.store(key(n), &vec![n as u8; n as usize * 60]).expect("a store");
    }
    told.extend(stores.commit().expect("carried out"));
    let mut mixed = client.begin(Form::Mixed);
    for n in 80..120 {
        match n % 4 {
            0 => mixed.delete(key(n)),
            1 => mixed.retrieve(key(n)),
            2 => mixed.exist(key(n)),
            _ => mixed.store(key(n), b"mixed"),
        }
        .expect("mixed");
    }
    told.extend(mixed.commit().expect("carried out"));
    let keys: Vec<_> = (0..130).map(key).collect();
    let values = client.multi_get(&keys).expect("reads");
    let there = client.multi_exist(&keys).expect("looks");
    assert_eq!(values.iter().map(Option::is_some).collect::<Vec<_>>(), there);
    told.extend(values.into_iter().map(Ok));
    told
}

#[test]
fn every_device_gives_the_same_answers() {
    let one_way = Methods::default().with_groups(true);
    let devices = [Methods::ALL, one_way, Methods::default()].map(|methods| {
        let (_connection, mut client) = open(methods);
        let told = run(&mut client);
        (told, client.group_stats())
    });
    let [(all, both), (one, two_commands), (none, singles)] = devices;
    assert!(all == one && one == none);
    assert!(all.contains(&Err(HostError::Kv(KvError::NotFound))));
    assert_eq!((both.singles, both.fetches), (0, 0));
    assert!(two_commands.singles == 0 && two_commands.fetches >= 3, "{two_commands:?}");
    assert_eq!((singles.groups, singles.singles), (0, 100 + 40 + 130 + 130));
}

#[test]
fn long_keys_go_beside_a_group_that_cannot_take_them() {
    let (_connection, client) = open(Methods(Methods::ALL.0).with_indirect_keys(false));
    let mut store = KvStoreClient::new(client);
    let long = vec![b'l'; 200];
    let mut batch = WriteBatch::new();
    batch.put(b"short", b"1").put(b"other", b"2").put(&long, b"3").delete(b"gone");
    store.write(&batch).expect("room");
    let values = store.multi_get(&[&long, b"other", b"gone", b"short"]).expect("reads");
    assert_eq!(values, [Some(b"3".to_vec()), Some(b"2".to_vec()), None, Some(b"1".to_vec())]);
    assert_eq!(store.native().group_stats().singles, 0);
    batch.clear();
    batch.delete(&long).put(&[1; 256], b"too long");
    assert_eq!(store.write(&batch), Err(HostError::KeyLength(256)));
    assert_eq!(store.get(&long), Ok(Some(b"3".to_vec())), "nothing was written");
}

/// Runs groups through a client and returns what they answered.
fn stores_and_reads(client: &mut KvClient<Inline>) -> [Vec<OpOutcome>; 2] {
    let mut stores = client.begin(Form::All(Op::Store));
    for n in 0..20 {
        stores.store(key(n), b"value").expect("a store");
    }
    let stored = stores.commit().expect("carried out");
    let keys: Vec<_> = (0..25).map(key).collect();
    let read = client.multi_get(&keys).expect("reads").into_iter().map(Ok).collect();
    [stored, read]
}

fn small(engine: EngineKind) -> Build {
    let profile = Profile::builtin("tiny").expect("built in");
    Build::kv(&profile, 64 << 20, 1).expect("large enough").with_engine(engine)
}

#[test]
fn every_engine_takes_groups_and_answers_alike() {
    let mut answers = Vec::new();
    for engine in EngineKind::ALL {
        let (_connection, mut client) = open_on(&small(*engine));
        answers.push(stores_and_reads(&mut client));
        assert_eq!((client.has_groups(), client.group_stats().singles), (true, 0), "{}", engine.name());
        answers.push([run(&mut client), Vec::new()]);
    }
    assert!(answers.chunks(2).all(|of_engine| of_engine == &answers[..2]), "{answers:?}");
}

/// A device that promises groups and refuses them: its log page is of another device.
#[test]
fn a_namespace_that_takes_none_is_asked_once() {
    let mut build = small(EngineKind::HASH_STORE);
    build.config.methods = Methods::default();
    let (_connection, mut client) = open_on(&build);
    let honest = *client.queue_mut().available();
    let boasting = Available { methods: Methods::ALL, group_bytes_max: 1 << 20, ..honest };
    client.queue_mut().set_transfer(TransferOptions::default(), boasting);
    assert!(client.has_groups(), "as far as is known");
    let told = stores_and_reads(&mut client);
    assert!(!client.has_groups());
    assert_eq!(client.group_stats().singles, 20 + 25);
    let (_connection, mut other) = open_on(&small(EngineKind::HASH_STORE));
    assert_eq!(told, stores_and_reads(&mut other));
}
