// SPDX-License-Identifier: Apache-2.0 OR MIT
use saker_link::{
    CompletionError, Cqe, DmaFault, DmaSpace, LIST_ENTRIES, PoolError, RejectReason, SlotPool, SlotQueue, Sqe,
};
use saker_nvme::Status;

use crate::rings::{Bench, bench};

#[test]
fn slots_travel_with_their_commands() {
    let Bench { space, host, mut sq, mut cq, .. } = bench(8, 8);
    let mut pool = SlotPool::new(&space, 4).expect("fits");
    let mut queue = SlotQueue::new(host, 4);
    let mut slots: Vec<_> = std::iter::from_fn(|| pool.acquire()).collect();
    assert_eq!(slots.iter().map(|slot| slot.index()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let mut slot = slots.remove(2);
    slot.staging_mut()[..5].copy_from_slice(b"value");
    let page = slot.lend_staging();
    assert_eq!(page % 4096, 0);
    assert_eq!(space.read(page, &mut [0]).unwrap_err().fault, DmaFault::Unmapped);
    queue.submit(slot, &Sqe::new(1, 1)).expect("room");
    queue.ring();
    let sqe = sq.fetch().unwrap().expect("rung");
    assert_eq!(sqe.cid.get(), 2);
    let mut bytes = [0; 5];
    space.read(page, &mut bytes).expect("lent");
    assert_eq!(&bytes, b"value");
    space.write(page + 4095, &[9]).expect("lent");
    cq.post(&Cqe::new(0, sq.head(), 2, 2, Status::SUCCESS)).expect("room");
    let done = queue.poll().expect("posted").expect("in flight");
    assert_eq!((done.slot.index(), done.slot.staging()[4095], done.cqe().status()), (2, 9, Status::SUCCESS));
    assert!(space.write(page, &[0]).is_err());
    pool.release(done.slot);
    assert_eq!(pool.free(), 1);
    slots.into_iter().for_each(|slot| pool.release(slot));
}

#[test]
fn a_page_that_was_not_lent_stays_closed() {
    let Bench { space, host, .. } = bench(8, 8);
    let mut pool = SlotPool::new(&space, 1).expect("fits");
    let mut queue = SlotQueue::new(host, 1);
    let slot = pool.acquire().expect("free");
    queue.submit(slot, &Sqe::new(1, 1)).expect("room");
    assert!(space.read(saker_link::WINDOW_IOVA, &mut [0]).is_err());
    let (_, mut slots) = queue.abandon();
    pool.release(slots.next().expect("was in flight"));
    assert!(slots.next().is_none());
}

#[test]
fn unknown_and_duplicate_identifiers_are_errors() {
    let Bench { space, host, mut cq, .. } = bench(8, 8);
    let mut pool = SlotPool::new(&space, 2).expect("fits");
    let mut queue = SlotQueue::new(host, 2);
    queue.submit(pool.acquire().expect("free"), &Sqe::new(1, 1)).expect("room");
    for cid in [1, 2, 0xFFFF, 0, 0] {
        cq.post(&Cqe::new(0, 0, 2, cid, Status::SUCCESS)).expect("room");
    }
    for cid in [1, 2, 0xFFFF] {
        assert_eq!(queue.poll().expect("posted").unwrap_err(), CompletionError::NotInFlight(cid));
    }
    let done = queue.poll().expect("posted").expect("in flight");
    assert_eq!(done.slot.index(), 0);
    pool.release(done.slot);
    assert_eq!(queue.poll().expect("posted").unwrap_err(), CompletionError::NotInFlight(0));
    assert!(queue.poll().is_none());
}

#[test]
fn rejected_commands_give_their_slot_back() {
    let Bench { space, host, .. } = bench(2, 2);
    let mut pool = SlotPool::new(&space, 4).expect("fits");
    let mut queue = SlotQueue::new(host, 2);
    queue.submit(pool.acquire().expect("free"), &Sqe::new(1, 1)).expect("room");
    let mut lent = pool.acquire().expect("free");
    let page = lent.lend_staging();
    let rejected = queue.submit(lent, &Sqe::new(1, 1)).unwrap_err();
    assert!(matches!(rejected.reason, RejectReason::Full(_)));
    assert!(space.read(page, &mut [0]).is_err());
    pool.release(rejected.slot);
    let one = pool.acquire().expect("free");
    let beyond = queue.submit(pool.acquire().expect("free"), &Sqe::new(1, 1)).unwrap_err();
    assert_eq!((beyond.slot.index(), beyond.reason), (2, RejectReason::Identifier));
    [one, beyond.slot].into_iter().for_each(|slot| pool.release(slot));
    assert_eq!(pool.free(), 3);
}

#[test]
#[cfg_attr(
    debug_assertions,
    should_panic(expected = "dropped, but a slot is submitted, or goes back to its pool")
)]
fn a_slot_in_hand_must_not_be_lost() {
    let mut pool = SlotPool::new(&DmaSpace::new(1, 1), 1).expect("fits");
    drop(pool.acquire());
    assert_eq!(pool.free(), 0, "nobody has it any more");
}

#[test]
fn slots_at_rest_go_with_their_owner() {
    let Bench { space, host, .. } = bench(8, 8);
    let mut pool = SlotPool::new(&space, 3).expect("fits");
    let mut queue = SlotQueue::new(host, 3);
    queue.submit(pool.acquire().expect("free"), &Sqe::new(1, 1)).expect("room");
    let mut kept = pool.acquire().expect("free");
    kept.rest();
    drop((pool, queue, kept));
}

#[test]
fn list_entries_are_what_the_device_reads() {
    let space = DmaSpace::new(2, 2);
    let mut pool = SlotPool::new(&space, 2).expect("fits");
    let mut slot = pool.acquire().expect("free");
    slot.write_list_entry(0, 0x1000);
    slot.write_list_entry(LIST_ENTRIES - 1, 0x1122_3344_5566_7788);
    assert_eq!(space.read_u64(slot.list_iova()), Ok(0x1000));
    assert_eq!(space.read_u64(slot.list_iova() + 4088), Ok(0x1122_3344_5566_7788));
    pool.release(slot);
}

#[test]
fn a_pool_needs_room() {
    assert!(matches!(SlotPool::new(&DmaSpace::new(1, 2), 2), Err(PoolError::Arena(_))));
    let space = DmaSpace::new(2, 1);
    assert_eq!(SlotPool::new(&space, 2).unwrap_err(), PoolError::Windows);
    assert_eq!(space.free_pages(), 2);
}

#[test]
#[should_panic(expected = "its own pool")]
fn a_slot_of_another_pool_is_refused() {
    let space = DmaSpace::new(2, 2);
    let (mut one, mut other) =
        (SlotPool::new(&space, 1).expect("fits"), SlotPool::new(&space, 1).expect("fits"));
    other.release(one.acquire().expect("free"));
}
