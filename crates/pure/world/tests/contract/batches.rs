// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches: their writes are done in order, and seen together.

use crate::contract::noted::{Noted, ended};
use crate::contract::suite::{Broken, Expected, Kept, Subject, ensure, key};
use crate::contract::views::{KEYS, ROUNDS, scan, value};
use saker_sim::Rng;
use saker_store::{KvStore, Op};

/// A key may be written twice, and one that is not there be deleted.
pub fn are_writes_in_their_order<S: KvStore>(store: S, rng: &mut Rng) -> Kept {
    let mut subject = Subject::new(store);
    if !subject.has("batch") {
        return Ok(());
    }
    subject.ask(0, Op::Batch(Vec::new()), 0, &Expected::Done)?;
    for round in 0..ROUNDS {
        let mut writes = Vec::new();
        for _ in 0..1 + rng.below(12) {
            let n = rng.below(KEYS);
            if rng.below(3) == 0 {
                subject.model.remove(&n);
                writes.push(Op::Delete(key(n)));
            } else {
                let value = value(rng, 600);
                subject.model.insert(n, value.clone());
                writes.push(Op::Put(key(n), value));
            }
        }
        let ended = subject.tell(round % 3, Op::Batch(writes))?;
        ensure!(ended == Noted::Done, "batch", "round {round}: {ended:?}");
        for n in 0..KEYS {
            let found = subject.tell((round + 1) % 3, Op::Get(key(n)))?;
            let expected = subject.model.get(&n).cloned().map_or(Noted::Absent, Noted::Value);
            ensure!(found == expected, "batch", "round {round}, key {n}: {found:?} instead of {expected:?}");
        }
    }
    Ok(())
}

/// All writes of a batch have one number: a scan never shows two.
pub fn are_seen_whole<S: KvStore>(store: S, rng: &mut Rng) -> Kept {
    let mut subject = Subject::new(store);
    if !subject.has("scan") || !subject.has("batch") {
        return Ok(());
    }
    for round in 1..=ROUNDS {
        let bytes = rng.below(400) as usize;
        let write = |n| Op::Put(key(n), vec![round as u8; 1 + bytes]);
        let batch = subject.begin(0, Op::Batch((0..KEYS / 4).map(write).collect()))?;
        let scans =
            [subject.begin(1, scan(&[], u32::MAX, None))?, subject.begin(2, scan(&[], u32::MAX, None))?];
        subject.settle()?;
        ensure!(ended(&batch)? == Noted::Done, "batch", "{:?}", ended(&batch));
        for found in scans {
            let Noted::Pairs(found) = ended(&found)? else {
                return Err(Broken { clause: "scan", why: format!("{:?}", ended(&found)) });
            };
            let is_whole = found.is_empty() && round == 1 || found.len() == KEYS as usize / 4;
            let first = found.first().map_or(0, |(_, value)| value[0]);
            let is_one = found.iter().all(|(_, value)| value[0] == first);
            ensure!(is_whole && is_one, "batch", "round {round}: a part of {} pairs is seen", found.len());
        }
    }
    Ok(())
}
