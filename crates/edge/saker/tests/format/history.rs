// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any history of writes, groups, iterators, flushes and Formats, with threads and times, against a model; openings between
//! them find either an orderly end or what a killed process leaves.

use crate::format::rig::{Device, everywhere, open};
use crate::support::{is_soak, key, value};
use saker::{DeviceIterator, KeyRange, Kv, WriteBatch};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;

const KEYS: u32 = 150;

struct Run<'a> {
    place: &'a Device,
    /// `None` only between two openings.
    kv: Option<Kv>,
    rng: Rng,
    model: BTreeMap<u32, Vec<u8>>,
    /// Never read from again.
    iterators: Vec<DeviceIterator>,
    formats: u32,
}

impl Run<'_> {
    fn kv(&mut self) -> &mut Kv {
        self.kv.as_mut().expect("it is open")
    }

    fn pair(&mut self) -> (u32, Vec<u8>) {
        let n = self.rng.below(u64::from(KEYS)) as u32;
        let bytes = (9000 >> self.rng.below(10)) as u32;
        (n, value(n, self.rng.next_u64(), bytes))
    }

    fn put(&mut self) {
        let (n, value) = self.pair();
        self.kv().put(&key(n), &value).expect("puts");
        self.model.insert(n, value);
    }

    fn delete(&mut self) {
        let (n, _) = self.pair();
        let was = self.kv().delete(&key(n)).expect("deletes");
        assert_eq!(was, self.model.remove(&n).is_some(), "key {n}");
    }

    /// A group, still on its way when the next operation begins where it is queued.
    fn many(&mut self) {
        let mut batch = WriteBatch::new();
        let pairs: BTreeMap<_, _> = (0..self.rng.below(30)).map(|_| self.pair()).collect();
        let queued = self.rng.below(2) == 0;
        for (n, value) in &pairs {
            if queued {
                self.kv().put_queued(&key(*n), value).expect("queues");
            } else {
                batch.put(&key(*n), value);
            }
        }
        self.kv().write(&batch).expect("writes");
        self.model.extend(pairs);
    }

    fn iterate(&mut self) {
        if self.iterators.len() > 1 {
            // What it keeps would fill the device in the end.
            let oldest = self.iterators.remove(0);
            self.kv().close_iterator(oldest).expect("closes");
        }
        if let Some(iterator) = self.kv().open_iterator(&KeyRange::default()).unwrap_or(None) {
            self.iterators.push(iterator);
        }
    }

    fn format(&mut self) {
        self.kv().format().expect("formats");
        self.model.clear();
        self.iterators.clear();
        self.formats += 1;
    }

    fn reopen(&mut self) {
        if !self.place.is_image {
            return;
        }
        self.kv().drain().expect("drains");
        let kv = self.kv.take().expect("it is open");
        if self.rng.below(2) == 0 {
            kv.close().expect("closes");
        } else {
            drop(kv);
        }
        self.iterators.clear();
        let threads = self.rng.below(2);
        let timing = if self.rng.below(3) == 0 { "&timing=real" } else { "" };
        self.kv = Some(open(&format!("{}&threads={threads}{timing}", self.place.url)));
    }

    fn compare(&mut self) {
        for n in 0..KEYS {
            let expected = self.model.get(&n).cloned();
            assert!(
                self.kv().get(&key(n)).expect("gets") == expected,
                "key {n} after {} Formats",
                self.formats
            );
        }
        let listed = self.kv().list(None).count();
        assert_eq!(listed, self.model.len());
    }

    fn step(&mut self) {
        match self.rng.below(200) {
            0..=1 => self.format(),
            2..=3 => self.reopen(),
            4 => self.compare(),
            5..=9 => self.kv().flush().expect("flushes"),
            10..=14 => self.iterate(),
            15..=24 => self.many(),
            25..=70 => self.delete(),
            _ => self.put(),
        }
    }
}

#[test]
fn any_history_with_formats_in_it() {
    for seed in saker_testing::seeds(saker_testing::tier(1, 40)) {
        everywhere(|place, what| {
            println!("{what}, seed {seed}");
            let rng = Seed(seed).child(what).rng();
            let (model, iterators) = (BTreeMap::new(), Vec::new());
            let mut run = Run { place, kv: Some(open(&place.url)), rng, model, iterators, formats: 0 };
            (0..if is_soak() { 5000 } else { 300 }).for_each(|_| run.step());
            run.format();
            run.compare();
            run.put();
            run.reopen();
            run.compare();
        });
    }
}
