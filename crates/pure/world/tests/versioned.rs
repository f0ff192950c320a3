// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Retrieve Versioned as it is on the wire, with every engine: without time, and on a device that reads its flash.

use saker_assembly::{Build, port};
use saker_engine::EngineKind;
use saker_host::{ClientOptions, ConnectOptions, Connection, Driver, KvClient, Patience, RawData};
use saker_nvme::group::{Ask, Op, ToAsk, VERSION_BYTES, retrieve_versioned};
use saker_nvme::vendor_specific::Methods;
use saker_nvme::{Key, Sqe, Status};
use saker_profile::Profile;
use saker_world::{Clocked, Inline};

const PATIENCE: Patience = Patience { polls_max: 10_000_000 };
/// A value over several pages of host memory.
const VALUE_BYTES: usize = 9000;

fn small(engine: EngineKind) -> Build {
    let profile = Profile::builtin("tiny").expect("built in");
    Build::kv(&profile, 64 << 20, 1).expect("large enough").with_engine(engine)
}

fn open<D: Driver>(
    build: &Build,
    driver: impl FnOnce(&Build) -> (saker_device::Attachment, D),
) -> (Connection, KvClient<D>) {
    let (host, mut driver) = driver(build);
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut driver, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, driver, 1, options).expect("opens");
    (connection, client)
}

fn inline(build: &Build) -> (saker_device::Attachment, Inline) {
    let host = build.attach(2, 8);
    (host.clone(), Inline(build.untimed(host)))
}

fn clocked(build: &Build) -> (saker_device::Attachment, Clocked) {
    let host = build.attach(2, 8);
    (host.clone(), Clocked(build.timed(host)))
}

fn key(n: u8) -> Key {
    Key::new(&[n; 9]).expect("nine bytes")
}

/// Status, DW0, and all bytes of the buffer.
fn send<D: Driver>(client: &mut KvClient<D>, sqe: Sqe, room: u32) -> (Status, u32, Vec<u8>) {
    let ticket = client.queue_mut().raw(sqe, RawData::FromDevice(room)).expect("room");
    client.queue_mut().ring();
    for _ in 0..PATIENCE.polls_max {
        let polled = client
            .queue_mut()
            .poll(|d| (d.ticket == ticket).then(|| (d.status, d.result, d.data().to_vec())));
        match polled {
            Some(ended) => return ended.expect("an answer").expect("ours"),
            None => client.driver_mut().drive(),
        }
    }
    panic!("no answer")
}

/// What a transaction of one read answers.
fn by_a_transaction<D: Driver>(client: &mut KvClient<D>, n: u8) -> (Vec<u8>, Option<Vec<u8>>) {
    let entry: ToAsk<'_> = (Ask::Op(Op::Retrieve), &[n; 9], &[]);
    let answers = client.transaction(&[entry]).expect("answers").expect("is carried out");
    (answers[0].version.0.to_vec(), answers[0].value.clone())
}

fn buffers<D: Driver>(client: &mut KvClient<D>, engine: EngineKind) {
    let name = engine.name();
    let value: Vec<u8> = (0..VALUE_BYTES).map(|n| (n % 253) as u8).collect();
    client.put(&key(1), &value).expect("room");
    client.put(&key(2), &[]).expect("room");
    client.flush().expect("flushes");
    let (version, whole) = by_a_transaction(client, 1);
    assert_eq!(whole.as_ref(), Some(&value), "{name}");
    let bytes = (VERSION_BYTES + VALUE_BYTES) as u32;
    for room in [24, 25, 100, 4096, 4097, 8192, bytes - 1, bytes, bytes + 1, 20_000] {
        let (status, dw0, data) = send(client, retrieve_versioned(1, &key(1), room), room);
        assert_eq!((status, dw0), (Status::SUCCESS, bytes), "{name}: {room}");
        assert_eq!(data[..VERSION_BYTES], version, "{name}: {room}");
        let fits = VALUE_BYTES.min(room as usize - VERSION_BYTES);
        assert_eq!(data[VERSION_BYTES..][..fits], value[..fits], "{name}: {room}");
        assert!(data[VERSION_BYTES + fits..].iter().all(|byte| *byte == 0), "{name}: nothing behind it");
    }
    let (status, dw0, data) = send(client, retrieve_versioned(1, &key(2), 100), 100);
    assert_eq!((status, dw0), (Status::SUCCESS, 24), "{name}: an empty value");
    assert_eq!(data[..VERSION_BYTES], by_a_transaction(client, 2).0);
    let (status, dw0, data) = send(client, retrieve_versioned(1, &key(3), 100), 100);
    assert!(status.is(Status::KEY_DOES_NOT_EXIST), "{name}: {status:?}");
    assert_eq!((dw0, data), (0, Vec::new()), "{name}: nothing is told of it");
    for (room, nsid, why) in [(23, 1, Status::INVALID_FIELD), (100, 2, Status::INVALID_NAMESPACE_OR_FORMAT)] {
        let (status, ..) = send(client, retrieve_versioned(nsid, &key(1), room), 100);
        assert!(status.is(why), "{name}: {status:?}");
    }
}

#[test]
fn buffers_of_every_length_are_filled_as_far_as_they_reach() {
    for engine in EngineKind::ALL.iter().copied() {
        let (_connection, mut client) = open(&small(engine), inline);
        buffers(&mut client, engine);
        let (_connection, mut client) = open(&small(engine), clocked);
        buffers(&mut client, engine);
    }
}

#[test]
fn a_device_that_does_not_announce_it_has_none() {
    let mut build = small(EngineKind::HASH_STORE);
    build.config.methods = Methods(Methods::ALL.0).with_retrieve_versioned(false);
    let (_connection, mut client) = open(&build, inline);
    client.put(&key(1), b"1").expect("room");
    assert!(!client.has_versioned_retrieves());
    let (status, ..) = send(&mut client, retrieve_versioned(1, &key(1), 100), 100);
    assert!(status.is(Status::INVALID_OPCODE), "{status:?}");
    let mut store = saker_host::KvStoreClient::new(client);
    let found = store.get_versioned(&[1; 9]).expect("by a transaction");
    assert_eq!(found.value.as_deref(), Some(&b"1"[..]));
}
