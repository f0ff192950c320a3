// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every interleaving (up to loom's bounds) of the hand-overs between host and device:
//! `RUSTFLAGS="--cfg loom" cargo test -p saker-link --profile soak --test loom`
#![cfg(loom)]

use std::sync::Arc;

use loom::thread;
use saker_link::{Cqe, DeviceCq, DeviceSq, DmaSpace, Doorbells, HostQueuePair, Placement, Sqe};
use saker_nvme::Status;

fn pair(entries: u32) -> (HostQueuePair, DeviceSq, DeviceCq) {
    let space = DmaSpace::new(2, 0);
    let doorbells = Doorbells::new(1);
    let host = HostQueuePair::new(&space, &doorbells, 0, entries, entries).expect("fits");
    let sq = DeviceSq::new(&space, &doorbells, 0, host.sq_iova(), entries).expect("fits");
    let cq = DeviceCq::new(&space, &doorbells, 0, host.cq_iova(), entries).expect("fits");
    (host, sq, cq)
}

/// An entry that shows tearing: all its dwords follow from the identifier.
fn command(cid: u16) -> Sqe {
    let mut sqe =
        Sqe::new(cid as u8, u32::from(cid)).with_cid(cid).with_prp(u64::from(cid) << 12, u64::from(cid));
    sqe.cdw15 = u32::from(cid).into();
    sqe
}

fn bounded(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn a_fetched_entry_is_whole() {
    bounded(|| {
        let (mut host, mut sq, _cq) = pair(4);
        let device = thread::spawn(move || {
            let mut seen = 0;
            for _ in 0..3 {
                if let Some(sqe) = sq.fetch().expect("good doorbells") {
                    seen += 1;
                    assert_eq!(sqe, command(seen));
                }
            }
            seen
        });
        for cid in 1..=2 {
            host.submit(&command(cid)).expect("room");
            host.ring();
        }
        assert!(device.join().expect("no panic") <= 2);
    });
}

#[test]
fn a_polled_completion_is_whole() {
    bounded(|| {
        let (mut host, _sq, mut cq) = pair(3);
        let device = thread::spawn(move || {
            for cid in 1..=2u16 {
                cq.post(&Cqe::new(u64::from(cid) << 33, 0, 0, cid, Status::SUCCESS)).expect("room");
            }
        });
        let mut seen = 0;
        for _ in 0..3 {
            if let Some(cqe) = host.poll() {
                seen += 1;
                assert_eq!((cqe.cid.get(), cqe.result()), (seen, u64::from(seen) << 33));
            }
        }
        device.join().expect("no panic");
        while host.poll().is_some() {
            seen += 1;
        }
        assert_eq!(seen, 2);
    });
}

/// Entries of one line are published together; who sees the second has the first, too.
#[test]
fn completions_published_together_are_whole() {
    bounded(|| {
        let (mut host, _sq, mut cq) = pair(4);
        let device = thread::spawn(move || {
            for cid in 1..=2u16 {
                cq.post_later(&Cqe::new(u64::from(cid) << 33, 0, 0, cid, Status::SUCCESS)).expect("room");
            }
            cq.publish();
        });
        let mut seen = 0;
        if host.has_completed(2) {
            for _ in 0..2 {
                let cqe = host.poll().expect("it has come before the second");
                seen += 1;
                assert_eq!((cqe.cid.get(), cqe.result()), (seen, u64::from(seen) << 33));
            }
        }
        device.join().expect("no panic");
        while host.poll().is_some() {
            seen += 1;
        }
        assert_eq!(seen, 2);
    });
}

/// With the smallest rings every entry is reused at once: the host may overwrite an entry only after the device has
/// read it, and the device only after the host has.
#[test]
fn entries_are_reused_only_after_they_were_read() {
    bounded(|| {
        let (mut host, mut sq, mut cq) = pair(2);
        let device = thread::spawn(move || {
            for cid in 1..=3u16 {
                let sqe = loop {
                    match sq.fetch().expect("good doorbells") {
                        Some(sqe) => break sqe,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(sqe, command(cid));
                let cqe = Cqe::new(u64::from(cid) << 33, sq.head(), 0, cid, Status::SUCCESS);
                while cq.post(&cqe).is_err() {
                    thread::yield_now();
                }
            }
        });
        for cid in 1..=3u16 {
            host.submit(&command(cid)).expect("the completion before reported the head");
            host.ring();
            let cqe = loop {
                match host.poll() {
                    Some(cqe) => break cqe,
                    None => thread::yield_now(),
                }
            };
            assert_eq!((cqe.cid.get(), cqe.result()), (cid, u64::from(cid) << 33));
            host.ring_cq();
        }
        device.join().expect("no panic");
    });
}

fn one_window() -> (Arc<DmaSpace>, saker_link::Window) {
    let space = DmaSpace::with_placement(0, 1, Placement::At(0));
    let window = space.window().expect("free");
    (space, window)
}

/// Loom watches the cell behind the gate: an access of the device that overlaps mapping or unmapping fails the model.
#[test]
fn the_device_reaches_a_window_only_while_it_is_mapped() {
    bounded(|| {
        let (space, mut window) = one_window();
        let iova = window.base_iova();
        let device = thread::spawn(move || {
            let mut bytes = [0; 2];
            let wrote = space.write(iova, &[5, 5]).is_ok();
            if space.read(iova, &mut bytes).is_ok() {
                assert!(bytes == [1, 1] || bytes == [5, 5] || bytes == [2, 2]);
            }
            wrote
        });
        window.map_owned(vec![1, 1]).expect("short");
        let first = window.unmap_owned().expect("mapped");
        window.map_owned(vec![2, 2]).expect("short");
        let second = window.unmap_owned().expect("mapped");
        let wrote = device.join().expect("no panic");
        let hits = [first, second].iter().filter(|buffer| buffer[..] == [5, 5]).count();
        assert_eq!(hits, usize::from(wrote));
    });
}

/// The host's own thread plays the second device thread: loom cannot bound three threads that spin.
#[test]
fn two_device_threads_take_turns_in_a_window() {
    bounded(|| {
        let (space, mut window) = one_window();
        let iova = window.map_owned(vec![0, 0]).expect("short");
        let other = Arc::clone(&space);
        let thread = thread::spawn(move || other.write(iova, &[1, 1]).is_ok());
        assert_eq!(space.write(iova, &[2, 2]), Ok(()));
        let buffer = window.unmap_owned().expect("mapped");
        let wrote = thread.join().expect("no panic");
        assert!(buffer == [2, 2] || wrote && buffer == [1, 1]);
    });
}

/// Both threads change what the lock guards; loom sees every access, and that none meet.
#[test]
fn a_short_lock_lets_one_in_at_a_time() {
    bounded(|| {
        let lock = Arc::new(saker_link::ShortLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            *other.lock() += 1;
            // Asking for a taken lock must not release it.
            if let Some(mut held) = other.try_lock() {
                *held += 1;
            }
        });
        let mut held = lock.lock();
        let before = *held;
        *held += 1;
        assert_eq!(*held, before + 1);
        drop(held);
        thread.join().expect("no panic");
        assert!(matches!(*lock.lock(), 2 | 3));
    });
}
