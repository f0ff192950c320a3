// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints round trips in nanoseconds: the bare ring, and a no-op command through a queue pair, inline and with a
//! device thread. Figures with two threads depend on where the threads land: compare with the bare ring of the same run.
#![expect(clippy::disallowed_types, reason = "a measurement needs the OS clock; the library does not")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use saker_link::probe::{self, NoopController};
use saker_link::{DeviceCq, DeviceSq, DmaSpace, Doorbells, HostQueuePair, SlotPool, SlotQueue, Sqe};

const ENTRIES: u32 = 512;

fn main() {
    let rounds = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    for _ in 0..3 {
        println!("{:7.1} ns  bare ring, inline", time(rounds, bare_inline));
        println!("{:7.1} ns  queue pair, inline, QD 1", time(rounds, |n| pair_inline(n, 1)));
        println!(
            "{:7.1} ns  queue pair, inline, QD 64, one doorbell per 64",
            time(rounds, |n| pair_inline(n, 64))
        );
        println!(
            "{:7.1} ns  slots with staging, inline, QD 1, device reads 64 B",
            time(rounds, slots_inline)
        );
        println!("{:7.1} ns  bare ring, two threads", time(rounds, bare_threads));
        println!("{:7.1} ns  queue pair, two threads, QD 1", time(rounds, |n| pair_threads(n, 1)));
        println!("{:7.1} ns  queue pair, two threads, QD 64", time(rounds, |n| pair_threads(n, 64)));
        println!("{:7.1} ns  bare ring, two threads, again", time(rounds, bare_threads));
    }
}

fn time(rounds: u64, run: impl Fn(u64)) -> f64 {
    run(rounds / 100);
    let start = Instant::now();
    run(rounds);
    start.elapsed().as_nanos() as f64 / rounds as f64
}

fn bare_inline(rounds: u64) {
    let (mut ask, mut asked) = probe::channel(64);
    let (mut answer, mut answered) = probe::channel(64);
    for round in 0..rounds {
        assert!(ask.send(round) && probe::echo(&mut asked, &mut answer));
        assert_eq!(answered.receive(), Some(round));
    }
}

fn bare_threads(rounds: u64) {
    let (mut ask, mut asked) = probe::channel(64);
    let (mut answer, mut answered) = probe::channel(64);
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..rounds {
                while !probe::echo(&mut asked, &mut answer) {
                    spin_loop();
                }
            }
        });
        for round in 0..rounds {
            ask.send(round);
            while answered.receive() != Some(round) {
                spin_loop();
            }
        }
    });
}

fn pair() -> (HostQueuePair, NoopController, std::sync::Arc<DmaSpace>) {
    let space = DmaSpace::new(256, 64);
    let doorbells = Doorbells::new(2);
    let host = HostQueuePair::new(&space, &doorbells, 1, ENTRIES, ENTRIES).expect("fits");
    let sq = DeviceSq::new(&space, &doorbells, 1, host.sq_iova(), ENTRIES).expect("fits");
    let cq = DeviceCq::new(&space, &doorbells, 1, host.cq_iova(), ENTRIES).expect("fits");
    (host, NoopController::new(sq, cq, 1), space)
}

/// Sends `depth` commands under one doorbell, runs `device`, and takes the completions.
fn batch(host: &mut HostQueuePair, depth: u64, mut device: impl FnMut()) {
    for cid in 0..depth {
        host.submit(&Sqe::new(0, 1).with_cid(cid as u16)).expect("room");
    }
    host.ring();
    device();
    for cid in 0..depth {
        let cqe = loop {
            match host.poll() {
                Some(cqe) => break cqe,
                None => spin_loop(),
            }
        };
        assert_eq!(u64::from(cqe.cid.get()), cid);
    }
    host.ring_cq();
}

fn pair_inline(rounds: u64, depth: u64) {
    let (mut host, mut device, _space) = pair();
    for _ in 0..rounds / depth {
        batch(&mut host, depth, || {
            device.drive(depth as u32).expect("good doorbells");
        });
    }
}

fn pair_threads(rounds: u64, depth: u64) {
    let (mut host, mut device, _space) = pair();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if device.drive(64).expect("good doorbells") == 0 {
                    spin_loop();
                }
            }
        });
        for _ in 0..rounds / depth {
            batch(&mut host, depth, || ());
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn slots_inline(rounds: u64) {
    let (host, mut device, space) = pair();
    let mut pool = SlotPool::new(&space, 8).expect("fits");
    let mut queue = SlotQueue::new(host, 8);
    let mut bytes = [0; 64];
    for round in 0..rounds {
        let mut slot = pool.acquire().expect("free");
        slot.staging_mut()[0] = round as u8;
        let page = slot.lend_staging();
        queue.submit(slot, &Sqe::new(1, 1).with_prp(page, 0)).expect("room");
        queue.ring();
        space.read(page, &mut bytes).expect("lent");
        device.drive(1).expect("good doorbells");
        let done = queue.poll().expect("posted").expect("in flight");
        assert_eq!((bytes[0], done.slot.index()), (round as u8, 0));
        pool.release(done.slot);
        queue.ring_cq();
    }
}
