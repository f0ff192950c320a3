// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Full devices: what they hold, what they say that they hold, and that it comes back.

use crate::Subject;
use crate::bench::{Bench, numbered};
use crate::setup::{Setup, Size};
use saker_engine::{Condition, KvError};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;

/// Bytes of the keys.
pub const KEY_BYTES: u32 = 10;

/// Of a fresh device's pairs so many in a hundred fit again.
const AGAIN_PERCENT: u64 = 98;

fn start(subject: Subject, size: Size) -> Bench {
    Setup::of(subject, size, true).start(FaultPlan::default())
}

/// Whether two counts of pairs differ by no more than that share of the second, and some.
pub fn is_near(a: u64, b: u64, percent: u64) -> bool {
    a.abs_diff(b) * 100 <= b * percent + 200
}

/// How far the count may be from what is said, in percent: collections of engines that count their pairs are exact, tables and
/// nodes are as full as they happen to be.
pub fn tolerance(subject: Subject) -> u64 {
    if subject.kind.counts_pairs() { 3 } else { 8 }
}

/// A device of that size is filled with pairs of so long values; it takes about as many as it said. How many; `None`: it
/// takes none of that length.
pub fn holds_what_it_says(subject: Subject, size: Size, value_bytes: u32) -> Option<u64> {
    let mut bench = start(subject, size);
    if bench.longest_value(value_bytes) < value_bytes {
        return None;
    }
    let said = bench.pairs_that_fit(KEY_BYTES, value_bytes);
    let stored = bench.fill(0, value_bytes as usize);
    let kind = subject.kind;
    assert!(
        is_near(stored, said, tolerance(subject)),
        "{kind:?} {size:?} {value_bytes} bytes: {stored} stored, {said} it says"
    );
    Some(stored)
}

/// Values of several lengths on two sizes of flash.
pub fn devices_hold_what_they_say(subject: Subject) {
    for size in subject.cases(&[Size(1024, 64, 200), Size(4096, 64, 120)]).iter().copied() {
        for value_bytes in [20, 100, 1000, 10_000] {
            holds_what_it_says(subject, size, value_bytes);
        }
    }
}

/// What was there and is not changes nothing in what a device says that it holds.
pub fn what_it_says_does_not_depend_on_what_was_there(subject: Subject) {
    let mut bench = start(subject, Size(1024, 64, 200));
    let (kind, before) = (subject.kind, bench.capacity());
    let long = bench.longest_value(20_000) as usize;
    bench.put(b"long", &vec![1; long], Condition::Always).expect("there is room");
    assert!(long < 20_000 || bench.capacity() < before, "{kind:?}: as long as it is there it costs");
    bench.delete(b"long").expect("it is there");
    let value_bytes = bench.longest_value(1000) as usize;
    bench.fill(0, value_bytes);
    (0..1 << 14).for_each(|n| _ = bench.delete(&numbered(n)));
    while bench.background() {}
    // Entries that are not merged yet count, until room is needed. With all values beside them they are most of what there was: it says
    // 70 of 100 then, measured.
    let is_asked_for = |word| subject.settings.contains(&("min_blob_size", word));
    let has_all_inside = is_asked_for("unlimited") || is_asked_for("auto");
    let percent = match (kind.counts_pairs(), has_all_inside) {
        (true, _) => 98,
        (false, false) => 90,
        (false, true) => 65,
    };
    let after = bench.capacity();
    assert!(after * 100 >= before * percent, "{kind:?}: {after} after {before}");
}

/// Asserts that a full device refuses new pairs, and that each pair it has can be read, replaced and deleted.
fn refuses_replaces_and_deletes(bench: &mut Bench, pairs: u64, value_bytes: usize) {
    let of = |n: u64, round: u8| vec![round ^ n as u8; value_bytes];
    for n in 0..pairs {
        assert_eq!(bench.put(&numbered(n), &of(n, 1), Condition::MustExist), Ok(()), "{n} of {pairs}");
    }
    let refused = bench.put(&numbered(pairs), &of(pairs, 1), Condition::Always);
    assert_eq!(refused, Err(KvError::CapacityExceeded), "{pairs} pairs fit, and no other");
    assert_eq!(bench.get(&numbered(pairs)), Err(KvError::NotFound));
    for n in (0..pairs).step_by(7) {
        assert_eq!(bench.get(&numbered(n)), Ok(of(n, 1)), "{n} of {pairs}");
    }
    for n in 0..pairs {
        assert_eq!(bench.delete(&numbered(n)), Ok(()), "{n} of {pairs}");
    }
}

/// Filled, refused, replaced, deleted and filled again, three times, the last time after a power cycle: it takes as many pairs
/// again, 98 of 100.
pub fn a_full_device_takes_as_many_pairs_again(subject: Subject) {
    for value_bytes in [100, 1000] {
        let mut bench = start(subject, Size(1024, 32, 80));
        let value_bytes = bench.longest_value(value_bytes) as usize;
        let fresh = bench.fill(0, value_bytes);
        let mut pairs = fresh;
        for round in 0..3 {
            refuses_replaces_and_deletes(&mut bench, pairs, value_bytes);
            if round == 1 {
                bench.restart(PowerHistory::Cut { ring_kept: true }, 1);
            }
            pairs = bench.fill(0, value_bytes);
            let kind = subject.kind;
            assert!(
                pairs * 100 >= fresh * AGAIN_PERCENT,
                "{kind:?}, {value_bytes} bytes, round {round}: {pairs} of {fresh} pairs fit again"
            );
        }
    }
}

/// Keys in no order make nodes and tables of other sizes than keys in order do. The full device replaces and deletes each pair, and takes
/// as many again.
pub fn pairs_in_no_order_are_replaced_and_deleted(subject: Subject) {
    let key = |n: u64| numbered(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_000_000_007);
    let cases = [(Size(2048, 32, 128), 16), (Size(2048, 32, 128), 0), (Size(2048, 32, 200), 100)];
    for (size, value_bytes) in subject.cases(&cases).iter().copied() {
        let mut bench = start(subject, size);
        let value = vec![7; value_bytes];
        let fits = |bench: &mut Bench| {
            let refused = (0..).find(|n| bench.put(&key(*n), &value, Condition::Always).is_err());
            refused.expect("no device holds all")
        };
        let pairs = fits(&mut bench);
        for n in (0..pairs).step_by(3) {
            let told = bench.put(&key(n), &[], Condition::MustExist);
            assert_eq!(told, Ok(()), "{:?} {size:?} {value_bytes}: {n} of {pairs}", subject.kind);
        }
        for n in 0..pairs {
            let told = bench.delete(&key(n));
            assert_eq!(told, Ok(()), "{:?} {size:?} {value_bytes}: {n} of {pairs}", subject.kind);
        }
        let again = fits(&mut bench);
        assert!(again * 100 >= pairs * AGAIN_PERCENT, "{:?}: {again} of {pairs}", subject.kind);
    }
}
