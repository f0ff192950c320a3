// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use saker_link::{Cqe, DmaSpace, SlotPool, SlotQueue, Sqe};
use saker_nvme::Status;

use crate::rings::{Bench, bench};

const COMMANDS: u64 = if cfg!(miri) { 300 } else { 100_000 };

/// Stops the other thread when this one ends, also by a failed assertion.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every command lends a page with its number; the device checks it, and writes the answer to it.
#[test]
fn two_threads_exchange_every_command_once() {
    let Bench { space, host, mut sq, mut cq, .. } = bench(16, 8);
    let stop = AtomicBool::new(false);
    let pool = SlotPool::new(&space, 12).expect("fits");
    let done = thread::scope(|scope| {
        let device = scope.spawn(|| {
            let (mut answered, mut waiting) = (0, None);
            while !stop.load(Ordering::Relaxed) {
                if waiting.is_none() {
                    waiting = sq.fetch().expect("good doorbells").map(|sqe| {
                        let page = sqe.prp1.get();
                        let number = space.read_u64(page).expect("lent");
                        assert_eq!(number, answered);
                        answered += 1;
                        space.write_u64(page + 8, !number).expect("lent");
                        Cqe::new(number, sq.head(), 2, sqe.cid.get(), Status::SUCCESS)
                    });
                }
                match waiting {
                    Some(cqe) if cq.post(&cqe).is_ok() => waiting = None,
                    _ => thread::yield_now(),
                }
            }
            answered
        });
        drive(SlotQueue::new(host, 12), pool, &StopOnDrop(&stop));
        stop.store(true, Ordering::Relaxed);
        device.join().expect("no panic")
    });
    assert_eq!(done, COMMANDS);
}

fn drive(mut queue: SlotQueue, mut pool: SlotPool, _stop: &StopOnDrop<'_>) {
    let (mut sent, mut taken) = (0, 0);
    while taken < COMMANDS {
        while sent < COMMANDS && queue.pair().free_entries() > 0 {
            let Some(mut slot) = pool.acquire() else { break };
            slot.staging_mut()[..8].copy_from_slice(&sent.to_le_bytes());
            let sqe = Sqe::new(1, 1).with_prp(slot.lend_staging(), 0);
            queue.submit(slot, &sqe).expect("room");
            sent += 1;
        }
        queue.ring();
        let before = taken;
        while let Some(done) = queue.poll() {
            let done = done.expect("in flight");
            assert_eq!(done.cqe().result(), taken);
            assert_eq!(done.slot.staging()[8..16], (!taken).to_le_bytes());
            pool.release(done.slot);
            taken += 1;
        }
        queue.ring_cq();
        if taken == before {
            thread::yield_now();
        }
    }
}

/// The host maps, unmaps and drops buffers while a hostile device writes to the window all the time: bytes change only
/// while they are mapped.
#[test]
fn unmapping_is_safe_while_the_device_writes() {
    let space = DmaSpace::with_placement(1, 1, saker_link::Placement::At(0));
    let mut window = space.window().expect("free");
    let iova = window.base_iova();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut hits = 0u32;
            while !stop.load(Ordering::Relaxed) {
                hits += u32::from(space.write(iova + 8, &[1; 48]).is_ok());
                hits += u32::from(space.read(iova, &mut [0; 64]).is_ok());
                if hits.is_multiple_of(64) {
                    thread::yield_now();
                }
            }
        });
        let _stop = StopOnDrop(&stop);
        for _ in 0..COMMANDS / 5 {
            let mut buffer = vec![0; 64];
            window.with_mapped_write(&mut buffer, |_| std::hint::spin_loop()).expect("short");
            let seen = buffer[8];
            assert!(buffer[8..56].iter().all(|&byte| byte == seen), "a copy was cut in two");
            assert!(buffer[..8].iter().chain(&buffer[56..]).all(|&byte| byte == 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|&byte| byte == 7));
        }
    });
}
