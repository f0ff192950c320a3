// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making images, and using forged ones.

use crate::support::{key, value};
use crate::{Image, Recipe};
use saker::{Block, ImagePlan, Kv, NamespacePlan, ScanOptions, WriteBatch, verify_image};
use saker_engine::lsm::settings::asking_for;
use saker_sim::{Rng, Seed};
use std::path::Path;

/// Namespaces of pairs.
const PAIRS: [u32; 2] = [1, 3];
const BLOCKS: u32 = 2;
const BLOCK_BYTES: u32 = 512;
const KEYS: u64 = 160;

/// What came of a forged image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Not opened.
    Refused,
    /// Some calls failed.
    Errors,
    /// All calls were answered.
    Answered,
}

fn url(path: &Path, nsid: u32, options: &str) -> String {
    format!("file:{}?nsid={nsid}&depth=4{options}", path.display())
}

/// Makes an image with two namespaces of pairs and one of blocks; options that its URLs need.
pub fn make(path: &Path, recipe: &Recipe) -> String {
    let profile = if recipe.capacitor { "tiny".to_string() } else { without_capacitor(path) };
    let namespaces = vec![
        NamespacePlan::Kv { flash_bytes: None },
        NamespacePlan::Block { bytes: Some(128 << 10), block_bytes: BLOCK_BYTES },
        NamespacePlan::Kv { flash_bytes: Some(3 << 19) },
    ];
    let plan = ImagePlan {
        engine: recipe.engine,
        settings: recipe.packing.map(asking_for).unwrap_or_default(),
        namespaces,
        ..ImagePlan::kv(6 << 20, &profile, 3)
    };
    plan.create(path).expect("creates");
    let options = if recipe.capacitor { String::new() } else { format!("&profile={profile}") };
    let mut rng = Seed(11).rng();
    for life in 0..3 {
        let is_last = life == 2;
        for nsid in PAIRS {
            let writes = if nsid == 1 { 2000 } else { 700 };
            let mut kv = Kv::open(&url(path, nsid, &options)).expect("opens");
            fill(&mut kv, writes, &mut rng);
            if recipe.closed || !is_last {
                kv.close().expect("closes");
            }
        }
        let mut disk = Block::open(&url(path, BLOCKS, &options)).expect("opens");
        for _ in 0..60 {
            let first = rng.below(disk.blocks() - 4);
            if rng.below(6) == 0 {
                disk.trim(first, 1 + rng.below(4)).expect("trims");
            } else {
                disk.write(first, &value(1, rng.next_u64(), BLOCK_BYTES * (1 + rng.below(4) as u32)))
                    .expect("writes");
            }
        }
        if recipe.closed {
            disk.close().expect("closes");
        }
    }
    options
}

/// A profile like `tiny` whose ring does not survive a power cut.
fn without_capacitor(path: &Path) -> String {
    let tiny = include_str!("../../../../../profiles/tiny.toml");
    let changed = tiny.replace("capacitor = { value = true", "capacitor = { value = false");
    assert_ne!(tiny, changed, "the profile names its capacitor");
    let file = path.with_file_name("tiny.toml");
    std::fs::write(&file, changed.replace("name = \"tiny\"", "name = \"bare\"")).expect("writes");
    file.display().to_string()
}

/// Stores, batches and deletes of keys of all lengths.
fn fill(kv: &mut Kv, writes: u64, rng: &mut Rng) {
    for n in 0..writes {
        let k = rng.below(KEYS) as u32;
        let len_max = 5000 >> rng.below(8);
        let len = rng.below(len_max) as u32;
        match rng.below(10) {
            0..=1 => drop(kv.delete(&key(k)).expect("deletes")),
            2 => {
                let mut batch = WriteBatch::new();
                let mut keys: Vec<_> = (0..2 + rng.below(12)).map(|_| rng.below(KEYS) as u32).collect();
                keys.sort_unstable();
                keys.dedup();
                for k in keys {
                    if rng.below(4) == 0 {
                        batch.delete(&key(k));
                    } else {
                        batch.put(&key(k), &value(k, n, rng.below(100) as u32));
                    }
                }
                kv.write(&batch).expect("writes");
            }
            _ => kv.put(&key(k), &value(k, n, len)).expect("puts"),
        }
    }
    kv.flush().expect("flushes");
}

/// Counts calls that failed.
#[derive(Default)]
struct Calls {
    failed: u32,
}

impl Calls {
    fn ok<T, E>(&mut self, result: Result<T, E>) -> Option<T> {
        self.failed += u32::from(result.is_err());
        result.ok()
    }
}

/// Checks, opens, reads, writes and closes.
pub fn use_image(image: &Image) -> Outcome {
    let verified = verify_image(&image.path, &mut |_| {});
    let mut calls = Calls::default();
    let mut opened = false;
    for nsid in PAIRS {
        opened |= use_pairs(&url(&image.path, nsid, &image.options), nsid, &mut calls);
    }
    if let Ok(disk) = Block::open(&url(&image.path, BLOCKS, &image.options)) {
        opened = true;
        use_blocks(disk, &mut calls);
    }
    match (opened, verified.is_ok() && calls.failed == 0) {
        (false, _) => Outcome::Refused,
        (true, false) => Outcome::Errors,
        (true, true) => Outcome::Answered,
    }
}

fn use_pairs(url: &str, nsid: u32, calls: &mut Calls) -> bool {
    let Ok(mut kv) = Kv::open(url) else { return false };
    read_pairs(&mut kv, calls);
    // Enough to make a full namespace collect.
    for n in 0..if nsid == 1 { 160 } else { 60 } {
        let k = (n * 7) % KEYS as u32;
        calls.ok(kv.put(&key(k), &value(k, n.into(), if n % 3 == 0 { 4000 } else { 90 })));
        if n % 5 == 0 {
            calls.ok(kv.delete(&key(k + 1)));
        }
    }
    let mut batch = WriteBatch::new();
    for k in 0..12 {
        batch.put(&key(k), &value(k, 5, 64));
    }
    calls.ok(kv.write(&batch));
    calls.ok(kv.flush());
    read_pairs(&mut kv, calls);
    calls.ok(kv.close());
    true
}

fn read_pairs(kv: &mut Kv, calls: &mut Calls) {
    for k in 0..KEYS as u32 {
        calls.ok(kv.get(&key(k)));
    }
    let mut left = 2000;
    for listed in kv.list(None) {
        left -= 1;
        if calls.ok(listed).is_none() || left == 0 {
            break;
        }
    }
    let mut left = 2000;
    calls.ok(kv.scan(&ScanOptions::default(), &mut |_, _| {
        left -= 1;
        left > 0
    }));
    let _ = kv.stats();
}

fn use_blocks(mut disk: Block, calls: &mut Calls) {
    let (blocks, bytes) = (disk.blocks().min(256), disk.block_bytes() as usize);
    let mut out = vec![0; 8 * bytes];
    for first in (0..blocks.saturating_sub(8)).step_by(8) {
        calls.ok(disk.read(first, &mut out));
    }
    for n in 0..40 {
        calls.ok(disk.write(n * 5 % blocks.saturating_sub(8).max(1), &out));
    }
    calls.ok(disk.trim(1, 5));
    calls.ok(disk.flush());
    for first in (0..blocks.saturating_sub(8)).step_by(8) {
        calls.ok(disk.read(first, &mut out));
    }
    calls.ok(disk.close());
}
