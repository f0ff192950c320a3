// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every contradiction that is planted in a queue is found.

use saker_link::{BarBuffer, DeviceCq, DeviceSq, DmaSpace, Doorbells, HostQueuePair, Sqe};
use saker_nvme::group::{Form, Op};
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::Methods;
use saker_nvme::{Cqe, Key, Status};

use super::super::{KvQueue, OpenGroup, SubmitError};
use crate::transfer::{Available, Method, Outbox, Pacing, TransferOptions};

const QUEUE: u16 = 1;
const ENTRIES: u32 = 16;
const SLOTS: u16 = 8;

/// A queue, and the device's side of it.
struct Joined {
    queue: KvQueue,
    sq: DeviceSq,
    cq: DeviceCq,
}

impl Joined {
    fn new() -> Self {
        let (space, doorbells) = (DmaSpace::new(256, 64), Doorbells::new(2));
        let pair = HostQueuePair::new(&space, &doorbells, QUEUE, ENTRIES, 4 * ENTRIES).expect("fits");
        let sq = DeviceSq::new(&space, &doorbells, QUEUE, pair.sq_iova(), ENTRIES).expect("is there");
        let cq = DeviceCq::new(&space, &doorbells, QUEUE, pair.cq_iova(), 4 * ENTRIES).expect("is there");
        let mut queue = KvQueue::new(&space, pair, SLOTS, 1).expect("fits");
        queue.set_bar(BarBuffer::new(1));
        Self { queue, sq, cq }
    }

    /// The device completes all commands that it is told of.
    fn complete(&mut self) {
        self.queue.ring();
        while let Ok(Some(sqe)) = self.sq.fetch() {
            self.cq.post(&Cqe::new(0, self.sq.head(), QUEUE, sqe.cid.get(), Status::SUCCESS)).expect("room");
        }
    }

    /// Whether a completion was an answer.
    fn poll(&mut self) -> bool {
        self.queue.poll(|done| done.status == Status::SUCCESS).is_some_and(|done| done == Ok(true))
    }
}

fn key(n: u8) -> Key {
    Key::new(&[n; 4]).expect("a key")
}

fn store(n: u8) -> Sqe {
    saker_nvme::kv::store(1, &key(n), 0, StoreOptions::NONE)
}

fn with(method: Method, pacing: Pacing) -> (TransferOptions, Available) {
    let all = Available {
        methods: Methods::ALL,
        retrieve_bytes_max: 64,
        sq_entries: ENTRIES,
        ..Available::default()
    };
    (TransferOptions::fixed(method, pacing), all)
}

/// Commands of every kind are in flight, the slots of which are known: 0 staged, 1 lent, 2 in the BAR, 3 with payload behind its
/// completion. Slot 4 is in a group. Of a value the commands go out one by one: its slot is 5.
fn busy() -> (Joined, OpenGroup) {
    let mut joined = Joined::new();
    let queue = &mut joined.queue;
    let (options, available) = with(Method::Piggyback, Pacing::Passthrough);
    queue.set_transfer(options, available);
    assert_eq!(one_of_each(queue), [0, 1, 2, 3]);
    let group = queue.open_group(Form::All(Op::Store)).expect("a slot");
    let value = queue.send_train((0..3).map(store), 3).expect("a slot");
    assert!(value.slot() == 5 && queue.is_amid_value());
    (joined, group)
}

fn one_of_each(queue: &mut KvQueue) -> [u16; 4] {
    let staged = queue.send_pages(store(1), &[1; 100]).expect("room");
    let lent = queue.store_owned(&key(2), vec![2; 5000], StoreOptions::NONE).expect("room");
    let stored = queue.send_from_bar(&[3; 100], |_| store(3)).expect("room").expect("a BAR");
    let behind = queue.retrieve_small(&key(4), 30).expect("room");
    [staged, lent, stored, behind].map(|ticket| ticket.slot())
}

#[test]
fn every_planted_fault_is_found() {
    type Fault = (&'static str, fn(&mut KvQueue));
    let faults: [Fault; 14] = [
        ("a slot that is lost", |q| {
            let mut slot = q.pool.acquire().expect("free");
            slot.rest();
        }),
        ("a group that nobody has", |q| q.open_groups += 1),
        ("a command without a slot", |q| {
            for _ in 0..SLOTS {
                _ = q.queue.pair_mut().submit(&store(9));
            }
        }),
        ("the number of parts", |q| q.flights[5].parts_out += 1),
        ("whose part it is", |q| q.flights[5].part_of = Some(0)),
        ("a part that is not out", |q| q.flights[7].part_of = Some(5)),
        ("a value without commands", |q| q.train.as_mut().expect("there is one").entries.clear()),
        ("a value whose part is an answer", |q| {
            (q.flights[5].part_of, q.flights[5].parts_out) = (None, 0);
        }),
        ("a buffer that is not lent", |q| drop(q.end_loan(1))),
        ("a buffer of a free slot", |q| {
            let window = q.space.window().expect("one is left");
            q.loans[7] = Some(super::super::Loan::empty(window));
        }),
        ("a range of the BAR", |q| q.bar_ring.release(2)),
        ("a range of nobody", |q| _ = q.bar_ring.take(7, 64)),
        ("entries that are promised", |q| q.cq_promised += 1),
        ("completions that were taken", |q| q.cq_unreported = 4 * ENTRIES),
    ];
    for (what, fault) in faults {
        let (mut joined, group) = busy();
        assert_eq!(joined.queue.check(), Ok(()), "{what} is not planted yet");
        fault(&mut joined.queue);
        assert!(joined.queue.check().is_err(), "{what} is not found");
        joined.queue.open_groups = joined.queue.open_groups.max(1);
        joined.queue.drop_group(group);
    }
}

/// From submission to the last completion, whatever is looked at between.
#[test]
fn a_queue_agrees_with_itself_at_every_step() {
    let (mut joined, group) = busy();
    joined.queue.drop_group(group);
    let mut answers = 0;
    while joined.queue.in_flight() > 0 {
        joined.complete();
        assert_eq!(joined.queue.check(), Ok(()), "behind the device");
        answers += u32::from(joined.poll());
        assert_eq!(joined.queue.check(), Ok(()), "behind {answers} answers");
        joined.queue.continue_value();
        assert_eq!(joined.queue.check(), Ok(()), "behind a part");
    }
    assert_eq!(answers, 5);
}

/// The last command of a value has completed before the others.
#[test]
fn a_completion_is_held_until_the_parts_of_its_value_are_there() {
    let mut joined = Joined::new();
    let (options, available) = with(Method::Piggyback, Pacing::Pipelined);
    joined.queue.set_transfer(options, available);
    let last = joined.queue.send_train((0..3).map(store), 3).expect("room").slot();
    joined.queue.ring();
    let mut cids = Vec::new();
    while let Ok(Some(sqe)) = joined.sq.fetch() {
        cids.push(sqe.cid.get());
    }
    assert_eq!((cids.len(), cids.last()), (3, Some(&last)));
    for cid in cids.iter().rev() {
        joined.cq.post(&Cqe::new(0, joined.sq.head(), QUEUE, *cid, Status::SUCCESS)).expect("room");
        let is_over = joined.poll();
        assert_eq!((is_over, joined.queue.check()), (joined.queue.in_flight() == 0, Ok(())));
    }
    assert_eq!(joined.queue.in_flight(), 0);
}

/// Payload has filled the entries: what the command would have lent is taken back.
#[test]
fn what_a_full_queue_refuses_lends_nothing() {
    let mut joined = Joined::new();
    joined.queue.send_behind(&store(1), &[1; 14 * 64]).expect("room for all of it");
    let refused = joined.queue.send_block(store(2), &[2; 5000]);
    assert_eq!(refused.err(), Some(SubmitError::Full));
    assert_eq!(joined.queue.check(), Ok(()));
    let refused = joined.queue.store_owned(&key(3), vec![3; 5000], StoreOptions::NONE);
    assert_eq!(refused.err().map(|returned| returned.buffer), Some(vec![3; 5000]));
    assert_eq!(joined.queue.check(), Ok(()));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "dropped, but a group is sent")]
fn a_group_that_is_forgotten_panics() {
    let mut joined = Joined::new();
    drop(joined.queue.open_group(Form::All(Op::Store)));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "of 8 slots")]
fn doorbells_look_now_and_then() {
    let mut joined = Joined::new();
    joined.queue.open_groups = 1;
    (0..super::super::CHECKED_EVERY).for_each(|_| joined.queue.ring());
}
