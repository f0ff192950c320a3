// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SIGKILL while a record lands, life after life: the parts of it that are in the ring must not come back later.
//!
//! The source of the value takes a copy of the image when its bytes are asked for: what a process killed there leaves.

use crate::image::flushed::Flushed;
use crate::image::store::Store;
use crate::image::support::{config, directory};
use saker::image::{Access, OpenImage, create, open};
use saker_engine::{Source, SourceError};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const KEYS: u64 = 30;
/// Of up to seven pages, in segments of sixteen.
const VALUE_BYTES_MAX: u64 = 3000;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A value whose transfer copies the image and then fails, or fails at once.
pub struct Interrupted<'a> {
    pub bytes: u32,
    /// The image, where its copy goes, and how many reads come first.
    pub copy: Option<(&'a Path, &'a Path, u64)>,
}

impl Source for Interrupted<'_> {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn read(&mut self, _offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        out.fill(0xee);
        let Some((from, to, reads_first)) = &mut self.copy else { return Err(SourceError) };
        if *reads_first == 0 {
            std::fs::copy(from, to).expect("copies");
            return Err(SourceError);
        }
        *reads_first -= 1;
        Ok(())
    }
}

fn open_store(path: &Path) -> Store {
    let OpenImage { media, ring, .. } = open(path, Access::Write).expect("opens");
    Store::open(media, ring, true).expect("recovers")
}

fn key(rng: &mut Rng) -> Vec<u8> {
    format!("key{}", rng.below(KEYS)).into_bytes()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let max = VALUE_BYTES_MAX >> rng.below(8);
    let mut value = vec![0; rng.below(max) as usize];
    rng.fill(&mut value);
    value
}

/// Some operations; transfers that fail among them.
fn live(store: &mut Store, model: &mut Model, rng: &mut Rng) {
    for _ in 0..rng.below(40) {
        let key = key(rng);
        match rng.below(20) {
            0 => store.flush(),
            1..=3 => {
                let bytes = rng.below(VALUE_BYTES_MAX) as u32;
                store.put_from(&key, &mut Interrupted { bytes, copy: None }).expect_err("the transfer fails");
            }
            4..=6 => assert_eq!(store.delete(&key), model.remove(&key).is_some()),
            _ => {
                let value = value(rng);
                store.put(&key, &value);
                model.insert(key, value);
            }
        }
    }
}

/// Ends a life in the middle of a put; the image as it was then.
fn die(mut store: Store, path: &Path, model: &mut Model, rng: &mut Rng) -> PathBuf {
    let copy = path.with_extension(if path.extension().is_some_and(|e| e == "a") { "b" } else { "a" });
    let bytes = 1 + rng.below(VALUE_BYTES_MAX) as u32;
    let reads_first = rng.below(u64::from(bytes.div_ceil(512)));
    let mut source = Interrupted { bytes, copy: Some((path, &copy, reads_first)) };
    let key = key(rng);
    if store.put_from(&key, &mut source).is_ok() {
        // It had fewer pages than that.
        model.insert(key, vec![0xee; bytes as usize]);
        std::fs::copy(path, &copy).expect("copies");
    }
    copy
}

fn run(seed: u64, lives: u32) {
    let dir = directory();
    let mut path = dir.path().join("disk.a");
    create(&path, &config(true)).expect("creates");
    let mut rng = Seed(seed).rng();
    let mut model = Model::new();
    for life in 0..lives {
        let mut store = open_store(&path);
        for n in 0..KEYS {
            let key = format!("key{n}").into_bytes();
            assert_eq!(store.get(&key), model.get(&key).cloned(), "seed {seed}, life {life}, key{n}");
        }
        live(&mut store, &mut model, &mut rng);
        path = die(store, &path, &mut model, &mut rng);
    }
}

#[test]
fn killed_while_records_land() {
    for seed in saker_testing::seeds(saker_testing::tier(40, 400)) {
        run(seed, 12);
    }
}
