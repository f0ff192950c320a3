// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A full device behind every door: memory and image, on the caller's thread and on its own.

use saker::{Kv, create_image};
use saker_host::{HostError, KvError};
use saker_sim::{Rng, Seed};
use saker_testing::is_soak;
use std::collections::BTreeMap;

/// Smallest size at which the default profile keeps its pages and values of 2 MiB.
const BYTES: u64 = 320 << 20;

fn value(n: u32, bytes: u32) -> Vec<u8> {
    let mut value = vec![0; bytes as usize];
    for (at, run) in value.chunks_mut(8).enumerate() {
        run.fill(at as u8 ^ (n as u8).wrapping_mul(29));
    }
    value
}

fn is_full(error: &HostError) -> bool {
    matches!(error, HostError::Kv(KvError::Full))
}

/// 0 B to 2 MiB, every power of two as often as the others.
fn size(rng: &mut Rng) -> u32 {
    let most = (2u64 << 20) >> rng.below(10);
    rng.below(most + 1) as u32
}

struct Run {
    kv: Kv,
    rng: Rng,
    pairs: BTreeMap<u32, u32>,
}

impl Run {
    fn fill(&mut self) -> u64 {
        for n in 0.. {
            if self.pairs.contains_key(&n) {
                continue;
            }
            let bytes = size(&mut self.rng);
            match self.kv.put(&n.to_le_bytes(), &value(n, bytes)) {
                Ok(()) => self.pairs.insert(n, bytes),
                Err(e) if is_full(&e) => break,
                Err(e) => panic!("{e}"),
            };
        }
        self.pairs.values().map(|bytes| u64::from(*bytes)).sum()
    }

    fn delete(&mut self, n: u32) -> u32 {
        assert!(self.kv.delete(&n.to_le_bytes()).expect("a full device deletes"));
        self.pairs.remove(&n).expect("it was there")
    }

    fn exchange(&mut self) {
        let nth = self.rng.below(self.pairs.len() as u64) as usize;
        let n = *self.pairs.keys().nth(nth).expect("fewer than there are");
        let bytes = self.delete(n);
        self.kv.put(&n.to_le_bytes(), &value(n, bytes)).expect("what was deleted can be stored again");
        self.pairs.insert(n, bytes);
    }

    fn verify(&mut self) {
        for (n, bytes) in &self.pairs {
            let found = self.kv.get(&n.to_le_bytes()).expect("a full device reads").expect("it is there");
            assert!(found == value(*n, *bytes), "pair {n} of {bytes} bytes");
        }
    }

    fn thin_out(&mut self) {
        for n in self.pairs.keys().copied().collect::<Vec<_>>() {
            if self.rng.below(4) > 0 {
                self.delete(n);
            }
        }
    }
}

fn cycles(url: &str, reopens: bool, seed: u64) {
    let open = || Kv::open(url).expect("opens");
    let mut run = Run { kv: open(), rng: Seed(seed).child("full").rng(), pairs: BTreeMap::new() };
    let first = run.fill();
    assert!(first > BYTES / 3, "{first} bytes of values fill it");
    for round in 0..if is_soak() { 8 } else { 2 } {
        (0..40).for_each(|_| run.exchange());
        run.verify();
        if reopens {
            run.kv.close().expect("closes");
            run.kv = open();
            (0..10).for_each(|_| run.exchange());
            run.verify();
        }
        run.thin_out();
        let again = run.fill();
        assert!(again > first / 10 * 8, "round {round}: {again} bytes fit, {first} did at first");
    }
}

#[test]
fn a_full_device_in_memory_goes_on() {
    cycles(&format!("mem:?size={BYTES}"), false, 1);
}

#[test]
fn a_full_device_on_a_thread_of_its_own_goes_on() {
    cycles(&format!("mem:?size={BYTES}&threads=1"), false, 2);
}

#[test]
fn a_full_image_goes_on_and_is_opened_again() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    create_image(&path, BYTES, "default", 5).expect("creates");
    cycles(&format!("file:{}", path.display()), true, 3);
}
