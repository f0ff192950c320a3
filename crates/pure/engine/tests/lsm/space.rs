//! Room: a full store, churn, and what deletes give back.

use crate::bench::{Bench, OWNER, config, scale};
use saker_engine::LsmConfig;
use saker_engine::{Condition, KvError};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_medium::{Geometry, PowerHistory};
use saker_sim::{Class, Seed};

fn fill(bench: &mut Bench, prefix: &str) -> Vec<Vec<u8>> {
    let mut stored = Vec::new();
    loop {
        let k = format!("{prefix}{:06}", stored.len()).into_bytes();
        match bench.put(&k, &[7; 100], Condition::Always) {
            Ok(()) => stored.push(k),
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                return stored;
            }
        }
    }
}

#[test]
fn a_full_store_still_reads_deletes_and_then_stores() {
    for ring_lasts in [true, false] {
        let mut bench = Bench::new(config(ring_lasts), FaultPlan::default());
        let stored = fill(&mut bench, "key");
        assert!(stored.len() > 600, "{}", stored.len());
        assert_eq!(bench.get(&stored[3]), Ok(vec![7; 100]));
        for k in &stored {
            assert_eq!(bench.put(k, &[8; 100], Condition::Always), Ok(()), "in place of itself");
        }
        let (gone, kept) = stored.split_at(stored.len() / 2);
        for k in gone {
            assert_eq!(bench.delete(k), Ok(()));
        }
        for n in 0..gone.len() * 9 / 10 {
            let k = format!("new{n:06}").into_bytes();
            assert_eq!(bench.put(&k, &[9; 100], Condition::Always), Ok(()), "{n} of {}", gone.len());
        }
        assert_eq!(bench.get(&kept[0]), Ok(vec![8; 100]));
        bench.restart(PowerHistory::Killed, 1);
        bench.check();
    }
}

/// Ten fills of the device at 80 % utilisation: the same pairs can be stored at the end as at the beginning.
#[test]
fn churn_leaks_no_space() {
    let mut bench = Bench::new(config(true), FaultPlan::default());
    let capacity = fill(&mut bench, "key").len() as u64;
    let mut bench = Bench::new(config(true), FaultPlan::default());
    let pairs = capacity * 8 / 10;
    let mut rng = Seed(5).rng();
    let written_at_least = 10 * bench.store.capacity_bytes(&bench.flash.view(1, Class::Foreground));
    let mut written = 0;
    while written < written_at_least {
        let k = format!("key{:06}", rng.below(pairs)).into_bytes();
        bench.put(&k, &[written as u8; 100], Condition::Always).expect("80 % is not full");
        written += 136;
        if rng.below(10) == 0 {
            let k = format!("key{:06}", rng.below(pairs)).into_bytes();
            let _ = bench.delete(&k);
        }
    }
    for n in 0..capacity * 97 / 100 {
        let k = format!("key{n:06}").into_bytes();
        bench.put(&k, &[1; 100], Condition::Always).unwrap_or_else(|e| panic!("{n} of {capacity}: {e}"));
    }
    bench.check();
}

/// Ten million pairs of 32 bytes in 256 MiB: two memtables, and for each pair its part of block index and filter.
#[test]
fn small_pairs_need_little_memory() {
    // In the soak as many as are claimed.
    let pairs: u64 = if scale(1) > 1 { 10_000_000 } else { 40_000 };
    let geometry = Geometry {
        page_bytes: 16_384,
        oob_bytes: 64,
        segment_pages: 32,
        segments: 400_u32.max(pairs as u32 / 2000),
    };
    let shape = Shape { geometry, channels: 4, luns: 8 };
    let defaults = LsmConfig::new(OWNER, &geometry, geometry.segments, true);
    let small = LsmConfig { write_buffer_size: 1 << 18, max_bytes_for_level_base: 1 << 19, ..defaults };
    let config = if scale(1) > 1 { defaults } else { small };
    let mut bench = Bench::shaped(shape, config, FaultPlan::default());
    for n in 0..pairs {
        let key = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes();
        bench.put(&[key, key].concat(), &[3; 32], Condition::Always).expect("there is room");
    }
    while bench.background() {}
    let memory = bench.store.memory();
    assert!(memory.index_bytes <= 2 * config.write_buffer_size + 4096, "{memory:?}");
    // 10 bits of filter, 25 bytes of index for some hundred entries, page numbers and references.
    assert!(memory.directory_bytes < 3 * pairs, "{memory:?} for {pairs} pairs");
    assert!(memory.index_bytes + memory.directory_bytes + memory.segment_bytes <= 256 << 20, "{memory:?}");
    if scale(1) == 1 {
        assert_eq!(bench.keys_from(&[]).len() as u64, pairs);
    }
    let n = pairs / 3;
    let key = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes();
    assert_eq!(bench.get(&[key, key].concat()), Ok(vec![3; 32]));
}
