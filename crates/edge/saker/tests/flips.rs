// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One byte of an image is changed, anywhere: the image is refused, or every answer is right or an error. Never a
//! wrong value, a lost pair, a deleted one that is back, or a panic. And what makes an open or a read fail, the
//! check must have named.

use crate::support;

use saker::{EngineKind, ImagePlan, Kv, check_image};
use saker_sim::{Rng, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use support::{is_soak, key, value};
use tempfile::TempDir;

const BLOCK: usize = 4096;
/// Key that the churn after an open overwrites.
const CHURN: u32 = 1_000_000;

/// What is done to the image before bytes are flipped.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    engine: EngineKind,
    profile: &'static str,
    image_bytes: u64,
    writes: u32,
    keys: u32,
    value_bytes_max: u32,
    /// The process ends without closing after each so many writes.
    life_writes: u32,
    closed: bool,
}

const TINY: Recipe = Recipe {
    engine: EngineKind::HASH_STORE,
    profile: "tiny",
    image_bytes: 4 << 20,
    writes: 700,
    keys: 400,
    value_bytes_max: 2000,
    life_writes: u32::MAX,
    closed: true,
};

/// Version and length of the newest write of a key; `None`: deleted.
type Model = BTreeMap<u32, Option<(u64, u32)>>;

struct Image {
    _dir: TempDir,
    path: PathBuf,
    file: File,
    file_bytes: u64,
    /// Where the pages' data begin.
    data_at: u64,
    /// Blocks that are not zero.
    blocks: Vec<(u64, Vec<u8>)>,
    model: Model,
}

/// A file system in memory, where syncs cost nothing, if there is one.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

fn url(path: &Path) -> String {
    format!("file:{}?depth=4", path.display())
}

impl Image {
    fn new(recipe: &Recipe) -> Self {
        let dir = directory();
        let path = dir.path().join("disk.img");
        let plan = ImagePlan::kv(recipe.image_bytes, recipe.profile, 3);
        let plan = ImagePlan { engine: recipe.engine, ..plan };
        let data_bytes = plan.create(&path).expect("creates").flash_bytes;
        let model = fill(&path, recipe);
        let bytes = std::fs::read(&path).expect("reads");
        let file = File::options().write(true).open(&path).expect("opens");
        let chunks = bytes.chunks(BLOCK).enumerate().filter(|(_, b)| b.iter().any(|b| *b != 0));
        let blocks = chunks.map(|(n, b)| ((n * BLOCK) as u64, b.to_vec())).collect();
        let file_bytes = bytes.len() as u64;
        // The data are the last region; only the aim relies on that.
        Self { _dir: dir, path, file, file_bytes, data_at: file_bytes - data_bytes, blocks, model }
    }

    fn restore(&self) {
        self.file.set_len(0).expect("empties");
        self.file.set_len(self.file_bytes).expect("sizes");
        for (at, block) in &self.blocks {
            self.file.write_all_at(block, *at).expect("writes");
        }
    }

    fn byte(&self, at: u64) -> u8 {
        let start = at - at % BLOCK as u64;
        let block = self.blocks.iter().find(|(b, _)| *b == start);
        block.map_or(0, |(_, bytes)| bytes[(at - start) as usize])
    }

    /// Where to flip: half the time in what is not data, sometimes in a hole.
    fn aim(&self, rng: &mut Rng) -> u64 {
        let wanted = rng.below(10);
        if wanted == 0 {
            return rng.below(self.file_bytes);
        }
        let is_data = wanted < 4 && self.blocks.iter().any(|(at, _)| *at >= self.data_at);
        loop {
            let (at, block) = &self.blocks[rng.below(self.blocks.len() as u64) as usize];
            let offset = rng.below(BLOCK as u64) as usize;
            // Out-of-band blocks are half empty; what is written there is the interesting part.
            let is_written = block[offset] != 0 || rng.below(8) == 0;
            if (*at >= self.data_at) == is_data && (is_data || is_written) {
                return at + offset as u64;
            }
        }
    }
}

/// Writes, overwrites and deletes pairs, in several lives.
fn fill(path: &Path, recipe: &Recipe) -> Model {
    let (mut model, mut rng) = (Model::new(), Seed(11).rng());
    let mut kv = Kv::open(&url(path)).expect("opens");
    for n in 1..=recipe.writes {
        let k = rng.below(u64::from(recipe.keys)) as u32;
        if rng.below(4) == 0 {
            kv.delete(&key(k)).expect("deletes");
            model.insert(k, None);
        } else {
            let bytes_max = recipe.value_bytes_max >> rng.below(6);
            let len = rng.below(u64::from(bytes_max) + 1) as u32;
            kv.put(&key(k), &value(k, u64::from(n), len)).expect("puts");
            model.insert(k, Some((u64::from(n), len)));
        }
        if n.is_multiple_of(recipe.life_writes) {
            drop(kv);
            kv = Kv::open(&url(path)).expect("recovers");
        }
    }
    kv.flush().expect("flushes");
    if recipe.closed {
        kv.close().expect("closes");
    }
    model
}

/// What came of a flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// No harm done.
    Right,
    Refused,
    /// Some answers were errors.
    Errors,
}

/// Whether all answers of an open device are right; `Err`: one is wrong.
fn answers(kv: &mut Kv, model: &Model) -> Result<Outcome, String> {
    let mut outcome = Outcome::Right;
    for (k, held) in model {
        match kv.get(&key(*k)) {
            Ok(found) if found == held.map(|(version, len)| value(*k, version, len)) => {}
            Ok(found) => {
                let bytes = found.map(|f| f.len());
                return Err(format!("key {k} reads {bytes:?} bytes instead of {held:?}"));
            }
            Err(_) => outcome = Outcome::Errors,
        }
    }
    let listed: Result<BTreeSet<_>, _> = kv.list(None).filter(|k| k != &Ok(key(CHURN))).collect();
    let live = || model.iter().filter(|(_, held)| held.is_some()).map(|(k, _)| key(*k));
    match listed {
        Ok(listed) if listed == live().collect() => Ok(outcome),
        Ok(listed) => Err(format!("{} keys listed, {} are there", listed.len(), live().count())),
        Err(_) => Ok(Outcome::Errors),
    }
}

/// Opens and reads, and when `churn` says so, makes the device collect garbage and reads again.
fn use_image(image: &Image, churn: bool) -> Result<Outcome, String> {
    let Ok(mut kv) = Kv::open(&url(&image.path)) else { return Ok(Outcome::Refused) };
    let mut outcome = answers(&mut kv, &image.model)?;
    if churn {
        for n in 0..600 {
            if kv.put(&key(CHURN), &value(CHURN, n, 8000)).is_err() {
                outcome = Outcome::Errors;
            }
        }
        outcome = outcome.max(answers(&mut kv, &image.model).map_err(|e| format!("after churn: {e}"))?);
    }
    Ok(outcome)
}

/// One flip; what was wrong with what came of it.
fn flip(image: &Image, at: u64, mask: u8, churn: bool) -> Result<Outcome, String> {
    let byte = image.byte(at) ^ mask;
    image.file.write_all_at(&[byte], at).expect("writes");
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let is_sound = check_image(&image.path, &mut |_| {}).is_ok_and(|(report, _)| report.is_sound());
        (is_sound, use_image(image, churn))
    }));
    match tried {
        Err(panic) => Err(format!("panic: {}", text(&*panic))),
        Ok((_, Err(wrong))) => Err(wrong),
        Ok((true, Ok(bad @ (Outcome::Refused | Outcome::Errors)))) => {
            let error = Kv::open(&url(&image.path)).err().map(|e| e.to_string());
            Err(format!("the check called it sound: {bad:?}, {error:?}"))
        }
        Ok((_, Ok(outcome))) => Ok(outcome),
    }
}

fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of another kind")
}

fn run(recipe: &Recipe, flips_check: u32, flips_soak: u32) -> BTreeMap<Outcome, u32> {
    let replay = saker_testing::Replay::campaign();
    let seed = replay.seed();
    let (image, mut rng) = (Image::new(recipe), Seed(seed).rng());
    image.restore();
    assert_eq!(use_image(&image, true), Ok(Outcome::Right), "unharmed");
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for n in 0..if is_soak() { flips_soak } else { flips_check } {
        image.restore();
        let (at, mask) = (image.aim(&mut rng), rng.below(255) as u8 + 1);
        match flip(&image, at, mask, n.is_multiple_of(10)) {
            Ok(outcome) => *counts.entry(outcome).or_insert(0) += 1,
            Err(what) => {
                wrong.push(format!("byte {at:#x} (data from {:#x}) ^ {mask:#x}: {what}", image.data_at))
            }
        }
    }
    println!("{counts:?}, {} wrong, {} blocks", wrong.len(), image.blocks.len());
    let shown = wrong.iter().take(20).fold(String::new(), |all, one| all + "\n" + one);
    assert!(wrong.is_empty(), "{} of the flips went wrong:{shown}", wrong.len());
    assert!(counts.len() >= 2, "the flips hit nothing: {counts:?}");
    counts
}

#[test]
fn closed_in_order() {
    run(&TINY, 500, 5_000);
}

#[test]
fn killed() {
    run(&Recipe { closed: false, ..TINY }, 400, 5_000);
}

#[test]
fn killed_many_times() {
    run(&Recipe { closed: false, life_writes: 37, ..TINY }, 300, 5_000);
}

/// Enough for checkpoints and collection: pages from before the checkpoint are not read at the open.
#[test]
fn behind_a_checkpoint() {
    let writes = Recipe { writes: 6000, keys: 900, value_bytes_max: 6000, ..TINY };
    let recipe = Recipe { closed: false, life_writes: 2999, ..writes };
    let counts = run(&recipe, 300, 5_000);
    assert!(counts.contains_key(&Outcome::Errors), "nothing is behind the checkpoint: {counts:?}");
}

/// Every flush of a device without a capacitor programs what there is, so that segments have a page or two.
const VOLATILE: Recipe = Recipe { profile: "nvmevirt-970pro", image_bytes: 256 << 20, ..TINY };

#[test]
fn without_a_capacitor() {
    run(&Recipe { writes: 300, closed: false, life_writes: 100, ..VOLATILE }, 150, 5_000);
}

#[test]
fn one_page_without_a_capacitor() {
    run(&Recipe { writes: 12, keys: 8, value_bytes_max: 300, ..VOLATILE }, 150, 5_000);
}

#[test]
fn a_few_pages_only() {
    run(&Recipe { closed: true, writes: 12, keys: 8, value_bytes_max: 300, ..TINY }, 300, 5_000);
}

/// Merges and manifests: a damaged node is an error of the keys below it.
#[test]
fn nodes_of_a_tree() {
    let writes = Recipe { engine: EngineKind::TREE, image_bytes: 8 << 20, writes: 3000, keys: 900, ..TINY };
    run(&Recipe { closed: false, life_writes: 1499, ..writes }, 200, 5_000);
}
