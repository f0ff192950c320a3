// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Full devices.

use crate::hash_ftl::rig::{Bench, Model, scale, variants};
use saker_engine::hash_ftl::{HashFtlConfig, Layout};
use saker_engine::{Condition, Engine, KvError};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::Seed;

const SEGMENTS: u32 = 48;

fn value(n: u64, version: u64, bytes: usize) -> Vec<u8> {
    let mut value = vec![0; bytes];
    Seed(n).child(&version.to_string()).rng().fill(&mut value);
    value
}

#[test]
fn a_full_store_still_reads_deletes_and_then_stores() {
    for config in variants(SEGMENTS, true).into_iter().chain(variants(SEGMENTS, false)) {
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let mut stored = Vec::new();
        for n in 0.. {
            let k = format!("key{n:06}").into_bytes();
            match bench.put(&k, &[7; 100], Condition::Always) {
                Ok(()) => stored.push(k),
                Err(e) => {
                    assert_eq!(e, KvError::CapacityExceeded);
                    break;
                }
            }
        }
        assert!(stored.len() > 400, "{config:?}: {}", stored.len());
        assert_eq!(bench.get(&stored[3]), Ok(vec![7; 100]));
        for k in &stored {
            assert_eq!(bench.put(k, &[8; 100], Condition::Always), Ok(()));
        }
        bench.restart(PowerHistory::Killed, 1);
        let (gone, kept) = stored.split_at(stored.len() / 2);
        for k in gone {
            assert_eq!(bench.delete(k), Ok(()));
        }
        for n in 0..gone.len() * 9 / 10 {
            let k = format!("new{n:06}").into_bytes();
            assert_eq!(bench.put(&k, &[9; 100], Condition::Always), Ok(()), "{n} of {}", gone.len());
        }
        assert_eq!(bench.get(&kept[0]), Ok(vec![8; 100]));
    }
}

/// Sections of a little more than half a page leave the rest of it unused, and copying them gains nothing: collections that
/// took it for room would never come to an end.
#[test]
fn half_full_pages_of_sections_are_not_collected_again_and_again() {
    for config in variants(SEGMENTS, true) {
        let Layout::LiveOnly { .. } = config.layout else { continue };
        let config = HashFtlConfig { slots: config.slots * 4 / 5, ..config };
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let view = bench.flash.view(crate::hash_ftl::rig::OWNER, saker_sim::Class::Foreground);
        let grain = u64::from(config.grain_bytes);
        let pairs = bench.store.capacity_bytes(&view) / (grain + 17) * 19 / 20;
        let section_pairs = pairs * u64::from(config.section_slots(1024)) / config.slots;
        assert!(
            (64..100).contains(&section_pairs),
            "most sections take more than half a page: {section_pairs}"
        );
        let mut rng = Seed(4).rng();
        for n in 0..pairs * 2 {
            let k = if n < pairs { n } else { rng.below(pairs) };
            assert_eq!(bench.put(&k.to_be_bytes(), &[n as u8; 8], Condition::Always), Ok(()));
        }
        let written = bench.store.ftl_stats().table_pages_written;
        assert!(written[1] < 2 * written[0], "{written:?}: collections copy less than evictions write");
    }
}

/// Ten times the device in random overwrites at 90 % of what it holds.
#[test]
fn ten_fills_at_nine_tenths_corrupt_nothing() {
    let fills = if scale(1) > 1 { 10 } else { 2 };
    for config in variants(SEGMENTS, true) {
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let view = bench.flash.view(crate::hash_ftl::rig::OWNER, saker_sim::Class::Foreground);
        let capacity = bench.store.capacity_bytes(&view);
        let bytes = 100usize;
        let record = u64::from(config.grains(16 + 8 + bytes as u32) * config.grain_bytes);
        let table = if matches!(config.layout, Layout::Fixed) { 0 } else { 16 };
        let pairs = capacity / (record + table) * 9 / 10;
        let (mut rng, mut model) = (Seed(9).rng(), Model::new());
        let device = u64::from(SEGMENTS) * 16 * 1024;
        for n in 0..pairs + device * fills / record {
            let k = if n < pairs { n } else { rng.below(pairs) };
            let v = value(k, n, bytes);
            let key = k.to_be_bytes().to_vec();
            assert_eq!(bench.put(&key, &v, Condition::Always), Ok(()));
            model.insert(key, v);
        }
        bench.check(&model);
        bench.restart(PowerHistory::Cut { ring_kept: true }, 4);
        bench.check(&model);
    }
}
