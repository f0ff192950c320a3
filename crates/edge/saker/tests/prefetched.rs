// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that a prefetch group has brought, beside everything that changes them: puts, deletes, batches, transactions, compound commands,
//! Format, and another opening. Over every engine, in memory and on an image, as it is and with settings.

use crate::format::rig::{Device, everywhere, open};
use crate::support::is_soak;
use saker::{Compound, Kv, WriteBatch};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;

/// Keys of the group; the last two are longer than sixteen bytes.
const KEYS: u64 = 12;

fn key(n: u64) -> Vec<u8> {
    if n + 2 < KEYS { n.to_be_bytes().to_vec() } else { format!("a key that is longer, {n}").into_bytes() }
}

struct Run {
    kv: Kv,
    rng: Rng,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    writes: u64,
    hits: u64,
}

impl Run {
    fn new(place: &Device) -> Self {
        let (rng, model) = (Seed(1).child("prefetched").rng(), BTreeMap::new());
        let mut run = Self { kv: open(&place.url), rng, model, writes: 0, hits: 0 };
        run.bind();
        run
    }

    fn any(&mut self) -> Vec<u8> {
        key(self.rng.below(KEYS))
    }

    fn bind(&mut self) {
        let keys: Vec<_> = (0..KEYS).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        assert_eq!(self.kv.prefetch_group(b"together", &keys), Ok(true));
    }

    /// A pair, as the model has it from now on.
    fn pair(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.writes += 1;
        let (key, bytes) = (self.any(), 300 + self.rng.below(3) as usize);
        let mut value = vec![self.writes as u8; bytes];
        value[..8].copy_from_slice(&self.writes.to_le_bytes());
        self.model.insert(key.clone(), value.clone());
        (key, value)
    }

    fn batch(&mut self, is_atomic: bool) {
        let mut batch = WriteBatch::new();
        batch.set_atomic(is_atomic);
        let gone = self.any();
        if self.model.remove(&gone).is_some() {
            batch.delete(&gone);
        }
        for _ in 0..3 {
            let (key, value) = self.pair();
            // A transaction writes a key once.
            if !batch.iter().any(|(known, _)| known == key) {
                batch.put(&key, &value);
            } else if let Some((_, Some(known))) = batch.iter().find(|(known, _)| *known == key) {
                self.model.insert(key, known.to_vec());
            } else {
                self.model.remove(&key);
            }
        }
        self.kv.write(&batch).expect("room");
    }

    fn transaction(&mut self) {
        let read = self.any();
        let known = self.model.get(&read).cloned();
        let (key, value) = self.pair();
        let mut txn = self.kv.begin_transaction().expect("it has them");
        assert_eq!(txn.get(&read), Ok(known));
        txn.put(&key, &value).expect("fits");
        txn.commit().expect("nobody is between");
    }

    fn compound(&mut self) {
        let (key, value) = self.pair();
        let mut handle = self.kv.begin_compound(Compound::Transaction);
        handle.store(&key, &value).expect("fits");
        handle.commit().expect("room");
    }

    fn step(&mut self, place: &Device) {
        match self.rng.below(40) {
            0..4 => {
                let (key, value) = self.pair();
                self.kv.put(&key, &value).expect("room");
            }
            4..6 => {
                let key = self.any();
                assert_eq!(self.kv.delete(&key), Ok(self.model.remove(&key).is_some()));
            }
            6 => self.batch(false),
            7 => self.batch(true),
            8 => self.transaction(),
            9 => self.compound(),
            10 => self.kv.flush().expect("flushes"),
            11 if self.rng.below(8) == 0 => self.format(),
            11 if place.is_image && self.rng.below(4) == 0 => self.reopen(place),
            _ => self.read(),
        }
    }

    fn read(&mut self) {
        let key = self.any();
        assert_eq!(self.kv.get(&key), Ok(self.model.get(&key).cloned()), "write {}", self.writes);
    }

    fn format(&mut self) {
        self.count_hits();
        self.kv.format().expect("formats");
        self.model.clear();
        (0..KEYS).for_each(|n| assert_eq!(self.kv.get(&key(n)), Ok(None), "behind a Format"));
        self.bind();
    }

    fn reopen(&mut self, place: &Device) {
        self.count_hits();
        let old = std::mem::replace(&mut self.kv, open("mem:?profile=tiny&size=4MiB"));
        old.close().expect("closes");
        self.kv = open(&place.url);
        self.bind();
    }

    fn count_hits(&mut self) {
        let all = self.kv.counters().expect("tells").unwrap_or_default();
        self.hits += all.iter().find(|counter| counter.name == "prefetch_hits").map_or(0, |c| c.value);
    }
}

#[test]
fn nothing_that_was_brought_outlives_a_change() {
    everywhere(|place, what| {
        println!("{what}");
        let mut run = Run::new(place);
        (0..if is_soak() { 20_000 } else { 1500 }).for_each(|_| run.step(place));
        run.count_hits();
        assert!(run.hits > 10, "{what}: {} reads found what was brought", run.hits);
    });
}
