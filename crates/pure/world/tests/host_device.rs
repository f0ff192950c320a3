// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's clients on the device itself, inline and without time.

use std::collections::BTreeMap;

use saker_device::{Attachment, Device, DeviceConfig, Untimed};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_host::{
    ClientOptions, Condition, ConnectOptions, Connection, HostError, KvClient, KvError, KvStoreClient,
};
use saker_host::{Driver, Patience, Port};
use saker_link::DmaSpace;
use saker_nvme::Key;
use saker_segment_store::{Geometry, PageBuffer};

/// The device runs on the thread that waits for it.
struct Inline(Device<Untimed>);

impl Driver for Inline {
    fn drive(&mut self) {
        self.0.advance();
    }
}

const NSID: u32 = 1;
const PATIENCE: Patience = Patience { polls_max: 100_000 };

fn open() -> (Connection, KvClient<Inline>) {
    let geometry = Geometry { page_bytes: 16 << 10, oob_bytes: 256, segment_pages: 256, segments: 40 };
    let media = MemCells::new(Shape { geometry, channels: 2, luns: 4 });
    let ring = PageBuffer::heap(512, geometry.page_bytes, geometry.oob_bytes);
    let flash = Flash::power_on(media, ring, None, FaultPlan::default());
    let attachment = Attachment::new(DmaSpace::new(4096, 256), 4);
    let port = Port {
        space: attachment.space.clone(),
        registers: attachment.registers.clone(),
        doorbells: attachment.doorbells.clone(),
        bar: attachment.bar.clone(),
    };
    let mut device = Inline(Device::new(flash, DeviceConfig::kv(&geometry, true, 7), attachment));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    device.drive();
    let mut connection = Connection::connect(port, &mut device, options).expect("connects");
    let options = ClientOptions { patience: PATIENCE, list_bytes: 200, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, NSID, options).expect("opens");
    (connection, client)
}

fn key(bytes: &[u8]) -> Key {
    Key::new(bytes).expect("1 to 16 bytes")
}

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|i| (i / 251 + i) as u8 ^ seed).collect()
}

#[test]
fn conditions_deletes_and_formats() {
    let (mut connection, mut client) = open();
    assert_eq!(connection.kv_namespaces(client.driver_mut()), Ok(vec![NSID]));
    assert_eq!(client.delete_missing(), saker_host::client::DeleteMissing::Reported);
    let name = key(b"name");
    assert_eq!(client.put_if(&name, b"1", Condition::MustExist), Err(KvError::NotFound.into()));
    assert_eq!(client.put_if(&name, b"1", Condition::MustNotExist), Ok(()));
    assert_eq!(client.put_if(&name, b"2", Condition::MustNotExist), Err(KvError::Exists.into()));
    assert_eq!(client.get(&name), Ok(Some(b"1".to_vec())));
    assert_eq!(
        (client.delete(&name), client.delete(&name), client.exists(&name)),
        (Ok(true), Ok(false), Ok(false))
    );
    client.put(&name, b"").expect("stores");
    assert_eq!(client.get(&name), Ok(Some(vec![])));
    client.flush().expect("flushes");
    connection.format(client.driver_mut(), NSID).expect("formats");
    assert_eq!(client.exists(&name), Ok(false));
}

#[test]
fn values_up_to_the_longest() {
    let (_connection, mut client) = open();
    let bytes_max = client.value_bytes_max() as usize;
    for bytes in [1, 4095, 4096, 4097, 8192, 8193, 70_001, bytes_max] {
        let value = pattern(bytes + 1, bytes as u8);
        client
            .put(&key(b"aligned"), &value[..bytes])
            .unwrap_or_else(|error| panic!("{bytes} bytes: {error}"));
        assert!(client.get(&key(b"aligned")).expect("reads").expect("exists") == value[..bytes]);
        if bytes < bytes_max {
            client.put(&key(b"odd"), &value[1..]).expect("stores");
            // A longer buffer has another PRP shape than the value would need.
            let mut buffer = vec![0xAA; bytes + 20_000];
            assert_eq!(client.get_into(&key(b"odd"), &mut buffer), Ok(Some(bytes)));
            assert!(buffer[..bytes] == value[1..] && buffer[bytes..].iter().all(|byte| *byte == 0xAA));
            let half = bytes / 2;
            assert_eq!(client.get_into(&key(b"odd"), &mut buffer[..half]), Ok(Some(bytes)));
            assert!(buffer[..half] == value[1..half + 1]);
        }
    }
}

#[test]
fn listing_pages_through_many_keys() {
    let (_connection, mut client) = open();
    let mut names: Vec<Key> = (0..2000_u32).map(|n| key(&n.to_be_bytes()[..2 + n as usize % 3])).collect();
    for name in &names {
        client.put_queued(name, b"v").expect("queues");
    }
    client.drain().expect("stored");
    names.sort();
    names.dedup();
    let listed: Vec<Key> = client.list(None).map(|name| name.expect("lists")).collect();
    let from = listed[listed.len() / 2];
    let tail: Vec<Key> = client.list(Some(from)).map(|name| name.expect("lists")).collect();
    assert_eq!(tail, listed[listed.len() / 2..]);
    let mut sorted = listed;
    sorted.sort();
    assert_eq!(sorted, names);
}

/// A small generator of its own: the test needs spread, not quality.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn keys_of_any_length_are_a_map() {
    let mut store = KvStoreClient::new(open().1);
    let mut model = BTreeMap::new();
    let mut state = 0x1234_5678_9ABC_DEF1;
    for step in 0..20_000_u32 {
        let length = [1, 4, 16, 17, 64, 255][next(&mut state) as usize % 6];
        let name = vec![next(&mut state) as u8 % 40; length];
        match next(&mut state) % 8 {
            0..=2 => {
                let value = pattern(next(&mut state) as usize % 6000, step as u8);
                store.put(&name, &value).expect("stores");
                model.insert(name, value);
            }
            3 => {
                let value = pattern(next(&mut state) as usize % 300, step as u8);
                store.put_queued(&name, &value).expect("queues");
                model.insert(name, value);
            }
            4 => assert_eq!(store.delete(&name), Ok(model.remove(&name).is_some())),
            5 => assert_eq!(store.exists(&name), Ok(model.contains_key(&name))),
            _ => assert!(store.get(&name).expect("reads").as_ref() == model.get(&name)),
        }
    }
    assert_eq!(store.drain(), Ok(()));
    let mut listed: Vec<_> = store.list(None).collect::<Result<_, HostError>>().expect("lists");
    listed.sort();
    assert!(listed.iter().eq(model.keys()));
}
