// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use saker_link::{
    ARENA_IOVA, Cqe, DeviceCq, DeviceSq, DmaSpace, DoorbellError, DoorbellKind, Doorbells, HostQueuePair,
    PostError, RingError, SqFull, Sqe,
};
use saker_nvme::Status;

pub struct Bench {
    pub space: Arc<DmaSpace>,
    pub doorbells: Arc<Doorbells>,
    pub host: HostQueuePair,
    pub sq: DeviceSq,
    pub cq: DeviceCq,
}

pub fn bench(sq_entries: u32, cq_entries: u32) -> Bench {
    let space = DmaSpace::new(2048, 64);
    let doorbells = Doorbells::new(3);
    let host = HostQueuePair::new(&space, &doorbells, 2, sq_entries, cq_entries).expect("fits");
    let sq = DeviceSq::new(&space, &doorbells, 2, host.sq_iova(), sq_entries).expect("fits");
    let cq = DeviceCq::new(&space, &doorbells, 2, host.cq_iova(), cq_entries).expect("fits");
    Bench { space, doorbells, host, sq, cq }
}

fn command(cid: u16) -> Sqe {
    Sqe::new(0x81, 1).with_cid(cid)
}

fn success(sqhd: u16, cid: u16) -> Cqe {
    Cqe::new(u64::from(cid) << 20, sqhd, 2, cid, Status::SUCCESS)
}

#[test]
fn entries_lie_in_memory_as_the_specification_says() {
    let Bench { space, doorbells, mut host, mut sq, mut cq } = bench(4, 4);
    host.submit(&command(0xBEEF)).expect("room");
    let mut bytes = [0; 8];
    space.read(host.sq_iova(), &mut bytes).expect("arena");
    assert_eq!(bytes, [0x81, 0, 0xEF, 0xBE, 1, 0, 0, 0]);
    assert_eq!(sq.fetch(), Ok(None));
    host.ring();
    assert_eq!(doorbells.read(DoorbellKind::SqTail, 2), Ok(1));
    assert_eq!(sq.fetch(), Ok(Some(command(0xBEEF))));
    cq.post(&Cqe::new(0x1122_3344, sq.head(), 2, 0xBEEF, Status::SUCCESS)).expect("room");
    let mut bytes = [0; 16];
    space.read(host.cq_iova(), &mut bytes).expect("arena");
    assert_eq!(bytes, [0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 1, 0, 2, 0, 0xEF, 0xBE, 1, 0]);
    assert_eq!(host.poll().map(|cqe| cqe.result_dw0()), Some(0x1122_3344));
    assert_eq!((host.in_flight(), host.sq_head()), (0, 1));
}

#[test]
fn full_rings_are_told_and_recover() {
    let Bench { mut host, mut sq, mut cq, .. } = bench(3, 2);
    assert_eq!(host.free_entries(), 2);
    host.submit(&command(0)).expect("room");
    host.submit_payload(&[0xA5; 64]).expect("room");
    assert_eq!(host.submit(&command(1)), Err(SqFull));
    assert_eq!(host.in_flight(), 1);
    host.ring();
    sq.fetch().unwrap().unwrap();
    let payload = sq.fetch().unwrap().unwrap();
    assert_eq!(payload, zerocopy::transmute!([0xA5u8; 64]));
    assert_eq!(cq.room(), Ok(1));
    cq.post(&success(sq.head(), 0)).expect("room");
    assert_eq!(cq.post(&success(sq.head(), 1)), Err(PostError::Full));
    host.poll().expect("posted");
    assert_eq!(host.poll(), None);
    assert_eq!(cq.post(&success(sq.head(), 1)), Err(PostError::Full));
    host.ring_cq();
    cq.post(&success(sq.head(), 1)).expect("room again");
    assert_eq!(host.free_entries(), 2);
}

#[test]
fn peeking_does_not_consume() {
    let Bench { mut host, mut sq, .. } = bench(4, 4);
    (0..3).for_each(|cid| host.submit(&command(cid)).expect("room"));
    host.ring();
    let mut ahead = [command(99); 2];
    assert_eq!(sq.peek_batch(&mut ahead), Ok(2));
    assert_eq!(ahead, [command(0), command(1)]);
    assert_eq!((sq.pending(), sq.head()), (Ok(3), 0));
    assert_eq!(sq.fetch(), Ok(Some(command(0))));
}

#[test]
fn bad_doorbells_are_reported_once_and_survived() {
    let Bench { doorbells, mut host, mut sq, mut cq, .. } = bench(4, 4);
    host.submit(&command(7)).expect("room");
    for value in [4, u32::MAX] {
        doorbells.write(DoorbellKind::SqTail, 2, value).expect("exists");
        assert_eq!(sq.fetch(), Err(DoorbellError { queue: 2, kind: DoorbellKind::SqTail, value }));
        assert_eq!(sq.fetch(), Ok(None));
    }
    host.ring();
    assert_eq!(sq.fetch(), Ok(Some(command(7))));
    cq.post(&success(1, 7)).expect("room");
    // Two taken, one posted.
    doorbells.write(DoorbellKind::CqHead, 2, 2).expect("exists");
    let error = DoorbellError { queue: 2, kind: DoorbellKind::CqHead, value: 2 };
    assert_eq!(cq.room(), Err(error));
    assert_eq!(cq.room(), Ok(2));
    host.poll().expect("posted");
    host.ring_cq();
    assert_eq!(cq.room(), Ok(3));
}

#[test]
fn impossible_heads_are_ignored_and_counted() {
    let Bench { mut host, mut cq, .. } = bench(4, 8);
    host.submit(&command(0)).expect("room");
    for head in [2, 3, 4, 0xFFFF] {
        cq.post(&success(head, 0)).expect("room");
        host.poll().expect("posted");
    }
    assert_eq!((host.sq_head(), host.bad_heads(), host.in_flight()), (0, 4, 0));
}

#[test]
fn impossible_queues_are_errors() {
    let space = DmaSpace::new(4, 1);
    let doorbells = Doorbells::new(2);
    let sq = |queue, iova, entries| {
        DeviceSq::new(&space, &doorbells, queue, iova, entries).map(|_| ()).unwrap_err()
    };
    assert_eq!(sq(1, ARENA_IOVA, 1), RingError::EntryCount(1));
    assert_eq!(sq(1, ARENA_IOVA, 65537), RingError::EntryCount(65537));
    assert_eq!(sq(2, ARENA_IOVA, 2), RingError::QueueId(2));
    for iova in [0, ARENA_IOVA + 64, ARENA_IOVA + 3 * 4096, saker_link::WINDOW_IOVA, u64::MAX - 4095] {
        assert_eq!(sq(1, iova, 65), RingError::Memory { iova, bytes: 65 * 64 });
    }
    assert!(DeviceCq::new(&space, &doorbells, 0, ARENA_IOVA + 4096, 768).is_ok());
    assert!(HostQueuePair::new(&space, &doorbells, 1, 129, 2).is_ok());
    assert!(matches!(HostQueuePair::new(&space, &doorbells, 1, 65536, 2), Err(RingError::Arena(_))));
}

#[test]
fn the_largest_queues_wrap() {
    let Bench { mut host, mut sq, mut cq, .. } = bench(65536, 65536);
    for round in 0..70_000u32 {
        let cid = round as u16;
        host.submit(&command(cid)).expect("room");
        host.ring();
        assert_eq!(sq.fetch(), Ok(Some(command(cid))));
        cq.post(&success(sq.head(), cid)).expect("room");
        assert_eq!(host.poll().expect("posted").cid.get(), cid);
        host.ring_cq();
    }
}

#[derive(Clone, Debug)]
enum Op {
    Submit,
    Ring,
    Fetch,
    Post,
    Poll,
    RingCq,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Submit), 2 => Just(Op::Ring), 4 => Just(Op::Fetch),
        4 => Just(Op::Post), 4 => Just(Op::Poll), 2 => Just(Op::RingCq),
    ];
    prop::collection::vec(op, 1..400)
}

/// What the rings must do, on queues without memory.
#[derive(Default)]
struct Model {
    submitted: VecDeque<u16>,
    rung: VecDeque<u16>,
    fetched: VecDeque<u16>,
    /// Completions, each with the number of entries fetched when it was posted.
    posted: VecDeque<(u16, u32)>,
    taken_not_rung: u32,
    fetched_total: u32,
    head_known: u32,
    submitted_total: u32,
}

proptest! {
    #[test]
    fn rings_behave_as_queues(sq_entries in 2u32..9, cq_entries in 2u32..9, ops in ops()) {
        let Bench { mut host, mut sq, mut cq, .. } = bench(sq_entries, cq_entries);
        let mut model = Model::default();
        let mut cid = 0u16;
        for op in ops {
            match op {
                Op::Submit => {
                    let room = model.submitted_total - model.head_known < sq_entries - 1;
                    prop_assert_eq!(host.submit(&command(cid)), if room { Ok(()) } else { Err(SqFull) });
                    if room {
                        model.submitted.push_back(cid);
                        model.submitted_total += 1;
                        cid += 1;
                    }
                }
                Op::Ring => {
                    host.ring();
                    model.rung.append(&mut model.submitted);
                }
                Op::Fetch => {
                    let expected = model.rung.pop_front();
                    prop_assert_eq!(sq.fetch(), Ok(expected.map(command)));
                    model.fetched_total += u32::from(expected.is_some());
                    model.fetched.extend(expected);
                }
                Op::Post => {
                    let Some(&cid) = model.fetched.front() else { continue };
                    let room = model.posted.len() as u32 + model.taken_not_rung < cq_entries - 1;
                    let posted = cq.post(&success(sq.head(), cid));
                    prop_assert_eq!(posted, if room { Ok(()) } else { Err(PostError::Full) });
                    if room {
                        model.fetched.pop_front();
                        model.posted.push_back((cid, model.fetched_total));
                    }
                }
                Op::Poll => {
                    let expected = model.posted.pop_front();
                    let polled = host.poll();
                    prop_assert_eq!(polled.map(|cqe| (cqe.cid.get(), cqe.result())),
                        expected.map(|(cid, _)| (cid, u64::from(cid) << 20)));
                    if let Some((_, head)) = expected {
                        model.taken_not_rung += 1;
                        model.head_known = head;
                    }
                }
                Op::RingCq => {
                    host.ring_cq();
                    model.taken_not_rung = 0;
                }
            }
            prop_assert_eq!(host.bad_heads(), 0);
            prop_assert_eq!(host.sq_head(), model.head_known % sq_entries);
            prop_assert_eq!(host.free_entries(), sq_entries - 1 - (model.submitted_total - model.head_known));
            let in_flight = model.submitted.len() + model.rung.len() + model.fetched.len() + model.posted.len();
            prop_assert_eq!(host.in_flight() as usize, in_flight);
        }
    }
}
