//! A nearly full device that is opened anew for every write: each ends, and what was deleted makes room.

use crate::bench::{Bench, OWNER};
use saker_engine::{Condition, KvError, LsmConfig};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_medium::{Geometry, PowerHistory};

/// 8 MiB and a quarter more in segments of 64 KiB.
const SEGMENTS: u32 = 160;

fn bench() -> Bench {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, segment_pages: 32, segments: SEGMENTS };
    let config = LsmConfig::new(OWNER, &geometry, SEGMENTS, true);
    Bench::shaped(Shape { geometry, channels: 2, luns: 4 }, config, FaultPlan::default())
}

fn key(n: u64) -> Vec<u8> {
    format!("k{n:07}").into_bytes()
}

/// Stores new pairs until one is refused: how many there are.
fn fill(bench: &mut Bench, value: &[u8]) -> u64 {
    for n in 0.. {
        match bench.put(&key(n), value, Condition::Always) {
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

/// Stores 20 small values, replaces all others, deletes 40 pairs, each of the small and the deleted ones with a device that was
/// just opened, and then stores 30 pairs anew.
fn churn(value_bytes: usize) {
    let mut bench = bench();
    let pairs = fill(&mut bench, &vec![b'x'; value_bytes]);
    let erases_max = 2 * u64::from(SEGMENTS);
    for n in 0..20 {
        reopen(&mut bench);
        bench.put(&key(n), b"small", Condition::Always).expect("it is shorter");
    }
    reopen(&mut bench);
    for n in 20..pairs {
        bench.put(&key(n), &vec![b'y'; value_bytes], Condition::Always).expect("it is not longer");
    }
    for n in 20..60 {
        reopen(&mut bench);
        bench.delete(&key(n)).expect("it is there");
    }
    for n in 0..30 {
        reopen(&mut bench);
        let before = bench.store.log_stats().segments_erased;
        let stored = bench.put(format!("new{n}").as_bytes(), &vec![b'n'; value_bytes], Condition::Always);
        let erased = bench.store.log_stats().segments_erased - before;
        eprintln!("{n}: {stored:?} erased {erased} {:?}", bench.store.tables_by_level());
        assert!(erased <= erases_max, "one store erased {erased} segments");
        assert_eq!(stored, Ok(()), "{n}: what was deleted makes room");
    }
    reopen(&mut bench);
    bench.check();
}

#[test]
fn every_write_to_a_nearly_full_device_of_long_pairs_ends() {
    churn(3000);
}

#[test]
fn every_write_to_a_nearly_full_device_of_short_pairs_ends() {
    churn(1000);
}
