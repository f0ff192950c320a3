// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations with power cycles between them.

use crate::hash_ftl::rig::{Bench, Model, scale, variants};
use saker_engine::hash_ftl::HashFtlConfig;
use saker_engine::{Condition, KvError};
use saker_flash::{Cells, FaultPlan};
use saker_segment_store::{PowerHistory, SegmentId};
use saker_sim::{Chance, Rng, Seed};

const SEGMENTS: u32 = 24;

fn key(rng: &mut Rng, space: u64) -> Vec<u8> {
    let n = rng.below(space);
    let mut key = format!("k{n:03}").into_bytes();
    key.resize(4 + (n % 13) as usize, b'x');
    key
}

/// Few hash indexes, so that most pairs are displaced, and a cache of one section.
fn crowded(config: HashFtlConfig) -> HashFtlConfig {
    HashFtlConfig { slots: 331, cache_bytes: 1024, ..config }
}

fn history(seed: u64, config: HashFtlConfig, faults: FaultPlan) {
    let config = if seed.is_multiple_of(3) { config } else { crowded(config) };
    let mut rng = Seed(seed).rng();
    let mut bench = Bench::new(config, SEGMENTS, faults);
    let (mut model, mut collisions) = (Model::new(), 0);
    for step in 0..3500 {
        let k = key(&mut rng, 200);
        match rng.below(100) {
            0..60 => {
                let mut value = vec![0; rng.below(if step % 50 == 0 { 4000 } else { 700 }) as usize];
                rng.fill(&mut value);
                let condition =
                    [Condition::Always, Condition::MustExist, Condition::MustNotExist][rng.below(3) as usize];
                let expected = match (condition, model.contains_key(&k)) {
                    (Condition::MustExist, false) => Err(KvError::NotFound),
                    (Condition::MustNotExist, true) => Err(KvError::Exists),
                    _ => Ok(()),
                };
                assert_eq!(bench.put(&k, &value, condition), expected, "step {step}");
                if expected.is_ok() {
                    model.insert(k, value);
                }
            }
            60..85 => {
                let expected = model.remove(&k).map(|_| ()).ok_or(KvError::NotFound);
                assert_eq!(bench.delete(&k), expected);
            }
            85..98 => {
                assert_eq!(bench.exists(&k), model.contains_key(&k));
                assert_eq!(bench.get(&k), model.get(&k).cloned().ok_or(KvError::NotFound));
            }
            _ => {
                collisions += bench.store.ftl_stats().collisions;
                cycle(&mut bench, &mut rng);
                bench.check(&model);
            }
        }
    }
    bench.check(&model);
    assert!(config.slots > 331 || collisions > 500, "pairs must be displaced: {collisions}");
    let erased: u32 = (0..SEGMENTS).map(|n| bench.flash.media().epoch(SegmentId(n))).sum();
    assert!(erased > SEGMENTS, "the history must have collected segments: {erased}");
}

fn cycle(bench: &mut Bench, rng: &mut Rng) {
    let history = match rng.below(3) {
        0 => PowerHistory::Killed,
        _ if bench.config.ring_lasts => PowerHistory::Cut { ring_kept: true },
        _ => {
            bench.flush();
            PowerHistory::Cut { ring_kept: false }
        }
    };
    bench.restart(history, rng.next_u64());
}

#[test]
fn random_histories_with_a_capacitor() {
    for (n, config) in variants(SEGMENTS, true).into_iter().enumerate() {
        (0..scale(2)).for_each(|seed| history(seed * 10 + n as u64, config, FaultPlan::default()));
    }
}

#[test]
fn random_histories_without_a_capacitor() {
    for (n, config) in variants(SEGMENTS, false).into_iter().enumerate() {
        (0..scale(2)).for_each(|seed| history(1000 + seed * 10 + n as u64, config, FaultPlan::default()));
    }
}

#[test]
fn random_histories_with_failing_programs() {
    for (n, config) in variants(SEGMENTS, true).into_iter().enumerate() {
        for seed in saker_testing::seeds(scale(1)) {
            let seed = 2000 + seed * 10 + n as u64;
            let plan = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
            history(seed, config, plan);
        }
    }
}
