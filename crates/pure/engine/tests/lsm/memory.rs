// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of many small pairs.

use crate::lsm::Bench;
use crate::ordered::bench::{OWNER, scale};
use saker_engine::{Condition, Inspect, LsmConfig};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::Geometry;

/// Ten million pairs of 16 + 16 bytes in 256 MiB: two memtables, and for each pair its part of block index and filter. A table
/// also names each segment that its entries refer to (20 bytes), and is no longer than half a segment: so with segments of
/// 512 KiB and random keys that is most of it, with those of 8 MiB next to nothing.
#[test]
fn small_pairs_need_little_memory() {
    // In the soak as many as are claimed.
    if scale(1) > 1 {
        load(10_000_000, 32, 8);
        load(10_000_000, 512, 3);
    } else {
        load(40_000, 32, 3);
    }
}

/// So many pairs, in segments of so many pages of 16 KiB; tables may take so many bytes for each.
fn load(pairs: u64, segment_pages: u32, directory_bytes: u64) {
    let pages = 12_800.max(pairs as u32 / 60);
    let geometry =
        Geometry { page_bytes: 16_384, oob_bytes: 64, segment_pages, segments: pages / segment_pages };
    let shape = Shape { geometry, channels: 4, luns: 8 };
    let defaults = LsmConfig::new(OWNER, &geometry, geometry.segments, true);
    let small = LsmConfig { write_buffer_size: 1 << 18, max_bytes_for_level_base: 1 << 19, ..defaults };
    let config = if scale(1) > 1 { defaults } else { small };
    let mut bench = Bench::shaped(shape, config, FaultPlan::default());
    bench.digests = scale(1) == 1;
    for n in 0..pairs {
        let key = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes();
        bench.put(&[key, key].concat(), &[3; 16], Condition::Always).expect("there is room");
    }
    while bench.background() {}
    let memory = bench.store.memory();
    assert!(memory.index_bytes <= 2 * config.write_buffer_size + 4096, "{memory:?}");
    assert!(memory.directory_bytes < directory_bytes * pairs, "{memory:?} for {pairs} pairs");
    assert!(memory.index_bytes + memory.directory_bytes + memory.segment_bytes <= 256 << 20, "{memory:?}");
    println!("{pairs} pairs, segments of {segment_pages} pages: {memory:?}");
    if scale(1) == 1 {
        assert_eq!(bench.keys_from(&[]).len() as u64, pairs);
    }
    let n = pairs / 3;
    let key = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes();
    assert_eq!(bench.get(&[key, key].concat()), Ok(vec![3; 16]));
}
