// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Forged images: fields of every structure in an image get other values, and every checksum that covers them is
//! made right again. Such an image is refused, or opens and answers; wrong answers are allowed, for they are what the
//! forger wrote. Never a panic, a step that does not end, memory without bound.
//!
//! `SAKER_SEED` replays a run, `SAKER_CASE` one case of it, with the places of its panics; `SAKER_CASES` is how many.

mod layout;
mod mutate;
mod parts;
mod shapes;
mod slots;
#[path = "../support/pairs.rs"]
mod support;
mod usage;
mod watch;

use layout::Layout;
use parts::Part;
use saker::{EngineKind, Packing};
use saker_sim::Seed;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use support::is_soak;
use tempfile::TempDir;
use usage::Outcome;

const BLOCK: usize = 4096;

/// How the image was left.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// What keeps its pairs.
    pub engine: EngineKind,
    /// Where its values go, for the LSM engine.
    pub packing: Option<Packing>,
    /// Closed in order, or its process was killed.
    pub closed: bool,
    /// Whether its ring survives a power cut.
    pub capacitor: bool,
}

/// An image, and what is in it.
pub struct Image {
    _dir: TempDir,
    /// The file.
    pub path: PathBuf,
    file: File,
    /// Its bytes before anything is forged.
    pub bytes: Vec<u8>,
    /// Where its regions are.
    pub layout: Layout,
    /// Everything with a checksum of its own.
    pub parts: Vec<Part>,
    /// How it was made.
    pub recipe: Recipe,
    /// Options that URLs of it need.
    pub options: String,
}

impl Image {
    fn new(recipe: Recipe) -> Self {
        let dir =
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
        let path = dir.path().join("disk.img");
        let options = usage::make(&path, &recipe);
        let bytes = std::fs::read(&path).expect("reads");
        let file = File::options().read(true).write(true).open(&path).expect("opens");
        let layout = Layout::of(&bytes);
        let parts = parts::find(&bytes, &layout);
        Self { _dir: dir, path, file, bytes, layout, parts, recipe, options }
    }

    /// Writes the file anew, with holes where there are zeros.
    pub fn write(&self, bytes: &[u8], length: u64) {
        self.file.set_len(0).expect("empties");
        self.file.set_len(length).expect("sizes");
        for (n, block) in bytes.chunks(BLOCK).enumerate() {
            let at = (n * BLOCK) as u64;
            if at < length && block.iter().any(|b| *b != 0) {
                let most = (length - at).min(block.len() as u64) as usize;
                self.file.write_all_at(&block[..most], at).expect("writes");
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn run(name: &str, recipe: Recipe) {
    let image = Image::new(recipe);
    let campaign = saker_testing::Replay::campaign();
    let seed = campaign.seed();
    let cases = number("SAKER_CASES").unwrap_or(if is_soak() { 12_500 } else { 80 });
    let only = number("SAKER_CASE");
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut counts: BTreeMap<Outcome, u32> = BTreeMap::new();
    for case in only.map_or(0..cases, |n| n..n + 1) {
        let mut rng = Seed(seed).child(name).index(case).rng();
        let mut bytes = image.bytes.clone();
        let what = mutate::forge(&image, &mut bytes, &mut rng);
        let replay = format!("SAKER_SEED={seed} SAKER_CASE={case} ({name}): {what}");
        if only.is_some() {
            println!("{replay}");
        }
        image.write(&bytes, image.bytes.len() as u64);
        match watch::guarded(&replay, || usage::use_image(&image)) {
            Ok(outcome) => *counts.entry(outcome).or_default() += 1,
            Err(panic) => wrong.entry(panic).or_default().push(replay),
        }
    }
    println!("{name}: {counts:?}, {} parts", image.parts.len());
    let report = wrong.iter().fold(String::new(), |all, (place, cases)| {
        format!("{all}\n{place}: {} of {name}\n    {}", cases.len(), cases[0])
    });
    assert!(wrong.is_empty(), "{} places panicked:{report}", wrong.len());
    assert!(only.is_some() || cases < 50 || counts.len() >= 2, "the forgeries hit nothing: {counts:?}");
}

const PLAIN: Recipe = Recipe { engine: EngineKind::HASH_STORE, packing: None, closed: true, capacitor: true };

/// Of each engine that there is, closed and killed.
macro_rules! each_engine {
    ($($name:ident $engine:ident;)*) => {
        $(mod $name {
            use crate::{EngineKind, PLAIN, Recipe, run};

            const CLOSED: Recipe = Recipe { engine: EngineKind::$engine, ..PLAIN };

            #[test]
            fn closed() {
                run(stringify!($name), CLOSED);
            }

            #[test]
            fn killed() {
                run(concat!(stringify!($name), "::killed"), Recipe { closed: false, ..CLOSED });
            }
        })*
    };
}

saker_engine::for_each_engine!(each_engine);

/// What else an image can be.
macro_rules! forged {
    ($($name:ident: $recipe:expr;)*) => { $(
        #[test]
        fn $name() {
            run(stringify!($name), $recipe);
        }
    )* };
}

const LOST: Recipe = Recipe { closed: false, capacitor: false, ..PLAIN };
const PACKED: Recipe = Recipe { engine: EngineKind::LSM, packing: Some(Packing::Backfill), ..PLAIN };

forged! {
    hash_store_without_capacitor: LOST;
    lsm_packed: PACKED;
    lsm_packed_killed: Recipe { closed: false, ..PACKED };
    lsm_without_capacitor: Recipe { engine: EngineKind::LSM, ..LOST };
    tree_without_capacitor: Recipe { engine: EngineKind::TREE, ..LOST };
}
