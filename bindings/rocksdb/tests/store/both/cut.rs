// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power is cut at a random program or erase, again and again: of each key the store has what was flushed last, or something newer.

use super::super::{seed, tier};
use super::history::Told;
use super::{Rng, add, image, image_with, stop};
use saker::Kv;
use saker_hybrid::planted::{Fault, plant};
use std::collections::BTreeMap;
use std::path::Path;

const KEYS: u64 = 60;

/// Of each key what it may be: what was flushed last, and what was written since then. `None`: nothing.
type May = BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>;

fn key(n: u64) -> Vec<u8> {
    format!("key{n:02}").into_bytes()
}

/// Writes until power has gone, or so often.
fn live(kv: &mut Kv, may: &mut May, rng: &mut Rng, writes: u64) -> bool {
    for n in 0..writes {
        stop(rng.below(8) < 3);
        let key = key(rng.below(KEYS));
        let value = (rng.below(4) > 0).then(|| {
            let mut value = vec![rng.next() as u8; 8 + rng.below(3000) as usize];
            value[..8].copy_from_slice(&rng.next().to_le_bytes());
            value
        });
        let done = match &value {
            Some(value) => kv.put(&key, value).is_ok(),
            None => kv.delete(&key).is_ok(),
        };
        // One that failed may have taken place.
        may.entry(key).or_insert_with(|| vec![None]).push(value);
        if !done {
            return true;
        }
        if n % 40 == 39 {
            stop(false);
            match kv.flush() {
                Ok(()) => may.values_mut().for_each(|values| _ = values.drain(..values.len() - 1)),
                Err(_) => return true,
            }
        }
    }
    false
}

/// What is there is what may be, and is known from now on.
fn look(kv: &mut Kv, may: &mut May) -> Told {
    for n in 0..KEYS {
        let key = key(n);
        let (found, known) =
            (kv.get(&key).map_err(|why| why.to_string())?, may.entry(key).or_insert_with(|| vec![None]));
        if !known.contains(&found) {
            let told = |value: &Option<Vec<u8>>| value.as_ref().map(|value| value[..8].to_vec());
            return Err(format!(
                "key {n}: {:?}, and not of {:?}",
                told(&found),
                known.iter().map(told).collect::<Vec<_>>()
            ));
        }
        *known = vec![found];
    }
    Ok(())
}

/// So many lives of an image; how many ended with a cut, and copies that were in the device at openings.
fn lives(made: fn(&Path) -> String, seed: u64, lives: u64) -> Result<(u64, u64), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, mut may, mut rng) = (made(folder.path()), May::new(), Rng(seed));
    let (mut cuts, mut copies) = (0, 0);
    for _ in 0..lives {
        let cut = format!("{url}&fault.cut={}", 20 + rng.below(1500));
        // Power may go before it is open.
        if let Ok(mut kv) = Kv::open(&cut) {
            cuts += u64::from(live(&mut kv, &mut may, &mut rng, 1500));
        }
        stop(true);
        let mut kv = Kv::open(&url).map_err(|why| format!("it does not open: {why}"))?;
        copies += super::counter(&mut kv, "metadata_keys");
        look(&mut kv, &mut may)?;
        stop(false);
        kv.close().map_err(|why| why.to_string())?;
    }
    Ok((cuts, copies))
}

/// So many lives lose nothing, and two of three end with a cut.
fn nothing_is_lost(made: fn(&Path) -> String, all: u64) {
    add();
    println!("replay: SAKER_SEED={}", seed());
    let (cuts, copies) = lives(made, seed(), all).unwrap();
    println!("{cuts} cuts, {copies} copies in the device at openings");
    assert!(cuts > all * 2 / 3 && copies > 0);
}

#[test]
fn what_was_flushed_is_there() {
    nothing_is_lost(image, tier(20, 300));
}

#[test]
fn what_was_flushed_is_there_without_a_capacitor() {
    nothing_is_lost(volatile, tier(10, 150));
}

#[test]
fn an_old_value_that_counts_is_found() {
    add();
    plant(Some(Fault::OldValueBack));
    let found = (seed()..seed() + 6).find_map(|seed| lives(image, seed, 10).err());
    plant(None);
    stop(false);
    println!("{found:?}");
    assert!(found.is_some());
}

/// An image of a device without a capacitor: a cut takes what was written last to either namespace and was not flushed, RocksDB's log too.
fn volatile(folder: &Path) -> String {
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/tiny.toml");
    let tiny = std::fs::read_to_string(profiles).expect("it is there");
    let (with, without) = ("capacitor = { value = true", "capacitor = { value = false");
    assert!(tiny.contains(with), "the profile says it so");
    let profile = folder.join("volatile.toml");
    let text = tiny.replace(with, without).replace("name = \"tiny\"", "name = \"volatile\"");
    std::fs::write(&profile, text).expect("written");
    image_with(folder, &profile.display().to_string())
}
