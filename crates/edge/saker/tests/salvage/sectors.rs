// SPDX-License-Identifier: Apache-2.0 OR MIT
//! More than a byte is damaged: nothing panics, and nothing wrong is given out.

use crate::salvage::rig::{Image, Recipe, Saved, TINY, answers, salvage, text, url};
use crate::support::is_soak;
use saker::{EngineKind, Kv};
use saker_sim::{Rng, Seed};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SECTOR: usize = 4096;

/// Where zeros cannot be told from what was never written: free slots of the ring.
fn is_silent(image: &Image, at: u64, bytes: &[u8]) -> bool {
    let [_, ring_at, oob_at, ..] = image.regions();
    (ring_at..oob_at).contains(&at) && bytes.iter().all(|b| *b == 0)
}

fn damage(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; if rng.below(2) == 0 { SECTOR } else { 512 }];
    if rng.below(2) == 0 {
        rng.fill(&mut bytes);
    }
    bytes
}

/// What comes of it; `None`: the image is refused.
fn look(image: &Image, headers_are_zero: bool) -> Result<Option<Saved>, String> {
    if let Ok(mut kv) = Kv::open(&url(&image.path, "&readonly")) {
        // Whoever opens it strictly takes pages without a header for erased ones.
        answers(&mut kv, &image.model).or_else(|e| if headers_are_zero { Ok(0) } else { Err(e) })?;
    }
    match Kv::open(&url(&image.path, "&readonly&salvage")) {
        Ok(mut kv) => answers(&mut kv, &image.model)?,
        Err(_) => return Ok(None),
    };
    salvage(&image.path, &image.model).map(Some)
}

fn run(recipe: &Recipe) {
    let (image, mut rng) = (Image::new(recipe), Seed(5).rng());
    let (mut wrong, mut certain, mut refused) = (Vec::new(), 0, 0);
    let rounds = if is_soak() { 1000 } else { 40 };
    let [_, _, oob_at, data_at, _] = image.regions();
    for _ in 0..rounds {
        let (at, bytes) = (image.aim_block(&mut rng), damage(&mut rng));
        if is_silent(&image, at, &bytes) {
            continue;
        }
        let headers_are_zero = (oob_at..data_at).contains(&at) && bytes.iter().all(|b| *b == 0);
        image.file.write_all_at(&bytes, at).expect("writes");
        let tried = catch_unwind(AssertUnwindSafe(|| look(&image, headers_are_zero)));
        image.restore(at, bytes.len());
        match tried.unwrap_or_else(|panic| Err(format!("panic: {}", text(&*panic)))) {
            Ok(Some(saved)) => certain += u32::from(!saved.is_uncertain),
            Ok(None) => refused += 1,
            // Behind a table that cannot be read nobody knows the keys.
            Err(what) if what.contains("is lost and not named") && what.contains("Listing") => {}
            Err(what) => wrong.push(format!("block {at:#x}: {what}")),
        }
    }
    println!("{}: {rounds} sectors, {certain} certain, {refused} refused", recipe.engine.name());
    assert!(wrong.is_empty(), "{} of {rounds}: {wrong:#?}", wrong.len());
}

#[test]
fn damaged_sectors() {
    for &engine in EngineKind::ALL {
        run(&Recipe { engine, closed: false, life_writes: 300, ..TINY });
        run(&Recipe { engine, image_bytes: 8 << 20, writes: 3000, keys: 500, closed: false, ..TINY });
    }
}

/// Header copies: either alone is enough.
#[test]
fn torn_headers() {
    let image = Image::new(&TINY);
    for copy in [0, SECTOR as u64] {
        let torn = vec![0x5a; 700];
        image.file.write_all_at(&torn, copy + 300).expect("writes");
        let saved = salvage(&image.path, &image.model).expect("the other copy");
        assert_eq!((saved.right, saved.lost), (image.live(), 0));
        image.restore(copy + 300, torn.len());
    }
}
