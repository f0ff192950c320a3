// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block namespaces of damaged images.

use crate::salvage::rig::{Image, Recipe, TINY, blocks_on_flash, directory, url};
use crate::support::is_soak;
use saker::{Block, Lost, NamespacePlan, Piece, Salvaged, repair_image};
use saker_sim::Seed;
use std::collections::BTreeMap;

const BYTES: usize = 512;

type Blocks = BTreeMap<u64, Vec<u8>>;

fn content(lba: u64, version: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    Seed(version).index(lba).rng().fill(&mut bytes);
    bytes
}

/// Writes and trims.
fn fill(image: &mut Image, closed: bool) -> Blocks {
    let mut disk = Block::open(&url(&image.path, "&nsid=2")).expect("opens");
    let (mut model, mut rng) = (Blocks::new(), Seed(3).rng());
    for n in 0..1500 {
        let lba = rng.below(400);
        if rng.below(6) == 0 {
            disk.trim(lba, 3).expect("trims");
            (lba..lba + 3).for_each(|lba| drop(model.remove(&lba)));
        } else {
            disk.write(lba, &content(lba, n)).expect("writes");
            model.insert(lba, content(lba, n));
        }
    }
    disk.flush().expect("flushes");
    if closed {
        disk.close().expect("closes");
    } else {
        drop(disk);
    }
    image.learn();
    model
}

fn look(image: &Image, model: &Blocks, with_repair: bool) -> Result<(usize, bool), String> {
    let salvaged = Salvaged::open(&image.path).map_err(|e| e.to_string())?;
    let mut found = Blocks::new();
    let losses = salvaged.walk(2, &mut |piece| {
        if let Piece::Blocks(lba, bytes) = piece {
            found.insert(lba, bytes.to_vec());
        }
        Ok::<_, saker::Error>(())
    });
    let losses = losses.map_err(|e| e.to_string())?;
    if !losses.unknown.is_empty() {
        return if found.is_empty() { Ok((0, true)) } else { Err("what may be old is given out".into()) };
    }
    for (lba, bytes) in &found {
        if model.get(lba) != Some(bytes) {
            return Err(format!("block {lba} is wrong"));
        }
    }
    for lba in model.keys().filter(|lba| !found.contains_key(lba)) {
        if !losses.lost.contains(&Lost::Block(*lba)) {
            return Err(format!("block {lba} is lost and not named"));
        }
    }
    if with_repair {
        repaired(image, &found)?;
    }
    Ok((losses.lost.len(), false))
}

fn repaired(image: &Image, found: &Blocks) -> Result<(), String> {
    let dir = directory();
    let new = dir.path().join("new.img");
    repair_image(&image.path, &new, &mut |_| {}).map_err(|e| e.to_string())?;
    let mut disk = Block::open(&url(&new, "&nsid=2")).map_err(|e| e.to_string())?;
    for lba in 0..500 {
        let mut bytes = vec![0; BYTES];
        disk.read(lba, &mut bytes).map_err(|e| e.to_string())?;
        let held = found.get(&lba).cloned().unwrap_or(vec![0; BYTES]);
        if bytes != held {
            return Err(format!("block {lba} of the repaired image is wrong"));
        }
    }
    Ok(())
}

#[test]
fn a_changed_byte_costs_a_block() {
    costs_a_block(NamespacePlan::Block { bytes: Some(1 << 20), block_bytes: 512 });
}

/// Translation pages are made of what pages of blocks say, so a changed byte in one of them costs none.
#[test]
fn a_changed_byte_costs_a_block_whose_map_is_on_flash() {
    costs_a_block(blocks_on_flash(1 << 20));
}

fn costs_a_block(blocks: NamespacePlan) {
    for closed in [true, false] {
        let recipe = Recipe { image_bytes: 32 << 20, writes: 100, ..TINY };
        let mut image = Image::with_blocks_as(&recipe, blocks);
        let model = fill(&mut image, closed);
        assert_eq!(look(&image, &model, true), Ok((0, false)), "unharmed");
        let (mut rng, mut wrong, mut lossy, mut uncertain) = (Seed(1).rng(), Vec::new(), 0, 0);
        let flips = if is_soak() { 5_000 } else { 100 };
        for n in 0..flips {
            let (at, mask) = (image.aim(&mut rng), rng.below(255) as u8 + 1);
            image.put_byte(at, image.byte(at) ^ mask);
            match look(&image, &model, n % 25 == 0) {
                Ok((lost @ 0..=1, is_uncertain)) => {
                    lossy += lost;
                    uncertain += usize::from(is_uncertain);
                }
                Ok((lost, _)) => wrong.push(format!("byte {at:#x} ^ {mask:#x}: {lost} blocks are lost")),
                Err(what) => wrong.push(format!("byte {at:#x} ^ {mask:#x}: {what}")),
            }
            image.put_byte(at, image.byte(at));
        }
        println!("block: {flips} flips, {lossy} with a loss, {uncertain} uncertain");
        assert!(wrong.is_empty(), "{} of {flips}: {wrong:#?}", wrong.len());
        assert!(lossy > 0 && uncertain * 100 <= flips);
    }
}
