// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Group Vector and Bulk Put: what they store is what a group of the same pairs stores, and what is wrong with them has its
//! status and changes nothing.

use saker_assembly::Build;
use saker_assembly::port;
use saker_host::{
    BulkBuffer, ClientOptions, ConnectOptions, Connection, Driver, HostError, KvClient, Patience, RawData,
};
use saker_link::{DmaRegion, PAGE_BYTES};
use saker_nvme::group::{Form, GroupCommand, Op, Packer, PairAddress, write_vector};
use saker_nvme::vendor_specific::Methods;
use saker_nvme::{Key, Status};
use saker_profile::Profile;
use saker_world::Inline;

const PATIENCE: Patience = Patience { polls_max: 100_000 };

type Client = KvClient<Inline>;

fn open(methods: Methods) -> (Connection, Client) {
    let profile = Profile::builtin("tiny").expect("built in");
    let mut build = Build::kv(&profile, 32 << 20, 1).expect("large enough");
    build.config.methods = methods;
    let host = build.attach(2, 8);
    let mut device = Inline(build.untimed(host.clone()));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}

fn pair(n: usize) -> (Vec<u8>, Vec<u8>) {
    let mut key = (n as u32).to_be_bytes().to_vec();
    key.resize(4 + n % 40, b'k');
    (key, vec![n as u8; n * 37 % 5000])
}

/// Status, DW0.
fn send(client: &mut Client, command: GroupCommand, data: &[u8]) -> (Status, u32) {
    let ticket = client.queue_mut().raw(command.encode(1), RawData::ToDevice(data)).expect("room");
    client.queue_mut().ring();
    for _ in 0..PATIENCE.polls_max {
        let polled = client.queue_mut().poll(|d| (d.ticket == ticket).then_some((d.status, d.result)));
        match polled {
            Some(ended) => return ended.expect("an answer").expect("ours"),
            None => client.driver_mut().drive(),
        }
    }
    panic!("no answer")
}

/// The pairs in host memory, two pages and more apart, off any boundary.
fn placed(client: &mut Client, count: usize) -> (DmaRegion, Vec<PairAddress>) {
    let region = client.queue_mut().space().alloc_bytes(count * 3 * PAGE_BYTES).expect("memory");
    let place = |n: usize| {
        let ((key, value), at) = (pair(n), n * 3 * PAGE_BYTES + n % 13);
        region.write(at, &key).and_then(|()| region.write(at + 500, &value)).expect("inside");
        PairAddress {
            key_address: region.iova() + at as u64,
            value_address: region.iova() + (at + 500) as u64,
            key_bytes: key.len() as u32,
            value_bytes: value.len() as u32,
        }
    };
    let pairs = (0..count).map(place).collect();
    (region, pairs)
}

#[test]
fn a_vector_stores_what_it_names() {
    for pages in [false, true] {
        let (_connection, mut client) = open(Methods::ALL);
        let (_region, pairs) = placed(&mut client, 30);
        let before = client.driver_mut().0.stats().device.traffic.to_device;
        let list = write_vector(&pairs);
        let command = GroupCommand::Vector { pages, bytes: list.len() as u32 };
        assert_eq!(send(&mut client, command, &list), (Status::SUCCESS, 0));
        let moved = client.driver_mut().0.stats().device.traffic.to_device - before;
        let bytes: usize = (0..30).map(|n| pair(n).0.len() + pair(n).1.len()).sum();
        if pages {
            let touched =
                |at: u64, n: u32| if n == 0 { 0 } else { (at % 4096 + u64::from(n)).div_ceil(4096) };
            let operands: u64 = pairs
                .iter()
                .map(|p| touched(p.key_address, p.key_bytes) + touched(p.value_address, p.value_bytes))
                .sum();
            assert_eq!(moved.bytes(), 4096 * (1 + operands));
        } else {
            assert_eq!(moved.bytes(), 4096 + bytes as u64, "the vector's page, and exact bytes");
        }
        let keys: Vec<_> = (0..30).map(|n| pair(n).0).collect();
        let expected: Vec<_> = (0..30).map(|n| Some(pair(n).1)).collect();
        assert_eq!(client.multi_get(&keys), Ok(expected), "long keys among them");
    }
}

#[test]
fn a_wrong_vector_changes_nothing() {
    let (_connection, mut client) = open(Methods::ALL);
    let (_region, mut pairs) = placed(&mut client, 4);
    let good = write_vector(&pairs);
    let bytes = good.len() as u32;
    let vector = |bytes| GroupCommand::Vector { pages: false, bytes };
    assert_eq!(send(&mut client, vector(bytes - 24), &good[..good.len() - 24]), (Status::INVALID_FIELD, 0));
    let mut reserved = good.clone();
    reserved[4] = 1;
    assert_eq!(send(&mut client, vector(bytes), &reserved), (Status::INVALID_FIELD, 4));
    pairs[2].key_address = u64::MAX - 2;
    let (status, _) = send(&mut client, vector(bytes), &write_vector(&pairs));
    assert_eq!(status, Status::DATA_TRANSFER_ERROR);
    pairs[2].value_bytes = u32::MAX;
    let (status, _) = send(&mut client, vector(bytes), &write_vector(&pairs));
    assert_eq!(status, Status::INVALID_FIELD, "more than a group takes");
    assert_eq!(client.list(None).count(), 0);
}

#[test]
fn bulk_put_stores_each_pair_and_counts_failures() {
    bulk_put(Methods::ALL, true);
    bulk_put(Methods::ALL.with_indirect_keys(false), false);
}

/// Keys of more than 16 bytes are stored where the device takes them, and fail elsewhere.
fn bulk_put(methods: Methods, takes_long_keys: bool) {
    let (_connection, mut client) = open(methods);
    let mut payload = vec![0; 1 << 16];
    let mut packer = Packer::new(Form::All(Op::Store), &mut payload).expect("room");
    for n in 0..30 {
        packer.push(Op::Store, &pair(n).0, &pair(n % 9).1).expect("room");
    }
    // A key again: pairs are stored one after the other, so the last one stays.
    packer.push(Op::Store, &pair(3).0, b"again").expect("room");
    let bytes = packer.finish();
    let command = GroupCommand::Bulk { bytes: bytes as u32 };
    let long = (0..30).filter(|n| pair(*n).0.len() > 16).count() as u32;
    assert!(long > 0);
    let too_long = if takes_long_keys { 0 } else { long };
    assert_eq!(send(&mut client, command, &payload[..bytes]), (Status::SUCCESS, too_long));
    for n in (0..30).filter(|n| pair(*n).0.len() <= 16) {
        let expected = if n == 3 { b"again".to_vec() } else { pair(n % 9).1 };
        assert_eq!(client.get(&Key::new(&pair(n).0).expect("short")), Ok(Some(expected)), "{n}");
    }
    payload[0] = 99;
    let (status, _) = send(&mut client, command, &payload[..bytes]);
    assert_eq!(status, Status::INVALID_FIELD);
}

#[test]
fn a_bulk_buffer_is_sent_when_it_is_full() {
    let (_connection, mut client) = open(Methods::ALL);
    let key = |n: u32| Key::new(&n.to_be_bytes()).expect("four bytes");
    let mut buffer = BulkBuffer::new(10);
    for n in 0..25 {
        client.bulk_put(&mut buffer, &key(n), &n.to_le_bytes()).expect("room");
        assert_eq!(buffer.pending(), (n + 1) % 10);
    }
    assert_eq!(client.exists(&key(19)), Ok(true));
    assert_eq!(client.exists(&key(20)), Ok(false), "acknowledged, and only in memory of the host");
    client.bulk_flush(&mut buffer).expect("room");
    assert_eq!((buffer.pending(), client.exists(&key(24))), (0, Ok(true)));
    // Bytes fill it, too.
    let mut buffer = BulkBuffer::new(1000);
    for n in 0..40 {
        client.bulk_put(&mut buffer, &key(n), &[7; 4000]).expect("room");
    }
    assert!(buffer.pending() < 40 && client.get(&key(0)) == Ok(Some(vec![7; 4000])));
    let (_connection, mut without) = open(Methods::default());
    let refused = without.bulk_put(&mut BulkBuffer::new(1), &key(1), b"");
    assert!(matches!(refused, Err(HostError::Group(_))), "{refused:?}");
    assert_eq!(without.get(&key(1)), Ok(None));
}
