// SPDX-License-Identifier: Apache-2.0 OR MIT
use saker_host::connect::KvQueueOptions;
use saker_host::kv_queue::Mapped;
use saker_host::{Driver, KvQueue, RawData, SubmitError, Ticket};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::kv_list::ListReader;
use saker_nvme::{Sqe, Status};

use crate::fake::{Fake, NSID, key};

fn open(fake: &mut Fake, slots: u16) -> KvQueue {
    let mut connection = fake.connect();
    let options = KvQueueOptions { entries: u32::from(slots) + 1, slots };
    connection.create_kv_queue(fake, NSID, options).expect("granted")
}

/// Runs the device and takes one completion.
fn finish(queue: &mut KvQueue, fake: &mut Fake) -> (Ticket, Status, u32, Vec<u8>) {
    queue.ring();
    fake.drive();
    let done = queue.poll(|done| (done.ticket, done.status, done.result, done.into_vec()));
    done.expect("completed").expect("in flight")
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i / 251 + i) as u8).collect()
}

#[test]
fn an_entry_is_built_as_the_specification_draws_it() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 4);
    let name = key(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let ticket = queue.store(&name, b"value", StoreOptions::MUST_NOT_EXIST).expect("room");
    assert_eq!(finish(&mut queue, &mut fake).0, ticket);
    let sqe = fake.seen.last().expect("seen");
    assert_eq!((sqe.opcode, sqe.flags, sqe.nsid.get(), sqe.cid.get()), (1, 0, 1, ticket.slot()));
    assert_eq!((sqe.cdw2.get(), sqe.cdw3.get()), (0x0403_0201, 0x0807_0605));
    assert_eq!((sqe.cdw14.get(), sqe.cdw15.get()), (0x0A09, 0));
    assert_eq!((sqe.cdw10.get(), sqe.cdw11.get()), (5, 0x020A));
    assert_eq!((sqe.prp1.get() % 4096, sqe.prp2.get()), (0, 0));
    assert_eq!(fake.pairs[&name], b"value");
}

#[test]
fn values_of_any_length_come_back() {
    for mut fake in [Fake::new(), Fake::placed(0), Fake::placed(2), Fake::placed(4092), Fake::placed(4095)] {
        let mut queue = open(&mut fake, 4);
        for bytes in [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 100_000, (2 << 20) - 3] {
            let (name, value) = (key(&[bytes as u8, 1]), pattern(bytes));
            queue.store(&name, &value, StoreOptions::NONE).expect("room");
            assert_eq!(finish(&mut queue, &mut fake).1, Status::SUCCESS);
            assert!(fake.pairs[&name] == value, "stored {bytes} bytes");
            for capacity in [bytes, bytes + 100, bytes / 2] {
                let capacity = capacity.min((2 << 20) - 3);
                queue.retrieve(&name, capacity as u32).expect("room");
                let (_, status, full, data) = finish(&mut queue, &mut fake);
                assert_eq!((status, full), (Status::SUCCESS, bytes as u32));
                assert!(data == value[..bytes.min(capacity)], "read {bytes} into {capacity} bytes");
            }
        }
    }
}

#[test]
fn owned_buffers_are_given_back_when_refused() {
    let mut fake = Fake::placed(2);
    let mut queue = open(&mut fake, 1);
    let too_long = vec![1; (2 << 20) + 1];
    let returned = queue.store_owned(&key(b"k"), too_long, StoreOptions::NONE).unwrap_err();
    assert!(matches!(returned.error, SubmitError::Map(_)));
    assert_eq!(returned.buffer.len(), (2 << 20) + 1);
    // Fits a window, but not with the padding that this placement needs.
    let value = pattern(2 << 20);
    let returned = queue.store_owned(&key(b"k"), value.clone(), StoreOptions::NONE).unwrap_err();
    assert!(returned.buffer == value);
    assert_eq!(queue.free_slots(), 1);
    queue.exist(&key(b"k")).expect("room");
    let returned = queue.store_owned(&key(b"k"), pattern(5000), StoreOptions::NONE).unwrap_err();
    assert!(returned.error == SubmitError::Full && returned.buffer == pattern(5000));
}

#[test]
fn an_aligned_owned_buffer_is_read_into_without_a_copy() {
    let mut fake = Fake::placed(0);
    let mut queue = open(&mut fake, 1);
    fake.pairs.insert(key(b"k"), pattern(5000));
    let buffer = vec![0; 9000];
    let memory = buffer.as_ptr();
    queue.retrieve_owned(&key(b"k"), buffer).expect("room");
    let (_, _, full, data) = finish(&mut queue, &mut fake);
    assert_eq!((full, data.as_ptr()), (5000, memory));
    assert!(data == pattern(5000));
}

#[test]
fn the_queue_is_full_until_a_completion_is_taken() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 3);
    for name in [b"a", b"b", b"c"] {
        queue.store(&key(name), name, StoreOptions::NONE).expect("room");
    }
    assert_eq!((queue.in_flight(), queue.free_slots()), (3, 0));
    assert_eq!(queue.store(&key(b"d"), b"", StoreOptions::NONE), Err(SubmitError::Full));
    assert_eq!(queue.list(None, 8192), Err(SubmitError::Full));
    finish(&mut queue, &mut fake);
    assert!(queue.exist(&key(b"a")).is_ok());
}

#[test]
fn tickets_tell_commands_of_one_slot_apart_and_rings_wrap() {
    let mut fake = Fake::new();
    fake.behaviour.reverse = true;
    let mut queue = open(&mut fake, 3);
    let mut last = Vec::new();
    for round in 0..1000_u32 {
        let mut tickets: Vec<_> = (0..round % 3 + 1)
            .map(|n| queue.store(&key(&[n as u8]), &round.to_le_bytes(), StoreOptions::NONE).expect("room"))
            .collect();
        assert!(tickets.iter().all(|ticket| !last.contains(ticket)));
        last.clone_from(&tickets);
        queue.ring();
        fake.drive();
        while let Some(done) = queue.poll(|done| (done.ticket, done.status)) {
            assert_eq!(done, Ok((tickets.pop().expect("one each"), Status::SUCCESS)));
        }
        assert!(tickets.is_empty());
        assert_eq!(fake.pairs[&key(&[0])], round.to_le_bytes());
    }
}

#[test]
fn listed_keys_are_read_in_place() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 2);
    for n in 0..100 {
        fake.pairs.insert(key(&[n; 16]), vec![]);
    }
    for (bytes, count) in [(44, 2), (4096, 100), (16384, 100)] {
        queue.list(Some(&key(&[0])), bytes).expect("room");
        queue.ring();
        fake.drive();
        let keys =
            queue.poll(|done| ListReader::new(done.data()).expect("a list").map(Result::unwrap).count());
        assert_eq!(keys.expect("completed"), Ok(count));
    }
}

#[test]
fn raw_commands_reach_the_device_as_they_are() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 2);
    queue.raw(Sqe::new(0x7F, 1), RawData::Untouched).expect("room");
    assert_eq!(finish(&mut queue, &mut fake).1, Status::INVALID_OPCODE);
    let mut fused = kv::delete(NSID, &key(b"k"));
    fused.flags = 1;
    queue.raw(fused, RawData::ToDevice(b"xyz")).expect("room");
    assert_eq!(finish(&mut queue, &mut fake).1, Status::INVALID_FIELD);
    let wild = kv::store(NSID, &key(b"k"), 10, StoreOptions::NONE).with_prp(3, 0);
    queue.raw(wild, RawData::Untouched).expect("room");
    assert_eq!(finish(&mut queue, &mut fake).1, Status::PRP_OFFSET_INVALID);
    // The entry promises more than there is behind the pointer.
    let long = kv::store(NSID, &key(b"k"), 4097, StoreOptions::NONE).with_prp(0, 0);
    queue.raw(long, RawData::ToDevice(&[1; 100])).expect("room");
    assert_ne!(finish(&mut queue, &mut fake).1, Status::SUCCESS);
    assert!(fake.pairs.is_empty());
}

#[test]
fn an_earlier_command_leaves_nothing_in_a_whole_buffer() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 1);
    queue.store(&key(b"k"), &[0xEE; 4096], StoreOptions::NONE).expect("room");
    finish(&mut queue, &mut fake);
    queue.list(None, 100).expect("room");
    let (.., data) = finish(&mut queue, &mut fake);
    assert!(!data.contains(&0xEE) && data.len() == 100);
}

#[test]
fn a_wrong_identifier_is_an_error_and_the_command_stays_in_flight() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 2);
    fake.behaviour.wrong_cid = Some(77);
    queue.exist(&key(b"k")).expect("room");
    queue.ring();
    fake.drive();
    assert_eq!(queue.poll(|_| ()), Some(Err(saker_link::CompletionError::NotInFlight(77))));
    assert_eq!(queue.in_flight(), 1);
}

#[test]
fn mapped_memory_must_begin_at_a_dword() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 2);
    let odd = Mapped { iova: 4097, bytes: 8 };
    assert_eq!(queue.retrieve_mapped(&key(b"k"), odd), Err(SubmitError::Alignment));
    assert_eq!(queue.free_slots(), 2);
}

#[test]
fn statistics_count_entries_pages_lists_and_doorbells() {
    let mut fake = Fake::placed(0);
    let mut queue = open(&mut fake, 8);
    let options = StoreOptions::NONE;
    queue.store(&key(b"empty"), b"", options).expect("room");
    queue.store(&key(b"small"), b"16 bytes of data", options).expect("room");
    // Three pages, of which two are in the list.
    queue.store(&key(b"large"), &pattern(8193), options).expect("room");
    queue.ring();
    fake.drive();
    while queue.poll(|_| ()).is_some() {}
    queue.retrieve(&key(b"small"), 4096).expect("room");
    finish(&mut queue, &mut fake);
    queue.retrieve(&key(b"large"), 8193).expect("room");
    finish(&mut queue, &mut fake);
    queue.retrieve(&key(b"missing"), 4096).expect("room");
    finish(&mut queue, &mut fake);
    let stats = queue.stats();
    assert_eq!((stats.commands, stats.sqe_bytes(), stats.cqe_bytes()), (6, 384, 96));
    assert_eq!((stats.page_bytes_to_device, stats.page_bytes_from_device), (4 * 4096, 4 * 4096));
    assert_eq!((stats.prp_list_bytes, stats.sq_doorbells), (32, 4));
}

#[test]
fn a_dropped_queue_closes_its_memory() {
    let mut fake = Fake::new();
    let mut queue = open(&mut fake, 2);
    queue.store(&key(b"a"), b"small", StoreOptions::NONE).expect("room");
    queue.store_owned(&key(b"b"), pattern(9000), StoreOptions::NONE).expect("room");
    queue.ring();
    drop(queue);
    fake.drive();
    assert!(fake.pairs.is_empty());
}
