// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller memory buffer: a submission queue, lists and data in it, in front of a client's own memory; resets and clients.

use std::sync::Arc;

use saker_link::{ARENA_IOVA, DoorbellKind, ForeignMemory};
use saker_nvme::admin::{CreateCq, CreateSq, build};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::regs::{Csts, offset};
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::{Cqe, Key, Sqe, Status};
use saker_vfio_user::{Served, Server};
use zerocopy::{FromBytes, IntoBytes};

use crate::rig::{Driver, PAIRS, Rig};

const AT: u64 = 0x40_0000_0000;
const ENTRIES: u32 = 16;
const DATA: usize = 0x1_0000;

fn rig(busy_poll: bool) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let served =
        Served { url: PAIRS.into(), socket: socket.clone(), nqn: None, busy_poll, memory_buffer: true };
    Rig { server: Some(Server::start(&[served]).unwrap()), socket, folder }
}

/// A queue pair whose submission queue is at the begin of the buffer. Its completion queue is in the client's memory.
struct InBuffer {
    driver: Driver,
    buffer: Arc<ForeignMemory>,
    cq: saker_link::DmaRegion,
    at: u64,
    tail: u32,
    head: u32,
}

impl InBuffer {
    fn new(mut driver: Driver, at: u64) -> Self {
        let buffer = driver.function.memory_buffer(at).unwrap().expect("there is a buffer");
        let cq = driver.memory(4096);
        let make = CreateCq {
            qid: 2,
            entries: ENTRIES,
            contiguous: true,
            interrupts_enabled: false,
            interrupt_vector: 0,
            base: cq.iova(),
        };
        driver.function.admin(&build::create_cq(&make)).unwrap();
        let make = CreateSq { qid: 2, entries: ENTRIES, contiguous: true, priority: 0, cqid: 2, base: at };
        driver.function.admin(&build::create_sq(&make)).unwrap();
        Self { driver, buffer, cq, at, tail: 0, head: 0 }
    }

    fn io(&mut self, sqe: &Sqe) -> Cqe {
        assert!(self.buffer.store(self.tail as usize * 64, sqe.with_cid(7).as_bytes()));
        self.tail = (self.tail + 1) % ENTRIES;
        let doorbells = Arc::clone(self.driver.function.doorbells());
        doorbells.write(DoorbellKind::SqTail, 2, self.tail).unwrap();
        self.driver.function.tell(2, DoorbellKind::SqTail).unwrap();
        let (slot, phase) = (self.head % ENTRIES, u8::from((self.head / ENTRIES).is_multiple_of(2)));
        let begun = std::time::Instant::now();
        loop {
            let mut bytes = [0; 16];
            self.cq.read(slot as usize * 16, &mut bytes).unwrap();
            if bytes[14] & 1 == phase {
                self.head += 1;
                doorbells.write(DoorbellKind::CqHead, 2, self.head % ENTRIES).unwrap();
                self.driver.function.tell(2, DoorbellKind::CqHead).unwrap();
                return Cqe::read_from_bytes(&bytes).unwrap();
            }
            assert!(begun.elapsed().as_secs() < 60, "no completion");
        }
    }

    /// Data is in the buffer, too.
    fn at_data(&self, sqe: Sqe, bytes: u32) -> Sqe {
        sqe.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, self.at + DATA as u64, bytes))
    }
}

#[test]
fn queue_lists_and_data_are_in_the_buffer() {
    for busy_poll in [false, true] {
        // In front of nothing, and in front of the client's own memory, of which nothing is reached there then.
        for at in [AT, ARENA_IOVA + 4096 * 1024] {
            let rig = rig(busy_poll);
            let mut queue = InBuffer::new(rig.driver(), at);
            let key = Key::new(b"buffered").unwrap();
            for round in 0..40_u32 {
                let value: Vec<u8> = (0..9000_u32).map(|n| (n * 7 + round) as u8).collect();
                assert!(queue.buffer.store(DATA, &value));
                let store = queue.at_data(kv::store(1, &key, 9000, StoreOptions::default()), 9000);
                assert_eq!(queue.io(&store).status(), Status::SUCCESS);
                assert!(queue.buffer.store(DATA, &[0; 9000]));
                // By PRPs, whose list is in the buffer as well.
                let page = at + DATA as u64;
                let list = [page + 4096, page + 8192].map(u64::to_le_bytes).concat();
                assert!(queue.buffer.store(DATA - 4096, &list));
                let get = kv::retrieve(1, &key, 9000).with_prp(page, page - 4096);
                assert_eq!(queue.io(&get).status(), Status::SUCCESS);
                let mut back = vec![0; 9000];
                assert!(queue.buffer.load(DATA, &mut back));
                assert_eq!(back, value);
            }
            // A client without the mapping sees the same by messages.
            let mut word = [0; 8];
            queue.driver.function.socket().read(4, DATA as u64, &mut word).unwrap();
            let mut mapped = [0; 8];
            assert!(queue.buffer.load(DATA, &mut mapped) && word == mapped);
            assert_eq!(queue.driver.with_queue(false).retrieve(b"buffered").map(|v| v.len()), Ok(9000));
        }
    }
}

#[test]
fn a_buffer_that_moves_takes_its_queue_along_and_one_that_goes_is_fatal() {
    let rig = rig(false);
    let mut queue = InBuffer::new(rig.driver(), AT);
    let exist = kv::exist(1, &Key::new(b"nothing").unwrap());
    assert_eq!(queue.io(&exist).status(), Status::KEY_DOES_NOT_EXIST);
    // Away and back at once, as memory that moves: the queue goes on.
    let mut point = |value: u64| queue.driver.function.socket().write(0, 0x50, &value.to_le_bytes()).unwrap();
    point(1);
    point(AT | 3);
    assert_eq!(queue.io(&exist).status(), Status::KEY_DOES_NOT_EXIST);
    queue.driver.function.socket().write(0, 0x50, &((AT + (1 << 30)) | 3).to_le_bytes()).unwrap();
    queue.driver.function.doorbells().write(DoorbellKind::SqTail, 2, queue.tail + 1).unwrap();
    queue.driver.function.tell(2, DoorbellKind::SqTail).unwrap();
    let csts = Csts(queue.driver.function.register(offset::CSTS).unwrap());
    assert!(csts.cfs(), "{csts:?}");
    queue.driver.function.disable().unwrap();
    queue.driver.function.enable().unwrap();
    let mut queue = InBuffer::new(queue.driver, AT);
    assert_eq!(queue.io(&exist).status(), Status::KEY_DOES_NOT_EXIST);
    // Each reset but that of CC.EN takes it away; none has to wait for it.
    for which in 0..2 {
        if which == 0 {
            queue.driver.function.socket().write(7, 0x68, &[0, 0x80]).unwrap();
        } else {
            queue.driver.function.socket().reset().unwrap();
        }
        let mut control = [0; 8];
        queue.driver.function.socket().read(0, 0x50, &mut control).unwrap();
        assert_eq!(u64::from_le_bytes(control), 0);
        queue.driver.function.enable().unwrap();
        queue = InBuffer::new(queue.driver, AT);
        assert_eq!(queue.io(&exist).status(), Status::KEY_DOES_NOT_EXIST);
    }
}

#[test]
fn the_next_client_finds_the_buffer_empty_and_nowhere() {
    let rig = rig(false);
    let queue = InBuffer::new(rig.driver(), AT);
    assert!(queue.buffer.store(DATA, b"a secret"));
    drop(queue);
    let mut driver = rig.driver().with_queue(false);
    let mut found = [1; 8];
    driver.function.socket().read(4, DATA as u64, &mut found).unwrap();
    assert_eq!(found, [0; 8]);
    let store = kv::store(1, &Key::new(b"key").unwrap(), 8, StoreOptions::default());
    let store = store.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, AT + DATA as u64, 8));
    assert_eq!(driver.io(&store).status(), Status::DATA_TRANSFER_ERROR);
}

#[test]
fn a_function_without_a_buffer_says_so() {
    let rig = Rig::new(PAIRS, false);
    assert!(rig.driver().function.memory_buffer(AT).unwrap().is_none());
}
