// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is done to a store: every key once in random order, then reads and scans of random keys.

use crate::clock::{Took, time};
use crate::store::{Bytes, Fault, Store};
use saker_sim::{Rng, Seed};
use saker_workload::Permutation;

/// How much.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub pairs: u64,
    pub reads: u64,
    pub scans: u64,
    pub scan_pairs: u32,
    pub value_bytes: u32,
}

/// Phases, in order, by db_bench's names where it has them.
pub const PHASES: [&str; 4] = ["fillrandom", "settled fill", "readrandom", "scan"];

/// What each phase took.
pub type Times = [Took; PHASES.len()];

/// Keys and values.
pub struct Work {
    shape: Shape,
    pub order: Permutation,
    /// Values are parts of it: making them takes no time.
    noise: Vec<u8>,
    seed: Seed,
}

const NOISE_BYTES: usize = 1 << 20;

/// The key of a number: 16 bytes in the order of numbers.
pub fn key(number: u64) -> [u8; 16] {
    let mut key = *b"................";
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

impl Work {
    pub fn new(shape: Shape, seed: u64) -> Self {
        let seed = Seed(seed);
        let mut rng = seed.child("values").rng();
        let noise = (0..NOISE_BYTES + shape.value_bytes as usize).map(|_| rng.below(256) as u8).collect();
        Self { shape, order: Permutation::new(seed.child("order").0, shape.pairs.max(1)), noise, seed }
    }

    pub fn value(&self, n: u64) -> &[u8] {
        let at = (n as usize).wrapping_mul(self.shape.value_bytes as usize + 1) % NOISE_BYTES;
        &self.noise[at..at + self.shape.value_bytes as usize]
    }

    pub fn rng(&self, phase: &str) -> Rng {
        self.seed.child(phase).rng()
    }

    /// Bytes of all pairs.
    pub fn pair_bytes(&self) -> u64 {
        self.shape.pairs * (16 + u64::from(self.shape.value_bytes))
    }

    /// All phases, and the bytes of the settled fill. `seen` hears of each that has ended.
    pub fn run(
        &self,
        store: &mut dyn Store,
        seen: &mut dyn FnMut(&str, f64),
    ) -> Result<(Times, Bytes), Fault> {
        let mut times = Vec::new();
        let mut note = |took: Took| {
            seen(PHASES[times.len()], took.wall_us);
            times.push(took);
        };
        let pairs = self.shape.pairs;
        let filled = time(pairs, || self.fill(store))?;
        note(filled);
        let settled = time(pairs, || store.settle())?;
        note(Took { wall_us: filled.wall_us + settled.wall_us, cpu_us: filled.cpu_us + settled.cpu_us });
        let bytes = store.bytes()?;
        note(time(self.shape.reads, || self.read(store))?);
        note(time(self.shape.scans, || self.scan(store))?);
        Ok((times.try_into().expect("one for each phase"), bytes))
    }

    fn fill(&self, store: &mut dyn Store) -> Result<(), Fault> {
        (0..self.shape.pairs).try_for_each(|n| store.put(&key(self.order.map(n)), self.value(n)))
    }

    fn read(&self, store: &mut dyn Store) -> Result<(), Fault> {
        let mut rng = self.rng("reads");
        for _ in 0..self.shape.reads {
            let found = store.get(&key(rng.below(self.shape.pairs)))?;
            if found != self.shape.value_bytes as usize {
                return Err("a value of another length".into());
            }
        }
        Ok(())
    }

    fn scan(&self, store: &mut dyn Store) -> Result<(), Fault> {
        let mut rng = self.rng("scans");
        let begins = self.shape.pairs.saturating_sub(u64::from(self.shape.scan_pairs)).max(1);
        let bytes_of_pair = self.shape.value_bytes as usize + 16;
        let wanted = u64::from(self.shape.scan_pairs).min(self.shape.pairs) as u32;
        for _ in 0..self.shape.scans {
            let (pairs, bytes) = store.scan(&key(rng.below(begins)), wanted)?;
            if (pairs, bytes) != (wanted, wanted as usize * bytes_of_pair) {
                return Err(format!("a scan showed {pairs} pairs with {bytes} bytes").into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Model(BTreeMap<[u8; 16], Vec<u8>>);

    impl Store for Model {
        fn options(&self) -> String {
            String::new()
        }
        fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault> {
            assert!(self.0.insert(*key, value.to_vec()).is_none(), "a key twice");
            Ok(())
        }
        fn get(&mut self, key: &[u8; 16]) -> Result<usize, Fault> {
            Ok(self.0[key].len())
        }
        fn scan(&mut self, from: &[u8; 16], pairs: u32) -> Result<(u32, usize), Fault> {
            let range = self.0.range::<[u8; 16], _>(from..).take(pairs as usize);
            Ok(range.fold((0, 0), |(n, bytes), (k, v)| (n + 1, bytes + k.len() + v.len())))
        }
        fn memory_bytes(&mut self) -> u64 {
            0
        }
        fn settle(&mut self) -> Result<(), Fault> {
            Ok(())
        }
        fn bytes(&mut self) -> Result<Bytes, Fault> {
            let kept = self.0.values().map(|value| 16 + value.len() as u64).sum::<u64>();
            Ok(Bytes { written: 2 * kept, kept })
        }
    }

    #[test]
    fn every_key_is_stored_once_and_found() {
        let shape = Shape { pairs: 1000, reads: 500, scans: 50, scan_pairs: 10, value_bytes: 7 };
        let mut store = Model::default();
        let (_, bytes) = Work::new(shape, 3).run(&mut store, &mut |_, _| {}).unwrap();
        assert_eq!((bytes.kept, Work::new(shape, 3).pair_bytes()), (23_000, 23_000));
        assert_eq!(store.0.len(), 1000);
        let keys: Vec<_> = store.0.keys().copied().collect();
        assert_eq!(keys, (0..1000).map(key).collect::<Vec<_>>());
    }
}
