// SPDX-License-Identifier: Apache-2.0 OR MIT
use saker_host::client::DeleteMissing;
use saker_host::{ClientOptions, Condition, HostError, KvClient, KvError, ProtocolError};
use saker_nvme::{Key, Status};

use crate::fake::{Fake, NSID, PATIENCE, key};

pub const OPTIONS: ClientOptions =
    ClientOptions { depth: 8, ring_every: 4, list_bytes: 0, patience: PATIENCE };

pub fn open(mut fake: Fake) -> KvClient<Fake> {
    let mut connection = fake.connect();
    KvClient::open(&mut connection, fake, NSID, OPTIONS).expect("opens")
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i / 251 + i) as u8).collect()
}

#[test]
fn conditions_and_existence() {
    let mut client = open(Fake::new());
    let name = key(b"name");
    assert_eq!(client.get(&name), Ok(None));
    assert_eq!(client.put_if(&name, b"1", Condition::MustExist), Err(KvError::NotFound.into()));
    assert_eq!(client.put_if(&name, b"1", Condition::MustNotExist), Ok(()));
    assert_eq!(client.put_if(&name, b"2", Condition::MustNotExist), Err(KvError::Exists.into()));
    assert_eq!(client.put_if(&name, b"3", Condition::MustExist), Ok(()));
    assert_eq!(client.get(&name), Ok(Some(b"3".to_vec())));
    assert_eq!((client.exists(&name), client.value_bytes(&name)), (Ok(true), Ok(Some(1))));
    assert_eq!((client.delete(&name), client.delete(&name)), (Ok(true), Ok(false)));
    assert_eq!((client.exists(&name), client.value_bytes(&name)), (Ok(false), Ok(None)));
    client.flush().expect("flushes");
    assert_eq!(client.driver_mut().flushes, 1);
}

#[test]
fn delete_asks_first_where_the_device_does_not_tell() {
    let mut fake = Fake::new();
    fake.behaviour.kv_config_refused = true;
    let mut client = open(fake);
    assert_eq!(client.delete_missing(), DeleteMissing::Silent);
    client.put(&key(b"k"), b"v").expect("stores");
    assert_eq!((client.delete(&key(b"k")), client.delete(&key(b"k"))), (Ok(true), Ok(false)));
    assert_eq!(open(Fake::new()).delete_missing(), DeleteMissing::Reported);
}

#[test]
fn large_values_at_every_alignment() {
    for bytes in [4097, 70_001, 2 << 20] {
        let memory = pattern(bytes + 8);
        for offset in 0..5 {
            let mut client = open(Fake::new());
            let value = &memory[offset..offset + bytes];
            if !value.as_ptr().addr().is_multiple_of(4) && bytes == 2 << 20 {
                // Needs a copy, which takes up to three bytes more than a window; the heap aligns it, as it happens.
                continue;
            }
            client.put(&key(b"k"), value).expect("stores");
            assert!(client.driver_mut().pairs[&key(b"k")] == value);
            assert!(client.get(&key(b"k")).expect("reads").expect("exists") == value);
            let mut buffer = vec![0xAA; bytes + 8];
            let read = client.get_into(&key(b"k"), &mut buffer[offset..offset + bytes - 1]);
            assert_eq!(read, Ok(Some(bytes)));
            assert!(buffer[offset..offset + bytes - 1] == value[..bytes - 1]);
            assert_eq!(
                (buffer[offset + bytes - 1], client.get_into(&key(b"x"), &mut buffer)),
                (0xAA, Ok(None))
            );
        }
    }
}

#[test]
fn too_long_values_are_refused_here_or_there() {
    let mut fake = Fake::new();
    fake.behaviour.value_max = 10_000;
    let mut client = open(fake);
    assert_eq!(client.value_bytes_max(), 10_000);
    assert_eq!(client.put(&key(b"k"), &pattern(10_001)), Err(KvError::ValueLength.into()));
    let limit = HostError::ValueLength { bytes: (2 << 20) + 1, bytes_max: 2 << 20 };
    assert_eq!(client.put(&key(b"k"), &pattern((2 << 20) + 1)), Err(limit));
}

#[test]
fn a_value_that_grows_while_it_is_read_is_read_again() {
    let mut client = open(Fake::new());
    client.put(&key(b"k"), &pattern(5000)).expect("stores");
    client.driver_mut().behaviour.replace_after_retrieve = Some((key(b"k"), pattern(9000)));
    assert!(client.get(&key(b"k")).expect("reads").expect("exists") == pattern(9000));
    client.driver_mut().behaviour.replace_after_retrieve = Some((key(b"k"), pattern(10)));
    assert_eq!(client.get(&key(b"k")), Ok(Some(pattern(10))));
}

#[test]
fn short_buffers_get_the_beginning_and_the_full_length() {
    let mut client = open(Fake::new());
    client.put(&key(b"k"), &pattern(100)).expect("stores");
    let mut buffer = [0; 10];
    assert_eq!(client.get_into(&key(b"k"), &mut buffer), Ok(Some(100)));
    assert_eq!(buffer, pattern(100)[..10]);
    let seen = client.get_with(&key(b"k"), |value, bytes| (value.len(), bytes));
    assert_eq!(seen, Ok(Some((100, 100))));
}

#[test]
fn statuses_become_errors() {
    let mut client = open(Fake::new());
    let refuse = |client: &mut KvClient<Fake>, status| {
        client.driver_mut().behaviour.refuse.insert(key(b"k"), status);
    };
    refuse(&mut client, Status::CAPACITY_EXCEEDED);
    assert_eq!(client.put(&key(b"k"), b""), Err(KvError::Full.into()));
    refuse(&mut client, Status::UNRECOVERED_ERROR);
    assert_eq!(client.get(&key(b"k")), Err(KvError::Damaged.into()));
    assert_eq!(client.get_into(&key(b"k"), &mut [0; 5000]), Err(KvError::Damaged.into()));
    refuse(&mut client, Status::INTERNAL_ERROR);
    assert_eq!(client.delete(&key(b"k")), Err(HostError::Status(Status::INTERNAL_ERROR)));
    assert_eq!(client.put(&key(b"k"), &pattern(5000)), Err(HostError::Status(Status::INTERNAL_ERROR)));
    assert_eq!(client.list(Some(key(b"k"))).next(), Some(Err(HostError::Status(Status::INTERNAL_ERROR))));
}

#[test]
fn waiting_ends_and_a_late_answer_is_not_taken_for_another() {
    let mut client = open(Fake::new());
    client.put(&key(b"k"), b"old").expect("stores");
    client.driver_mut().behaviour.stall = 1000;
    assert_eq!(client.get(&key(b"k")), Err(HostError::Timeout { turns: 1000 }));
    client.driver_mut().behaviour.stall = 1000;
    let mut buffer = vec![0; 5000];
    assert_eq!(client.get_into(&key(b"k"), &mut buffer), Err(HostError::Timeout { turns: 1000 }));
    assert_eq!(client.exists(&key(b"other")), Ok(false));
    assert_eq!((client.queue_mut().in_flight(), &buffer[..3]), (0, &[0; 3][..]));
}

#[test]
fn a_broken_controller_is_reported() {
    let mut client = open(Fake::new());
    client.driver_mut().behaviour.wrong_cid = Some(900);
    let error = saker_link::CompletionError::NotInFlight(900);
    assert_eq!(client.exists(&key(b"k")), Err(ProtocolError::Completion(error).into()));
}

fn listed(client: &mut KvClient<Fake>, from: Option<Key>) -> Vec<Key> {
    client.list(from).map(|key| key.expect("lists")).collect()
}

#[test]
fn paging_with_the_smallest_buffer_finds_every_key_once() {
    let mut client = open(Fake::new());
    for n in 0..=255_u8 {
        let name = key(&vec![n; usize::from(n % 16) + 1]);
        client.driver_mut().pairs.insert(name, vec![]);
    }
    let all: Vec<_> = client.driver_mut().pairs.keys().copied().collect();
    assert_eq!(listed(&mut client, None), all);
    assert_eq!(listed(&mut client, Some(all[100])), all[100..]);
    assert_eq!(listed(&mut client, Some(key(&[255; 16]))), [key(&[255; 16])]);
    client.driver_mut().pairs.clear();
    assert_eq!(listed(&mut client, None), []);
}

#[test]
fn a_page_begins_well_where_its_first_key_was_deleted() {
    let mut client = open(Fake::new());
    let all: Vec<_> = (0..10).map(|n| key(&[n; 16])).collect();
    for victim in &all {
        client.driver_mut().pairs = all.iter().map(|name| (*name, vec![])).collect();
        client.driver_mut().behaviour.delete_before_list = Some(*victim);
        assert_eq!(listed(&mut client, None), all);
    }
}

#[test]
fn queued_writes_fill_the_queue_and_keep_the_order_of_one_key() {
    let mut fake = Fake::new();
    fake.behaviour.reverse = true;
    let mut client = open(fake);
    for round in 0..100_u8 {
        for name in 0..20_u8 {
            client.put_queued(&key(&[name]), &[name, round]).expect("queues");
        }
    }
    assert!(client.queued() > 0);
    assert_eq!(client.get(&key(&[19])), Ok(Some(vec![19, 99])));
    client.put_queued(&key(&[3]), &pattern(9000)).expect("queues");
    client.put_queued(&key(&[3]), b"last").expect("queues");
    assert_eq!(client.drain(), Ok(()));
    assert_eq!((client.queued(), client.queue_mut().in_flight()), (0, 0));
    let fake = client.driver_mut();
    assert!((0..20).filter(|name| *name != 3).all(|name| fake.pairs[&key(&[name])] == [name, 99]));
    assert_eq!(fake.pairs[&key(&[3])], b"last");
    let stats = client.stats();
    assert_eq!(stats.commands, stats.completions);
    assert!(stats.sq_doorbells < stats.commands, "several writes share a doorbell");
}

#[test]
fn the_first_failed_write_is_reported_with_its_key() {
    let mut client = open(Fake::new());
    for (name, status) in [(5, Status::CAPACITY_EXCEEDED), (6, Status::INTERNAL_ERROR)] {
        client.driver_mut().behaviour.refuse.insert(key(&[name]), status);
    }
    for name in 0..40 {
        client.put_queued(&key(&[name]), b"v").expect("queues");
    }
    let error = Box::new(HostError::from(KvError::Full));
    assert_eq!(client.drain(), Err(HostError::Queued { key: key(&[5]), error }));
    assert_eq!(client.drain(), Ok(()));
    assert_eq!(client.driver_mut().pairs.len(), 38);
}

#[test]
fn a_flush_and_a_list_come_after_queued_writes() {
    let mut client = open(Fake::new());
    client.put_queued(&key(b"a"), b"1").expect("queues");
    assert_eq!(listed(&mut client, None), [key(b"a")]);
    client.put_queued(&key(b"b"), b"1").expect("queues");
    client.flush().expect("flushes");
    let opcodes: Vec<_> = client.driver_mut().seen.iter().rev().take(2).map(|sqe| sqe.opcode).collect();
    assert_eq!((opcodes, client.queued()), (vec![0x00, 0x01], 0));
}
