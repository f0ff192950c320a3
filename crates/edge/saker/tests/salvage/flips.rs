// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One byte of an image is changed, anywhere: whoever opens it gets right answers or errors, a salvage gives everything but
//! what stood at that place, names that, and a repaired image is sound.

use crate::salvage::rig::{Image, Recipe, Saved, TINY, answers, repair, salvage, text, url};
use crate::support::is_soak;
use saker::{EngineKind, Kv, Packing};
use saker_sim::Seed;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Every so many flips the image is repaired, too.
const REPAIRED: u32 = 25;

struct Tally {
    /// Pairs saved, of those there were.
    saved: f64,
    /// Flips after which something was lost.
    lossy: u32,
    /// Flips after which nothing could be given out for certain.
    uncertain: u32,
    most_lost: usize,
}

fn flip(image: &Image, at: u64, mask: u8, with_repair: bool) -> Result<Saved, String> {
    image.put_byte(at, image.byte(at) ^ mask);
    let tried = catch_unwind(AssertUnwindSafe(|| {
        if let Ok(mut kv) = Kv::open(&url(&image.path, "&readonly")) {
            answers(&mut kv, &image.model).map_err(|e| format!("opened strictly: {e}"))?;
        }
        let saved = salvage(&image.path, &image.model)?;
        if with_repair && !saved.is_uncertain {
            repair(&image.path, &saved, &image.model)?;
        }
        Ok(saved)
    }));
    image.put_byte(at, image.byte(at));
    tried.unwrap_or_else(|panic| Err(format!("panic: {}", text(&*panic))))
}

fn run(recipe: &Recipe, flips_check: u32, flips_soak: u32) {
    let replay = saker_testing::Replay::campaign();
    let seed = replay.seed();
    let (image, mut rng) = (Image::new(recipe), Seed(seed).rng());
    let whole = salvage(&image.path, &image.model);
    assert_eq!(whole, Ok(Saved { right: image.live(), ..Saved::default() }), "unharmed");
    let flips = if is_soak() { flips_soak } else { flips_check };
    let mut tally = Tally { saved: 0.0, lossy: 0, uncertain: 0, most_lost: 0 };
    let mut wrong = Vec::new();
    for n in 0..flips {
        let (at, mask) = (image.aim(&mut rng), rng.below(255) as u8 + 1);
        match flip(&image, at, mask, n.is_multiple_of(REPAIRED)) {
            Ok(saved) => {
                tally.saved += saved.right as f64 / image.live() as f64;
                tally.lossy += u32::from(saved.lost > 0);
                tally.uncertain += u32::from(saved.is_uncertain);
                tally.most_lost = tally.most_lost.max(saved.lost);
            }
            Err(what) => wrong.push(format!("byte {at:#x} ^ {mask:#x}: {what}")),
        }
    }
    let shown = wrong.iter().take(20).fold(String::new(), |all, one| all + "\n" + one);
    let (engine, mean) = (recipe.engine.name(), 100.0 * tally.saved / f64::from(flips));
    println!(
        "{engine}: {flips} flips, {} pairs, {mean:.4} % saved on average, {} with a loss, at most {} lost, {} uncertain",
        image.live(),
        tally.lossy,
        tally.most_lost,
        tally.uncertain
    );
    assert!(wrong.is_empty(), "{} of {flips} flips went wrong (SAKER_SEED={seed}):{shown}", wrong.len());
    // What lies in tables is put right, and vouched for by sums of its own.
    assert!(tally.lossy > 0 || !recipe.settings.is_empty(), "the flips hit nothing");
    // One record is lost, or a long key's, of which a few can share an envelope.
    assert!(tally.most_lost <= 4, "{} pairs were lost by one byte", tally.most_lost);
    // Another byte that explains a page's checksum as well: once in some thousand pages.
    assert!(tally.uncertain * 200 <= flips.max(200), "{} flips left nothing certain", tally.uncertain);
}

fn of(engine: EngineKind) -> Recipe {
    Recipe { engine, ..TINY }
}

/// So much is written that there are checkpoints, tables, sections, and collections.
fn long(engine: EngineKind) -> Recipe {
    Recipe { engine, image_bytes: 8 << 20, writes: 3000, keys: 500, life_writes: 1499, closed: false, ..TINY }
}

fn killed(engine: EngineKind) -> Recipe {
    Recipe { engine, closed: false, life_writes: 97, ..TINY }
}

macro_rules! engines {
    ($($name:ident $engine:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn closed() {
                run(&of(EngineKind::$engine), 100, 10_000);
            }

            #[test]
            fn killed_many_times() {
                run(&killed(EngineKind::$engine), 100, 12_000);
            }

            #[test]
            fn written_for_long() {
                run(&long(EngineKind::$engine), 60, 10_000);
            }
        }
    )*};
}

saker_engine::for_each_engine!(engines);

/// Records in gaps, and gaps.
#[test]
fn packed_by_backfilling() {
    let recipe =
        Recipe { packing: Some(Packing::Backfill), value_bytes_max: 9000, ..killed(EngineKind::LSM) };
    run(&Recipe { image_bytes: 8 << 20, ..recipe }, 80, 8_000);
}

/// Values in tables and in records that pass through the log, some of them or all.
#[test]
fn values_in_the_tree() {
    let long = long(EngineKind::LSM);
    run(&Recipe { settings: &[("min_blob_size", "unlimited")], ..long }, 100, 10_000);
    run(&Recipe { settings: &[("min_blob_size", "512")], ..long }, 60, 10_000);
    run(&Recipe { settings: &[("min_blob_size", "unlimited")], ..killed(EngineKind::LSM) }, 60, 10_000);
}

/// Every flush of a device without a capacitor programs what there is, so that segments have a page or two.
#[test]
fn without_a_capacitor() {
    let recipe = Recipe { profile: "nvmevirt-970pro", image_bytes: 256 << 20, writes: 300, ..TINY };
    run(&Recipe { closed: false, life_writes: 100, ..recipe }, 40, 2_000);
}
