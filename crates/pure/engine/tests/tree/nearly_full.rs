//! A nearly full device that is opened anew between writes: each ends, and what was deleted makes room.

use crate::bench::{Bench, OWNER};
use saker_engine::{Condition, KvError, TreeConfig};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_medium::{Geometry, PowerHistory};
use saker_sim::Class;

/// 8 MiB and a quarter more in segments of 64 KiB.
const SEGMENTS: u32 = 160;

fn bench(ring_lasts: bool) -> Bench {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, segment_pages: 32, segments: SEGMENTS };
    let config = TreeConfig::new(OWNER, &geometry, SEGMENTS, ring_lasts);
    Bench::shaped(Shape { geometry, channels: 2, luns: 4 }, config, FaultPlan::default())
}

fn key(n: u64) -> Vec<u8> {
    format!("k{n:07}").into_bytes()
}

/// Stores pairs from number `from` on until one is refused, whose number it returns.
fn fill(bench: &mut Bench, from: u64, mut value: impl FnMut() -> Vec<u8>) -> u64 {
    for n in from.. {
        match bench.put(&key(n), &value(), Condition::Always) {
            Ok(()) => {}
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                return n;
            }
        }
    }
    unreachable!("no device holds so many")
}

fn reopen(bench: &mut Bench) {
    bench.restart(PowerHistory::Killed, 1);
}

/// Opened once more, it has each pair of the model and no other.
fn finds_all(bench: &mut Bench) {
    reopen(bench);
    assert!(bench.keys_from(&[]).iter().eq(bench.model.keys()));
    for (k, v) in bench.model.clone() {
        assert_eq!(bench.get(&k), Ok(v));
    }
}

/// What a write answers. No write costs more erases than twice the device.
fn bounded<T>(bench: &mut Bench, write: impl FnOnce(&mut Bench) -> T) -> T {
    let before = bench.store.log_stats().segments_erased;
    let answer = write(bench);
    let erased = bench.store.log_stats().segments_erased - before;
    assert!(erased <= 2 * u64::from(SEGMENTS), "one write erased {erased} segments");
    answer
}

/// 20 pairs become small, all others are replaced and 40 of these deleted; then as many pairs are stored anew. The small ones, the
/// deletes and the new pairs each meet a device that was just opened.
fn replaced_and_deleted(value_bytes: usize) {
    let mut bench = bench(true);
    let pairs = fill(&mut bench, 0, || vec![b'x'; value_bytes]);
    for n in 0..20 {
        reopen(&mut bench);
        bounded(&mut bench, |b| b.put(&key(n), b"small", Condition::Always)).expect("it is shorter");
    }
    reopen(&mut bench);
    for n in 20..pairs {
        let value = vec![b'y'; value_bytes];
        bounded(&mut bench, |b| b.put(&key(n), &value, Condition::Always)).expect("it is not longer");
    }
    for n in 20..60 {
        reopen(&mut bench);
        bounded(&mut bench, |b| b.delete(&key(n))).expect("it is there");
    }
    for n in 0..50 {
        reopen(&mut bench);
        let value = vec![b'n'; value_bytes];
        let stored = bounded(&mut bench, |b| b.put(&key(pairs + n), &value, Condition::Always));
        assert_eq!(stored, Ok(()), "{n}: what was deleted makes room");
    }
    finds_all(&mut bench);
}

/// What a collection can lose follows from the longest record, and the capacity from that.
#[test]
fn a_store_that_is_opened_knows_its_longest_record() {
    let mut bench = bench(true);
    bench.put(&key(0), &[1; 20_000], Condition::Always).expect("there is room");
    let written = bench.config.checkpoint_bytes_min / 1000;
    for n in 0..3 * written {
        bench.put(&key(1 + n % 1000), &[2; 1000], Condition::Always).expect("there is room");
    }
    while bench.background() {}
    assert!(bench.done()[3] > 0, "a manifest was written");
    let before = capacity(&mut bench);
    reopen(&mut bench);
    assert_eq!(capacity(&mut bench), before);
}

fn capacity(bench: &mut Bench) -> u64 {
    bench.store.capacity_bytes(&bench.flash.view(OWNER, Class::Foreground))
}

#[test]
fn long_pairs_make_room_for_others() {
    replaced_and_deleted(3000);
}

#[test]
fn short_pairs_make_room_for_others() {
    replaced_and_deleted(1000);
}
