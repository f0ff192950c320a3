// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that wait for buffers of invalid mappings.

use crate::hash_ftl::rig::{Bench, OWNER, scale, shape};
use saker_engine::hash_ftl::{HashFtlConfig, Validity};
use saker_engine::{Condition, Context, Engine};
use saker_flash::FaultPlan;
use saker_segment_store::{Stall, Step};
use saker_sim::{Class, Free, Seed};

const SEGMENTS: u32 = 64;

/// Stores a pair; the times that it waited for buffers of invalid mappings, each for a quantum of background work.
fn waits(bench: &mut Bench, key: &[u8], value: &[u8]) -> u64 {
    let mut quanta = 0;
    loop {
        let view = &mut bench.flash.view(OWNER, Class::Foreground);
        let step =
            bench.store.store(key, &mut &value[..], Condition::Always, &mut Context::new(view, &mut Free));
        bench.settle();
        match step {
            Step::Done(result) => {
                assert!(result.is_ok(), "{result:?}");
                return quanta;
            }
            Step::Blocked(Stall::Debt) => quanta += 1,
            Step::Blocked(_) => {}
            Step::Need(_) => panic!("untimed flash is always resident"),
        }
        bench.background();
    }
}

/// A page of mappings is one program; a collection is hundreds. Where few segments are free, background work would otherwise end
/// collection after collection before it wrote what the writes wait for.
#[test]
fn writes_wait_for_a_page_of_mappings_and_not_for_collections() {
    let g = shape(SEGMENTS).geometry;
    let config = HashFtlConfig {
        validity: Validity::InvalidPages,
        page_mappings: Some(4),
        cache_bytes: 3 * u64::from(g.page_bytes),
        ..HashFtlConfig::original(OWNER, &g, SEGMENTS, true, 128)
    };
    for seed in saker_testing::seeds(scale(1)) {
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let pairs = u64::from(SEGMENTS) * g.segment_bytes() / 3 / 128;
        for n in 0..pairs {
            waits(&mut bench, &n.to_be_bytes(), &[1; 100]);
        }
        let (mut rng, mut waited, mut quanta) = (Seed(seed).rng(), 0u64, 0);
        for _ in 0..4000 {
            let some = waits(&mut bench, &rng.below(pairs).to_be_bytes(), &[2; 100]);
            (waited, quanta) = (waited + u64::from(some > 0), quanta + some);
        }
        assert!(waited > 50, "{waited} stores waited for buffers");
        assert!(quanta < waited * 2, "{quanta} quanta for {waited} stores");
    }
}
