// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images with everything in them, and what is made of them when they are damaged.

use crate::support::{key, value};
use saker::{EngineKind, ImagePlan, Kv, Lost, NamespacePlan, Packing, Piece, Salvaged, Typed, WriteBatch};
use saker_engine::lsm::settings::asking_for;
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BLOCK: usize = 4096;

/// What is done to an image before it is damaged.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub engine: EngineKind,
    pub packing: Option<Packing>,
    /// What else is asked of the engine, as users write it.
    pub settings: &'static [(&'static str, &'static str)],
    pub profile: &'static str,
    pub image_bytes: u64,
    pub writes: u32,
    pub keys: u32,
    pub value_bytes_max: u32,
    /// The process ends without closing after each so many writes.
    pub life_writes: u32,
    pub closed: bool,
}

pub const TINY: Recipe = Recipe {
    engine: EngineKind::HASH_STORE,
    packing: None,
    settings: &[],
    profile: "tiny",
    image_bytes: 4 << 20,
    writes: 700,
    keys: 300,
    value_bytes_max: 2000,
    life_writes: u32::MAX,
    closed: true,
};

/// What newest write of a key stored; `None`: it is deleted.
pub type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub struct Image {
    _dir: TempDir,
    pub path: PathBuf,
    pub file: File,
    pub file_bytes: u64,
    pub model: Model,
    /// Blocks that are not zero.
    blocks: Vec<(u64, Vec<u8>)>,
    data_at: u64,
}

/// A file system in memory, where syncs cost nothing, if there is one.
pub fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

pub fn url(path: &Path, options: &str) -> String {
    format!("file:{}?depth=4{options}", path.display())
}

fn blocks(bytes: u64) -> NamespacePlan {
    NamespacePlan::Block { bytes: Some(bytes), block_bytes: 512 }
}

/// The same, their map on flash, with the smallest table.
pub fn blocks_on_flash(bytes: u64) -> NamespacePlan {
    NamespacePlan::BlockOnFlash { bytes: Some(bytes), block_bytes: 512, map_cache_bytes: 2 << 10 }
}

impl Image {
    pub fn new(recipe: &Recipe) -> Self {
        let plan = ImagePlan::kv(recipe.image_bytes, recipe.profile, 3);
        let mut typed = Typed::default();
        recipe.settings.iter().for_each(|(name, text)| typed.push(name, text));
        let asked = typed.of(recipe.engine.settings(), |text| text.parse().ok()).expect("it takes that");
        let settings = asked.over(&recipe.packing.map(asking_for).unwrap_or_default());
        Self::of(&ImagePlan { engine: recipe.engine, settings, ..plan }, recipe)
    }

    /// The same with a namespace of blocks behind that of pairs.
    pub fn with_blocks(recipe: &Recipe, bytes: u64) -> Self {
        Self::with_blocks_as(recipe, blocks(bytes))
    }

    /// The same by its plan.
    pub fn with_blocks_as(recipe: &Recipe, blocks: NamespacePlan) -> Self {
        Self::with(recipe, vec![NamespacePlan::Kv { flash_bytes: None }, blocks])
    }

    /// The same with a namespace of blocks and another one of pairs, which both are empty.
    pub fn with_two_others(recipe: &Recipe, bytes: u64, flash_bytes: u64) -> Self {
        let pairs = |flash_bytes| NamespacePlan::Kv { flash_bytes };
        Self::with(recipe, vec![pairs(None), blocks(bytes), pairs(Some(flash_bytes))])
    }

    fn with(recipe: &Recipe, namespaces: Vec<NamespacePlan>) -> Self {
        let plan = ImagePlan::kv(recipe.image_bytes, recipe.profile, 3);
        Self::of(&ImagePlan { engine: recipe.engine, namespaces, ..plan }, recipe)
    }

    fn of(plan: &ImagePlan, recipe: &Recipe) -> Self {
        let dir = directory();
        let path = dir.path().join("disk.img");
        let data_bytes = plan.create(&path).expect("creates").flash_bytes;
        let model = fill(&path, recipe);
        let mut image = Self {
            file: File::options().write(true).open(&path).expect("opens"),
            _dir: dir,
            path,
            file_bytes: 0,
            model,
            blocks: Vec::new(),
            data_at: 0,
        };
        image.learn();
        // The data are the last region; only the aim relies on that.
        image.data_at = image.file_bytes - data_bytes;
        image
    }

    /// Reads what is in the file now.
    pub fn learn(&mut self) {
        let bytes = std::fs::read(&self.path).expect("reads");
        let chunks = bytes.chunks(BLOCK).enumerate().filter(|(_, b)| b.iter().any(|b| *b != 0));
        self.blocks = chunks.map(|(n, b)| ((n * BLOCK) as u64, b.to_vec())).collect();
        self.file_bytes = bytes.len() as u64;
    }

    pub fn byte(&self, at: u64) -> u8 {
        let start = at - at % BLOCK as u64;
        let found = self.blocks.binary_search_by_key(&start, |(at, _)| *at).ok();
        found.map_or(0, |n| self.blocks[n].1[(at - start) as usize])
    }

    /// Where to flip: half the time in what is not data, sometimes in a hole.
    pub fn aim(&self, rng: &mut Rng) -> u64 {
        let wanted = rng.below(10);
        if wanted == 0 {
            return rng.below(self.file_bytes);
        }
        let is_data = wanted < 5 && self.blocks.iter().any(|(at, _)| *at >= self.data_at);
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

    /// A block of the file that is written.
    pub fn aim_block(&self, rng: &mut Rng) -> u64 {
        self.blocks[rng.below(self.blocks.len() as u64) as usize].0
    }

    pub fn put_byte(&self, at: u64, byte: u8) {
        self.file.write_all_at(&[byte], at).expect("writes");
    }

    /// As it was before `bytes` bytes were damaged.
    pub fn restore(&self, at: u64, bytes: usize) {
        let good: Vec<u8> = (at..at + bytes as u64).map(|at| self.byte(at)).collect();
        self.file.write_all_at(&good, at).expect("writes");
    }

    /// Where epoch table, ring, out-of-band bytes and data begin, and where the file ends (`docs/image-format.md`).
    pub fn regions(&self) -> [u64; 5] {
        let number = |at: u64| u64::from_le_bytes(std::array::from_fn(|n| self.byte(at + n as u64)));
        [192, 200, 208, 216, 224].map(number)
    }

    pub fn live(&self) -> usize {
        self.model.values().filter(|value| value.is_some()).count()
    }
}

/// Writes, overwrites and deletes pairs, one by one and in batches, in several lives.
fn fill(path: &Path, recipe: &Recipe) -> Model {
    let (mut model, mut rng) = (Model::new(), Seed(11).rng());
    let mut kv = Kv::open(&url(path, "")).expect("opens");
    let mut n = 0;
    while n < recipe.writes {
        let members = if rng.below(8) == 0 { rng.below(12) as u32 + 2 } else { 1 };
        let mut batch = WriteBatch::new();
        let mut wrote = Model::new();
        for _ in 0..members {
            n += 1;
            let k = rng.below(u64::from(recipe.keys)) as u32;
            let bytes_max = recipe.value_bytes_max >> rng.below(6);
            let bytes = rng.below(u64::from(bytes_max) + 1) as u32;
            let stored = (rng.below(4) != 0).then(|| value(k, u64::from(n), bytes));
            wrote.insert(key(k), stored);
        }
        for (key, stored) in &wrote {
            match stored {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            };
        }
        kv.write(&batch).expect("writes");
        model.extend(wrote);
        if n % recipe.life_writes < members {
            drop(kv);
            kv = Kv::open(&url(path, "")).expect("recovers");
        }
    }
    kv.flush().expect("flushes");
    if recipe.closed {
        kv.close().expect("closes");
    }
    model
}

/// What a salvage gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Pairs that were right.
    pub right: usize,
    /// Keys that were named as lost.
    pub lost: usize,
    /// Nothing was given out, because something that was lost can have been newer.
    pub is_uncertain: bool,
}

/// Whether all that is salvaged is right, and all that is not is named.
pub fn salvage(path: &Path, model: &Model) -> Result<Saved, String> {
    let salvaged = Salvaged::open(path).map_err(|e| format!("does not open: {e}"))?;
    walk(&salvaged, 1, model)
}

/// The same of a namespace of pairs.
pub fn walk(salvaged: &Salvaged, nsid: u32, model: &Model) -> Result<Saved, String> {
    let mut found = BTreeMap::new();
    let losses = salvaged.walk(nsid, &mut |piece| {
        if let Piece::Pair(key, value) = piece {
            found.insert(key.to_vec(), value.to_vec());
        }
        Ok::<_, saker::Error>(())
    });
    let losses = losses.map_err(|e| format!("is not read: {e}"))?;
    let mut saved = Saved { is_uncertain: !losses.unknown.is_empty(), ..Saved::default() };
    if saved.is_uncertain {
        return if found.is_empty() { Ok(saved) } else { Err("what may be old is given out".into()) };
    }
    for (key, value) in &found {
        if model.get(key) != Some(&Some(value.clone())) {
            return Err(format!("key {} has a wrong value", key.escape_ascii()));
        }
    }
    let has_long = losses.lost.iter().any(|lost| matches!(lost, Lost::LongKeys(_)));
    for (key, _) in model.iter().filter(|(key, value)| value.is_some() && !found.contains_key(*key)) {
        let is_named = losses.lost.contains(&Lost::Pair(key.clone())) || has_long && key.len() > 16;
        if !is_named {
            return Err(format!("key {} is lost and not named: {:?}", key.escape_ascii(), losses.lost));
        }
        saved.lost += 1;
    }
    for lost in &losses.lost {
        if let Lost::Pair(key) = lost
            && !model.get(key).is_some_and(Option::is_some)
        {
            return Err(format!("key {} was not there, and is said to be lost", key.escape_ascii()));
        }
    }
    saved.right = found.len();
    Ok(saved)
}

/// Every answer of an open device is right or an error; how many were right.
pub fn answers(kv: &mut Kv, model: &Model) -> Result<usize, String> {
    let mut right = 0;
    for (key, held) in model {
        match kv.get(key) {
            Ok(found) if found == *held => right += usize::from(held.is_some()),
            Ok(found) => {
                let (is, was) = (found.map(|f| f.len()), held.as_ref().map(Vec::len));
                return Err(format!("key {} reads {is:?} bytes, not {was:?}", key.escape_ascii()));
            }
            Err(_) => {}
        }
    }
    Ok(right)
}

/// Repairs a damaged image into another file, and looks at what came of it.
pub fn repair(path: &Path, expected: &Saved, model: &Model) -> Result<(), String> {
    let dir = directory();
    let new = dir.path().join("new.img");
    let before = std::fs::metadata(path).and_then(|m| m.modified()).ok();
    let repaired = saker::repair_image(path, &new, &mut |_| {}).map_err(|e| format!("repair: {e}"))?;
    assert_eq!(before, std::fs::metadata(path).and_then(|m| m.modified()).ok(), "the old one is only read");
    let (report, pairs) = saker::check_image(&new, &mut |_| {}).map_err(|e| format!("new: {e}"))?;
    if !report.is_sound() {
        return Err(format!("the repaired image is not sound: {:?}", report.findings));
    }
    let sound = repaired.namespaces[0].sound;
    if sound != expected.right as u64 {
        return Err(format!("{sound} of {} pairs came over, {pairs} are there", expected.right));
    }
    let mut kv = Kv::open(&url(&new, "")).map_err(|e| e.to_string())?;
    for (key, value) in model {
        let found = kv.get(key).map_err(|e| e.to_string())?;
        if found.is_some() && found != *value {
            return Err(format!("repaired: key {} has a wrong value", key.escape_ascii()));
        }
    }
    Ok(())
}

/// For messages.
pub fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of another kind")
}
