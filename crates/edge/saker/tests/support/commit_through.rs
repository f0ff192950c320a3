// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that are committed through until power is cut, on any device, and what has to be there afterwards.

use saker::{CommitThroughError, EngineKind, ImagePlan, Kv};
use std::path::Path;

/// Two keys that each transaction writes, and one that a plain put writes before it.
const KEYS: [&[u8]; 3] = [b"one", b"a key that is longer than sixteen bytes", b"plain"];

/// A device that has no capacitor, and flash that no engine fills here.
pub fn image(path: &Path, engine: EngineKind) {
    ImagePlan { engine, ..ImagePlan::kv(256 << 20, "nvmevirt-970pro", 1) }.create(path).expect("creates");
}

fn put_all(kv: &mut Kv, n: u64) -> Result<(), CommitThroughError> {
    kv.put(KEYS[2], &n.to_be_bytes()).map_err(CommitThroughError::Commit)?;
    let mut txn = kv.begin_transaction().map_err(CommitThroughError::Commit)?;
    for key in &KEYS[..2] {
        txn.put(key, &n.to_be_bytes().repeat(40)).expect("a good key");
    }
    txn.commit_through()
}

/// Transactions with the numbers 1, 2 and so on; the last one that was answered.
pub fn until_cut(kv: &mut Kv) -> u64 {
    (1..100_000).find(|n| put_all(kv, *n).is_err()).expect("the cut comes") - 1
}

/// The number that a key was written with last; 0: it is not there.
fn number(kv: &mut Kv, key: &[u8]) -> u64 {
    let found = kv.get(key).expect("reads");
    found.map_or(0, |bytes| u64::from_be_bytes(*bytes.first_chunk().expect("a number")))
}

/// What was answered is there after the cut.
pub fn is_there(kv: &mut Kv, last: u64, what: &str) {
    let [one, long, plain] = KEYS.map(|key| number(kv, key));
    assert_eq!(one, long, "{what}: all of it or nothing");
    assert!((last..=last + 1).contains(&one), "{what}: {one} is there, {last} was answered");
    assert!(plain >= last, "{what}: what came before it is there");
}
