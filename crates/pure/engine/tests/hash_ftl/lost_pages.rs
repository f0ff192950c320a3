// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transaction of which a cut took a page is not there, and does not come back when the page is written anew.

use crate::hash_ftl::rig::{Bench, scale, variants};
use saker_engine::hash_ftl::HashFtlConfig;
use saker_engine::transaction::{Ask, Part};
use saker_engine::{Condition, KvError};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;

const SEGMENTS: u32 = 24;
const CUT: PowerHistory = PowerHistory::Cut { ring_kept: false };
/// Pairs before the transaction, so that it begins at each place of a page.
const BEFORE_MAX: u64 = 12;
/// Its pairs take several pages together.
const KEYS: [&[u8]; 5] = [b"one", b"two", b"three", b"four", b"five"];

fn found(bench: &mut Bench) -> Vec<Result<Vec<u8>, KvError>> {
    KEYS.iter().map(|key| bench.get(key)).collect()
}

/// Whether a cut took a part of the transaction.
fn lost_and_written_over(config: HashFtlConfig, before: u64) -> bool {
    let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
    for key in KEYS {
        assert_eq!(bench.put(key, b"old", Condition::Always), Ok(()));
    }
    for n in 0..before {
        assert_eq!(bench.put(&n.to_be_bytes(), &[1; 60], Condition::Always), Ok(()));
    }
    bench.flush();
    let value = vec![9; 400];
    let parts: Vec<_> = KEYS.iter().map(|key| Part { key, ask: Ask::Store(&value) }).collect();
    bench.transact(&parts).expect("there is room");
    bench.restart(CUT, before);
    let (old, new) = (vec![Ok(b"old".to_vec()); KEYS.len()], vec![Ok(value.clone()); KEYS.len()]);
    let left = found(&mut bench);
    assert!(left == old || left == new, "{config:?}, {before}: torn");
    for round in 0..3 {
        for n in 0..20_u64 {
            assert_eq!(bench.put(&(100 + n).to_be_bytes(), &[round; 200], Condition::Always), Ok(()));
        }
        bench.flush();
        bench.restart(CUT, before + u64::from(round));
        assert_eq!(found(&mut bench), left, "{config:?}, {before}: behind a cut it is as it was");
    }
    left == old
}

#[test]
fn a_transaction_with_a_lost_page_never_comes_back() {
    for config in variants(SEGMENTS, false) {
        let lost = (0..BEFORE_MAX * scale(1)).filter(|before| lost_and_written_over(config, *before)).count();
        assert!(lost > 5, "{config:?}: {lost} were lost");
    }
}
