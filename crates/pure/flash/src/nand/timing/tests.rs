// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use saker_segment_store::Geometry;
use saker_sim::EventQueue;

fn shape() -> Shape {
    let geometry = Geometry { page_bytes: 16_320, oob_bytes: 64, segment_pages: 8, segments: 4 };
    Shape { geometry, channels: 2, luns: 4 }
}

fn nand() -> TimingModel {
    let us = |n: u64| Duration::from_nanos(n * 1000);
    let p = NandModel {
        reads: [us(50); 3],
        program: us(500),
        program_pages: 1,
        copies_are_free: false,
        erase: us(3000),
        channel_bandwidth: 16_384_000_000,
    };
    TimingModel::new(Timings::Nand(p), shape())
}

/// Programs of the four pages of a LUN of that shape, one after the other: when each ends, in microseconds.
fn programmed(pages: u32, work: fn(PageAddr) -> Work, copies_are_free: bool) -> Vec<u64> {
    let us = |n: u64| Duration::from_nanos(n * 1000);
    let p = NandModel {
        reads: [us(50); 3],
        program: us(500),
        program_pages: pages,
        copies_are_free,
        erase: us(3000),
        channel_bandwidth: 16_384_000_000,
    };
    let geometry = Geometry { segment_pages: 16, ..shape().geometry };
    let mut m = TimingModel::new(Timings::Nand(p), Shape { geometry, ..shape() });
    for row in 0..4 {
        let at = PageAddr(u64::from(row) * 4);
        m.submit(Instant::ZERO, row, work(at), Class::Foreground, Duration::ZERO);
    }
    run(&mut m).into_iter().map(|(at, _)| at / 1000).collect()
}

#[test]
fn one_program_writes_several_pages_of_a_lun() {
    assert_eq!(programmed(1, Work::Program, false), [501, 1002, 1503, 2004]);
    assert_eq!(programmed(2, Work::Program, false), [1, 502, 503, 1004]);
    assert_eq!(programmed(4, Work::Program, false), [1, 2, 3, 504]);
}

#[test]
fn only_copies_are_programmed_in_no_time() {
    assert_eq!(programmed(1, Work::Copy, true), [1, 2, 3, 4]);
    assert_eq!(programmed(1, Work::Copy, false), [501, 1002, 1503, 2004]);
    assert_eq!(programmed(1, Work::Program, true), [501, 1002, 1503, 2004]);
}

fn run(model: &mut TimingModel) -> Vec<(u64, Job)> {
    let mut done = Vec::new();
    while let Some((at, job)) = model.step(Instant::FAR) {
        done.extend(job.map(|j| (at.as_nanos(), j)));
    }
    done
}

#[test]
fn luns_work_in_parallel_and_share_channels() {
    let mut m = nand();
    for n in 0..4 {
        m.submit(Instant::ZERO, n, Work::Read(PageAddr(u64::from(n))), Class::Foreground, Duration::ZERO);
    }
    // tR 50 us on four LUNs at once; 1 us of channel each, two LUNs per channel.
    assert_eq!(run(&mut m), [(51_000, 0), (51_000, 1), (52_000, 2), (52_000, 3)]);
}

#[test]
fn an_erase_waits_for_reads_in_flight_and_takes_every_lun() {
    let mut m = nand();
    m.submit(Instant::ZERO, 0, Work::Read(PageAddr(0)), Class::Foreground, Duration::ZERO);
    m.submit(Instant::ZERO, 1, Work::Erase(SegmentId(0)), Class::Background, Duration::ZERO);
    m.submit(Instant::ZERO, 2, Work::Read(PageAddr(1)), Class::Foreground, Duration::ZERO);
    assert_eq!(run(&mut m), [(51_000, 0), (3_051_000, 1), (3_051_000, 2)]);
}

#[test]
fn programs_start_in_the_array_after_their_transfer() {
    let mut m = nand();
    m.submit(Instant::ZERO, 0, Work::Program(PageAddr(0)), Class::Foreground, Duration::ZERO);
    assert!(!m.has_started(0));
    m.step(Instant::from_nanos(1000)).expect("the transfer ends");
    assert!(m.has_started(0));
    assert_eq!(run(&mut m), [(501_000, 0)]);
}

/// The case that early booking gets wrong: two dependent reads per operation at 35 % load must not saturate.
#[test]
fn dependent_reads_do_not_saturate_an_underloaded_model() {
    let geometry = Geometry { page_bytes: 16_320, oob_bytes: 64, segment_pages: 64, segments: 4 };
    let us = |n: u64| Duration::from_nanos(n * 1000);
    let p = NandModel {
        reads: [us(50); 3],
        program: us(500),
        program_pages: 1,
        copies_are_free: false,
        erase: us(3000),
        channel_bandwidth: 0,
    };
    let mut m = TimingModel::new(Timings::Nand(p), Shape { geometry, channels: 32, luns: 32 });
    let mut rng = saker_sim::Seed(9).rng();
    // 32 LUNs / 50 us = 640 k reads/s; 35 % of it is 224 k, that is 112 k operations of two reads.
    let total = 20_000u32;
    let mut pending: EventQueue<Job> = EventQueue::default();
    for n in 0..total {
        pending.push(Instant::from_nanos(u64::from(n) * 8929), n * 2);
    }
    let (mut last, mut slowest) = (Instant::ZERO, Duration::ZERO);
    let mut begun = vec![Instant::ZERO; total as usize];
    loop {
        let (a, b) = (pending.next_at(), m.next_at());
        let Some(now) = [a, b].into_iter().flatten().min() else { break };
        if a == Some(now) {
            let (_, job) = pending.pop_until(now).expect("due");
            if job % 2 == 0 {
                begun[job as usize / 2] = now;
            }
            m.submit(now, job, Work::Read(PageAddr(rng.below(256))), Class::Foreground, Duration::ZERO);
        } else if let Some((at, Some(job))) = m.step(now) {
            if job % 2 == 0 {
                pending.push(at, job + 1);
            } else {
                slowest = slowest.max(at.since(begun[job as usize / 2]));
                last = at;
            }
        }
    }
    assert!(last.as_nanos() < u64::from(total) * 8929 * 102 / 100, "throughput follows the offered load");
    assert!(slowest < us(2000), "{slowest}");
}
