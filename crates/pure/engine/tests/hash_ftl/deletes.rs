// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that delete, without a capacitor: a page of sections says by what is not in it that pairs are gone, so it must not
//! survive the records that say so.

use crate::hash_ftl::rig::{Bench, scale, variants};
use saker_engine::Condition;
use saker_engine::hash_ftl::HashFtlConfig;
use saker_engine::transaction::{Ask, Part};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Rng, Seed};

const SEGMENTS: u32 = 24;
const KEYS: u64 = 200;
/// Pairs of a transaction: of several sections.
const TOGETHER: u64 = 3;
const CUT: PowerHistory = PowerHistory::Cut { ring_kept: false };

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// Pairs that are there, in no order.
fn some(rng: &mut Rng) -> Vec<u64> {
    let first = rng.below(KEYS);
    (0..TOGETHER).map(|n| (first + n * (KEYS / TOGETHER)) % KEYS).collect()
}

/// How many sections went to flash behind deletes.
fn deleted_together(config: HashFtlConfig, seed: u64) -> u64 {
    let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
    let mut rng = Seed(seed).rng();
    let mut evictions = 0;
    for _ in 0..12 {
        for n in 0..KEYS {
            assert_eq!(bench.put(&key(n), &[7; 40], Condition::Always), Ok(()));
        }
        bench.flush();
        let before = written(&bench);
        let gone = some(&mut rng);
        let keys: Vec<_> = gone.iter().map(|n| key(*n)).collect();
        let parts: Vec<_> = keys.iter().map(|key| Part { key, ask: Ask::Delete }).collect();
        bench.transact(&parts).expect("all of them are there");
        // Reads bring other sections, and those of the deletes have to leave.
        for turn in 0..24 {
            bench.exists(&key((gone[0] + 1 + turn * 17) % KEYS));
            let mut left = bench.clone();
            left.restart(CUT, rng.next_u64());
            let there: Vec<_> = keys.iter().map(|key| left.exists(key)).collect();
            assert!(there.iter().all(|is_there| *is_there == there[0]), "{config:?}, {seed}: {there:?}");
        }
        evictions += written(&bench) - before;
    }
    evictions
}

fn written(bench: &Bench) -> u64 {
    let stats = bench.store.ftl_stats();
    stats.evictions_foreground + stats.evictions_background
}

#[test]
fn a_page_of_sections_never_survives_the_transaction_whose_deletes_it_shows() {
    let mut evictions = 0;
    for config in variants(SEGMENTS, false) {
        evictions += (0..scale(2)).map(|seed| deleted_together(config, seed)).sum::<u64>();
    }
    // Those with live entries alone are all in memory.
    assert!(evictions > 10, "{evictions} sections went to flash");
}
