// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The work: the same keys in the same order for every store.

use crate::peer::{Key, Outcome, Peer};
use std::time::Instant;

/// Operations of a batch and of a look-up of many keys.
pub const MANY: usize = 64;

/// What is measured, in the order of the table.
pub const COLUMNS: [&str; 7] =
    ["put", "batch of 64", "get", "multi_get of 64", "scan of 100", "stopped at 100", "all pairs"];

/// How much of it.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Pairs that are stored.
    pub pairs: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Operations of a column in a round.
    pub operations: u64,
    /// Pairs of a scan.
    pub scan_pairs: usize,
}

/// Pair `n`: neighbours in time are none in the order of keys.
pub fn key(n: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

impl Shape {
    /// The pairs that a round visits, in its order.
    fn order(self, round: u64) -> impl Iterator<Item = Key> {
        let stride = 1_000_003 + 2 * round;
        (0..self.operations).map(move |n| key(n.wrapping_mul(stride).wrapping_add(round) % self.pairs))
    }

    fn value(self, round: u64) -> Vec<u8> {
        (0..self.value_bytes).map(|n| (n as u64 + round) as u8).collect()
    }

    /// Stores all pairs, in batches.
    pub fn fill(self, peer: &mut dyn Peer) -> Outcome {
        let (value, mut keys) = (self.value(0), Vec::with_capacity(MANY));
        for n in 0..self.pairs {
            keys.push(key(n));
            if keys.len() == MANY {
                peer.batch(&keys, &value)?;
                keys.clear();
            }
        }
        peer.batch(&keys, &value)
    }

    /// Thousands a second of each column in one round; `None`: the store has no such call.
    pub fn round(self, peer: &mut dyn Peer, round: u64) -> Outcome<[Option<f64>; COLUMNS.len()]> {
        Ok([
            rate(|| self.puts(peer, round))?,
            rate(|| self.batches(peer, round))?,
            rate(|| self.gets(peer, round))?,
            rate(|| self.multi_gets(peer, round))?,
            rate(|| self.scans(round, |from, pairs| peer.scan(from, pairs)))?,
            rate(|| self.scans(round, |from, pairs| peer.stop_at(from, pairs)))?,
            rate(|| peer.scan(&[0; 16], usize::MAX).map(|seen| seen.map(|seen| seen as u64)))?,
        ])
    }

    fn puts(self, peer: &mut dyn Peer, round: u64) -> Outcome<Option<u64>> {
        let value = self.value(round);
        self.order(round).try_for_each(|key| peer.put(&key, &value))?;
        Ok(Some(self.operations))
    }

    fn batches(self, peer: &mut dyn Peer, round: u64) -> Outcome<Option<u64>> {
        let (value, mut keys) = (self.value(round), Vec::with_capacity(MANY));
        let mut order = self.order(round);
        loop {
            keys.clear();
            keys.extend(order.by_ref().take(MANY));
            if keys.is_empty() {
                return Ok(Some(self.operations));
            }
            peer.batch(&keys, &value)?;
        }
    }

    fn gets(self, peer: &mut dyn Peer, round: u64) -> Outcome<Option<u64>> {
        let mut buffer = vec![0; self.value_bytes];
        for key in self.order(round) {
            if !peer.get(&key, &mut buffer)? {
                return Err("a pair is missing".into());
            }
        }
        Ok(Some(self.operations))
    }

    fn multi_gets(self, peer: &mut dyn Peer, round: u64) -> Outcome<Option<u64>> {
        let (mut keys, mut order) = (Vec::with_capacity(MANY), self.order(round));
        loop {
            keys.clear();
            keys.extend(order.by_ref().take(MANY));
            if keys.is_empty() {
                return Ok(Some(self.operations));
            }
            match peer.multi_get(&keys)? {
                None => return Ok(None),
                Some(found) if found == keys.len() => {}
                Some(found) => return Err(format!("{found} of {} pairs were found", keys.len()).into()),
            }
        }
    }

    fn scans(
        self,
        round: u64,
        mut scan: impl FnMut(&Key, usize) -> Outcome<Option<usize>>,
    ) -> Outcome<Option<u64>> {
        let mut seen = 0;
        for from in self.order(round).take((self.operations / self.scan_pairs as u64) as usize) {
            match scan(&from, self.scan_pairs)? {
                None => return Ok(None),
                Some(pairs) => seen += pairs as u64,
            }
        }
        Ok(Some(seen))
    }
}

fn rate(work: impl FnOnce() -> Outcome<Option<u64>>) -> Outcome<Option<f64>> {
    let begun = Instant::now();
    let count = work()?;
    Ok(count.map(|count| count as f64 / begun.elapsed().as_secs_f64() / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_round_visits_every_pair_once() {
        let shape = Shape { pairs: 1000, value_bytes: 1, operations: 1000, scan_pairs: 10 };
        for round in 0..3 {
            let keys: BTreeSet<Key> = shape.order(round).collect();
            assert_eq!(keys.len(), 1000, "round {round}");
            assert!(keys.iter().all(|held| (0..1000).any(|n| key(n) == *held)));
        }
    }
}
