// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device of several shards does what one device does.

use saker_assembly::Build;
use saker_assembly::port;
use saker_device::Attachment;
use saker_engine::EngineKind;
use saker_host::group::{Ask, Form, Op};
use saker_host::{
    ClientOptions, ConnectOptions, Connection, Driver, HostError, KvClient, KvError, Patience, RawData,
};
use saker_link::DmaSpace;
use saker_nvme::group::{GroupCommand, Packer};
use saker_nvme::vendor_specific::Methods;
use saker_nvme::{Key, Status};
use saker_profile::Profile;
use saker_shards::{Shard, Sharded, shard_of};
use saker_sim::{Rng, Seed};
use saker_world::Inline;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PATIENCE: Patience = Patience { polls_max: 100_000 };

type Device = Sharded<Inline>;
type Client = KvClient<Device>;

fn open(shards: u64, engine: EngineKind) -> (Connection, Client) {
    open_with(shards, engine, Methods::default().with_groups(true).with_groups_both_ways(true))
}

fn open_with(shards: u64, engine: EngineKind, methods: Methods) -> (Connection, Client) {
    let profile = Profile::builtin("tiny").expect("built in");
    let space = DmaSpace::new(4000, 1000);
    let shard = |n| {
        let mut build = Build::kv(&profile, 32 << 20, n).expect("large enough").with_engine(engine);
        build.config.methods = methods;
        let host = Attachment::new(Arc::clone(&space), 1);
        let device = Inline(build.untimed(host.clone()));
        Shard::open(port(&host), device, 1, 16).expect("connects")
    };
    let mut device = Sharded::new((0..shards).map(shard).collect(), Arc::clone(&space));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(device.port(), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}

fn key(n: u64) -> Key {
    Key::new(&n.to_be_bytes()[6..]).expect("two bytes")
}

type Model = BTreeMap<Key, Vec<u8>>;

fn single(client: &mut Client, model: &mut Model, rng: &mut Rng) {
    let k = key(rng.below(300));
    match rng.below(4) {
        0 => {
            let mut value = vec![0; rng.below(6000) as usize];
            rng.fill(&mut value);
            client.put(&k, &value).expect("room");
            model.insert(k, value);
        }
        1 => assert_eq!(client.delete(&k), Ok(model.remove(&k).is_some())),
        2 => assert_eq!(client.exists(&k), Ok(model.contains_key(&k))),
        _ => assert_eq!(client.get(&k), Ok(model.get(&k).cloned())),
    }
}

fn group(client: &mut Client, model: &mut Model, rng: &mut Rng) {
    let keys: BTreeSet<u64> = (0..rng.below(40) + 2).map(|_| rng.below(300)).collect();
    let mut group = client.begin(Form::Mixed);
    let mut expected = Vec::new();
    let missing = || Err(HostError::Kv(KvError::NotFound));
    for k in keys.into_iter().map(key) {
        let found = model.get(&k).cloned();
        match Op::from_number(rng.below(4) as u32 + 1).expect("a type") {
            Op::Store => {
                let value = vec![rng.below(256) as u8; rng.below(100) as usize];
                group.store(k, &value).expect("taken");
                model.insert(k, value);
                expected.push(Ok(None));
            }
            Op::Delete => {
                group.delete(k).expect("taken");
                expected.push(model.remove(&k).map_or_else(missing, |_| Ok(None)));
            }
            Op::Exist => {
                group.exist(k).expect("taken");
                expected.push(found.map_or_else(missing, |_| Ok(None)));
            }
            Op::Retrieve => {
                group.retrieve(k).expect("taken");
                expected.push(found.map_or_else(missing, |value| Ok(Some(value))));
            }
        }
    }
    assert_eq!(group.commit().expect("carried out"), expected);
}

fn listed(client: &mut Client, from: Option<&Key>) -> Vec<Key> {
    client.list(from.copied()).map(|key| key.expect("listed")).collect()
}

#[test]
fn random_operations_and_groups_do_what_a_model_does() {
    for (shards, engine) in [(1, EngineKind::HASH_STORE), (3, EngineKind::HASH_STORE), (4, EngineKind::LSM)] {
        let (_connection, mut client) = open(shards, engine);
        let (mut model, mut rng) = (Model::new(), Seed(shards).rng());
        for round in 0..600 {
            if rng.below(3) == 0 {
                group(&mut client, &mut model, &mut rng);
            } else {
                single(&mut client, &mut model, &mut rng);
            }
            if round % 100 == 99 {
                let all = listed(&mut client, None);
                assert_eq!(all.len(), model.len(), "each key once");
                assert_eq!(all.iter().copied().collect::<BTreeSet<_>>(), model.keys().copied().collect());
                for (n, from) in all.iter().enumerate().step_by(17) {
                    assert_eq!(
                        listed(&mut client, Some(from)),
                        all[n..],
                        "from any key on in the same order"
                    );
                }
            }
        }
        client.flush().expect("all shards");
        let stats = client.group_stats();
        assert!(stats.groups > 100 && stats.singles == 0, "{stats:?}");
    }
}

#[test]
fn every_shard_has_its_share() {
    let mut counts = [0; 5];
    (0..10_000_u64).for_each(|n| counts[shard_of(key(n).as_bytes(), 5)] += 1);
    assert!(counts.iter().all(|n| (1850..2150).contains(n)), "{counts:?}");
}

fn status_of(client: &mut Client, payload: &[u8]) -> (Status, u32) {
    let command = GroupCommand::OneWay { id: None, form: Form::All(Op::Store), bytes: payload.len() as u32 };
    let queue = client.queue_mut();
    queue.raw(command.encode(1), RawData::ToDevice(payload)).expect("room");
    for _ in 0..10_000 {
        client.queue_mut().ring();
        client.driver_mut().drive();
        if let Some(done) = client.queue_mut().poll(|done| (done.status, done.result)) {
            return done.expect("an answer");
        }
    }
    panic!("no answer");
}

/// What is wrong with a group anywhere keeps every shard from it.
#[test]
fn malformed_groups_change_nothing_in_any_shard() {
    let (_connection, mut client) = open(3, EngineKind::HASH_STORE);
    let mut payload = vec![0; 4096];
    let mut packer = Packer::new(Form::All(Op::Store), &mut payload).expect("room");
    for n in (0..50).chain([7]) {
        packer.push(Op::Store, key(n).as_bytes(), b"value").expect("room");
    }
    let bytes = packer.finish();
    payload.truncate(bytes);
    // Each entry: length, key, length, value, padded: 20 bytes.
    assert_eq!(status_of(&mut client, &payload), (Status::INVALID_FIELD, 4 + 50 * 20));
    payload[4] = 0;
    assert_eq!(status_of(&mut client, &payload), (Status::INVALID_KEY_SIZE, 4));
    assert_eq!(listed(&mut client, None), []);
}

/// A transaction goes to the shard of all its keys, or is refused with the first entry that is in another; results that are kept
/// under a name come from that shard.
#[test]
fn a_transaction_is_in_one_shard() {
    let one_way = Methods::default().with_groups(true).with_transactions(true);
    for methods in [one_way, one_way.with_groups_both_ways(true)] {
        let (_connection, mut client) = open_with(3, EngineKind::HASH_STORE, methods);
        let (mut done, mut refused) = (0, 0);
        for n in 0..60 {
            let keys = [key(n), key(n + 100)];
            let of = keys.map(|key| shard_of(key.as_bytes(), 3));
            let store = Ask::Op(Op::Store);
            let entries = [
                (store, keys[0].as_bytes(), &b"first"[..]),
                (Ask::Absent, keys[1].as_bytes(), b""),
                (store, keys[1].as_bytes(), b"second"),
                (Ask::Op(Op::Retrieve), keys[1].as_bytes(), b""),
            ];
            match client.transaction(&entries).expect("an answer") {
                Ok(answers) => {
                    assert!(of[0] == of[1] && answers[3].version.is_absent());
                    let read = [(Ask::Op(Op::Retrieve), keys[1].as_bytes(), &b""[..])];
                    let read = client.transaction(&read).expect("an answer").expect("a read");
                    assert_eq!(read[0].value.as_deref(), Some(&b"second"[..]));
                    done += 1;
                }
                Err(told) => {
                    assert!(of[0] != of[1] && told.status.is(Status::SEVERAL_SHARDS) && told.place == 1);
                    assert_eq!(client.get(&keys[0]), Ok(None));
                    refused += 1;
                }
            }
        }
        assert!(done > 5 && refused > 5, "{done} done, {refused} refused");
    }
}
