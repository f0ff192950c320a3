// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract of a store: one suite for all of them. A store with planted faults shows that the suite can fail.

mod batches;
mod noted;
mod space;
pub mod stores;
mod suite;
mod toy;
mod views;

use saker_store::KvStore;
use suite::{Broken, Terms, check};
use toy::{Fault, Toy};

/// Lanes of every store here, and tickets that each has on its way at most.
const LANES: usize = 3;
const DEPTH: usize = 4;

fn judge<S: KvStore>(name: &str, terms: Terms, open: impl Fn() -> S) {
    for seed in 1..=4 {
        if let Err(Broken { clause, why }) = check(&open, terms, seed) {
            panic!(
                "{name}, seed {seed}: {clause}: {why}\nreplay: cargo test -p saker-world --test joined contract::{name}"
            );
        }
    }
}

#[test]
fn a_toy_keeps_the_contract() {
    judge("toy", Terms { stalls: true }, || Toy::new(LANES, DEPTH, None));
}

/// Each fault is found by the clause that it breaks.
#[test]
fn planted_faults_are_found() {
    for (fault, clause) in Fault::ALL {
        let opened = std::cell::Cell::new(0);
        let open = || {
            opened.set(opened.get() + 1);
            Toy::new(LANES, DEPTH, Some((fault, opened.get())))
        };
        let found = check(open, Terms { stalls: true }, 1).map_err(|broken| broken.clause);
        assert_eq!(found, Err(clause), "{fault:?}");
    }
}
