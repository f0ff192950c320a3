// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long values that were there, and are not.

use crate::Subject;
use crate::bench::{Bench, numbered as key};
use crate::setup::{Setup, Size};
use saker_engine::Condition;
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;

const LONG: &[u8] = b"long";

/// Devices with small and with large segments.
pub const SIZES: [Size; 2] = [Size(1024, 32, 120), Size(4096, 64, 100)];

/// How a long value goes.
#[derive(Clone, Copy, Debug)]
enum Way {
    Deleted,
    Replaced,
    /// Deleted, and the store is opened anew before it is filled.
    Reopened,
    /// Opened anew with the long value, which is deleted then.
    DeletedLater,
    /// Stored and deleted while the store is full of others, which go then.
    WhileFull,
    /// Deleted beside a snapshot, which is released.
    BesideSnapshot,
}

const WAYS: [Way; 6] =
    [Way::Deleted, Way::Replaced, Way::Reopened, Way::DeletedLater, Way::WhileFull, Way::BesideSnapshot];

/// Longest value: half a segment, less what comes with it, if the engine takes that.
fn longest(bench: &mut Bench) -> usize {
    let most = (bench.setup.size.segment_bytes() / 2) as u32 - 64;
    bench.longest_value(most) as usize
}

fn start(subject: Subject, size: Size, ring_lasts: bool) -> Bench {
    Setup::of(subject, size, ring_lasts).start(FaultPlan::default())
}

fn store_long(bench: &mut Bench, bytes: usize) {
    bench.put(LONG, &vec![b'l'; bytes], Condition::Always).expect("there is room");
}

fn goes(bench: &mut Bench, way: Way, long_bytes: usize, small_bytes: usize) {
    match way {
        Way::Deleted => {
            store_long(bench, long_bytes);
            bench.delete(LONG).expect("it is there");
        }
        Way::Replaced => {
            store_long(bench, long_bytes);
            bench.put(LONG, b"short", Condition::Always).expect("it is shorter");
            bench.delete(LONG).expect("it is there");
        }
        Way::Reopened => {
            store_long(bench, long_bytes);
            while bench.background() {}
            bench.delete(LONG).expect("it is there");
            bench.restart(PowerHistory::Killed, 1);
        }
        Way::DeletedLater => {
            store_long(bench, long_bytes);
            bench.restart(PowerHistory::Killed, 1);
            bench.delete(LONG).expect("it is there");
        }
        Way::WhileFull => {
            let pairs = bench.fill(0, small_bytes);
            let needed = pairs * 3 / 4;
            (0..needed).for_each(|n| bench.delete(&key(n)).expect("it is there"));
            store_long(bench, long_bytes);
            bench.fill(0, small_bytes);
            bench.delete(LONG).expect("it is there");
            let more = bench.fill(needed * 2, small_bytes);
            (0..more).for_each(|n| _ = bench.delete(&key(n)));
        }
        Way::BesideSnapshot => {
            store_long(bench, long_bytes);
            let snapshot = bench.snapshot();
            bench.delete(LONG).expect("it is there");
            let pairs = bench.fill(0, small_bytes);
            (0..pairs / 4).for_each(|n| bench.delete(&key(n)).expect("it is there"));
            snapshot.into_iter().for_each(|snapshot| bench.release(snapshot));
            let more = bench.fill(pairs, small_bytes);
            (pairs / 4..more).for_each(|n| bench.delete(&key(n)).expect("it is there"));
        }
    }
}

/// As many small pairs fit as if there had never been a long value: 98 of 100.
fn leaves_no_trace(subject: Subject, size: Size, small_bytes: usize) {
    let mut bench = start(subject, size, true);
    let longest = longest(&mut bench);
    if bench.longest_value(small_bytes as u32) < small_bytes as u32 {
        return;
    }
    let fresh = bench.fill(0, small_bytes);
    for part in saker_testing::tier(vec![1], vec![1, 2, 5]) {
        for way in WAYS {
            let mut bench = start(subject, size, true);
            goes(&mut bench, way, longest / part, small_bytes);
            let after = bench.fill(1 << 30, small_bytes) - (1 << 30);
            let kind = subject.kind;
            assert!(
                after * 100 >= fresh * 98,
                "{kind:?} {size:?} {way:?} {part}: {after} of {fresh} pairs fit"
            );
        }
    }
}

/// A long value that was there, and is not, changes nothing in how many small ones fit, however it went.
pub fn long_values_leave_no_trace(subject: Subject) {
    subject.cases(&SIZES).iter().for_each(|size| long_values_leave_no_trace_of(subject, *size));
}

/// The same of devices of one size.
pub fn long_values_leave_no_trace_of(subject: Subject, size: Size) {
    for small_bytes in [100, size.0 as usize] {
        leaves_no_trace(subject, size, small_bytes);
    }
}

/// Without a capacitor a cut can bring a long value back whose delete was not flushed. The store is above its capacity
/// then: it goes on reading and deleting, and what is deleted makes room.
fn comes_back(subject: Subject, size: Size) {
    let mut bench = start(subject, size, false);
    let (kind, longest) = (subject.kind, longest(&mut bench));
    store_long(&mut bench, longest);
    let pairs = bench.fill(0, 1000);
    while bench.background() {}
    bench.delete(LONG).expect("it is there");
    let pairs = bench.fill(pairs, 1000);
    bench.restart(PowerHistory::Cut { ring_kept: false }, 1);
    let mut left = 0;
    for n in 0..pairs {
        left += u64::from(bench.delete(&key(n)).is_ok());
    }
    assert!(left > pairs / 2, "{kind:?}: {left} of {pairs} pairs were flushed");
    let again = bench.fill(0, 1000);
    assert!(again > 0);
}

/// A cut that brings a long value back leaves a store that deletes.
pub fn a_cut_that_brings_a_long_value_back_leaves_a_store_that_deletes(subject: Subject) {
    SIZES.iter().for_each(|size| comes_back(subject, *size));
}
