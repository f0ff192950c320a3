// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nine tenths of what a device exports, on devices of any shape and with pairs of any size.

use crate::hash_ftl::rig::{Bench, Model, OWNER, scale, variants_on};
use saker_engine::hash_ftl::HashFtlConfig;
use saker_engine::{Condition, Engine};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::Geometry;
use saker_sim::{Class, Seed};

/// Pages: their bytes, those of a segment, segments. The least there are, short segments, many of them, long ones.
const SHAPES: [(u32, u32, u32); 4] = [(1024, 16, 24), (1024, 4, 96), (512, 8, 256), (4096, 16, 32)];
/// Values: pairs of one grain, of a few, across pages.
const VALUES: [usize; 3] = [40, 300, 3000];

fn shape((page_bytes, segment_pages, segments): (u32, u32, u32)) -> Shape {
    let oob_bytes = HashFtlConfig::oob_bytes(page_bytes, 64);
    Shape { geometry: Geometry { page_bytes, oob_bytes, segment_pages, segments }, channels: 2, luns: 4 }
}

/// A device with pairs of one size.
struct Filled {
    bench: Bench,
    model: Model,
    record: u64,
    bytes: usize,
    pairs: u64,
}

impl Filled {
    /// Stores until `is_full` says so of the bytes of all records and of the capacity.
    fn new(config: HashFtlConfig, shape: Shape, bytes: usize, is_full: impl Fn(u64, u64) -> bool) -> Self {
        let bytes = bytes.min(config.value_bytes_max as usize);
        let record = u64::from(config.grains(16 + 8 + bytes as u32) * config.grain_bytes);
        let bench = Bench::on(shape, config, FaultPlan::default());
        let mut filled = Self { bench, model: Model::new(), record, bytes, pairs: 0 };
        while !is_full((filled.pairs + 1) * record, filled.capacity()) {
            filled.put(filled.pairs, filled.pairs);
            filled.pairs += 1;
        }
        filled
    }

    fn capacity(&mut self) -> u64 {
        self.bench.store.capacity_bytes(&self.bench.flash.view(OWNER, Class::Foreground))
    }

    fn put(&mut self, k: u64, n: u64) {
        let (key, value) = (k.to_be_bytes().to_vec(), vec![n as u8; self.bytes]);
        let stored = self.bench.put(&key, &value, Condition::Always);
        assert_eq!(stored, Ok(()), "{n} of {} pairs: {:?}", self.pairs, self.bench.config);
        self.model.insert(key, value);
    }

    /// Overwrites a part of the flash, in percent.
    fn overwrite(&mut self, percent: u64) {
        let g = self.bench.flash.shape().geometry;
        let operations = u64::from(g.segments) * g.segment_bytes() * percent / 100 / self.record;
        let mut rng = Seed(9).rng();
        (0..operations).for_each(|n| self.put(rng.below(self.pairs), n));
        self.bench.check(&self.model);
    }
}

#[test]
fn nine_tenths_of_any_device_can_be_filled_and_overwritten() {
    for shape in SHAPES.map(shape) {
        let mut all = variants_on(&shape.geometry, true);
        all.push(HashFtlConfig { page_mappings: Some(8), ..all[3] });
        for (n, config) in all.into_iter().enumerate() {
            let values = VALUES.into_iter().cycle().skip(n).take(if scale(1) > 1 { VALUES.len() } else { 1 });
            for bytes in values {
                let mut filled = Filled::new(config, shape, bytes, |used, capacity| used * 10 > capacity * 9);
                assert!(filled.pairs > 30, "{} pairs of {config:?}", filled.pairs);
                filled.overwrite(100 * scale(1).min(10));
            }
        }
    }
}

/// Pages of few invalid mappings fill what is spare, and each record that is copied changes a section: the last free segments
/// go for pages of sections while a collection of sections needs one to end.
#[test]
fn invalid_mappings_leave_collections_their_room() {
    let shape = shape((1024, 16, 256));
    let g = shape.geometry;
    for (page_mappings, percent) in [(None, 85), (Some(8), 79)] {
        let plus = HashFtlConfig::plus(OWNER, &g, g.segments, true);
        let config =
            HashFtlConfig { cache_bytes: 32 << 10, page_mappings, over_provisioning_percent: 1, ..plus };
        let device = u64::from(g.segments) * g.segment_bytes();
        let table = |used: u64| used / 64 * 17;
        let mut filled =
            Filled::new(config, shape, 40, |used, _| (used + table(used)) * 100 > device * percent);
        filled.overwrite(25 * scale(1).min(4));
    }
}
