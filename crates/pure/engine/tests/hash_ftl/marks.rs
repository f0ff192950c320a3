//! Words out of band of a page that still fills in the ring: no checksum but those of its records covers them.

use crate::rig::{Bench, Model, OWNER, shape, variants};
use saker_engine::Condition;
use saker_engine::hash_ftl::recover::Recovery;
use saker_flash::{FaultPlan, Flash, MemMedia};
use saker_medium::header::HEADER_BYTES;
use saker_medium::{PowerHistory, Ring, Step};
use saker_sim::Class;

/// A table so large that most of its places are not on the way of a key.
const SEGMENTS: u32 = 512;
const WORD: usize = 8;

/// A store some records of which are in a page that fills.
fn filling(variant: usize) -> (Bench, Model) {
    let config = variants(SEGMENTS, true).swap_remove(variant);
    let (mut bench, mut model) = (Bench::new(config, SEGMENTS, FaultPlan::default()), Model::new());
    for n in 0..11_u8 {
        let (key, value) = ([n, 7, n], [n; 90]);
        bench.put(&key, &value, Condition::Always).expect("there is room");
        model.insert(key.to_vec(), value.to_vec());
    }
    (bench, model)
}

/// Whether a store is opened that finds the ring changed; if so it has all pairs.
fn opens_whole(bench: &Bench, model: &Model, change: impl Fn(&mut Ring)) -> bool {
    let (media, mut ring) = bench.cut(PowerHistory::Killed, 1);
    change(&mut ring);
    let mut flash: Flash<MemMedia> = Flash::power_on(media, ring, None, FaultPlan::default());
    flash.pool_mut().set_quota(OWNER, SEGMENTS);
    let mut recovery = Recovery::new(bench.config, &flash.view(OWNER, Class::Foreground));
    loop {
        match recovery.step(&mut flash.view(OWNER, Class::Foreground)) {
            Step::Done(Ok(true)) => break,
            Step::Done(Ok(false)) => {}
            Step::Done(Err(_)) => return false,
            other => panic!("{other:?}"),
        }
    }
    let mut opened = Bench { flash, store: recovery.finish(), config: bench.config };
    opened.settle();
    opened.check(model);
    true
}

/// A changed word is damage, unless every pair is still found. That does not hold for tables so small that every place is on the
/// way of every key (4096 places, 64 segments): there one changed bit can hide a pair.
#[test]
fn changed_words_of_a_page_that_fills_lose_no_pair_in_silence() {
    let oob_bytes = shape(SEGMENTS).geometry.oob_bytes as usize;
    for variant in 0..variants(SEGMENTS, true).len() {
        let (bench, model) = filling(variant);
        assert!(opens_whole(&bench, &model, |_| {}), "as it was left");
        let (slot, view) = *bench.flash.ring().survey().expect("sound").last().expect("a page fills");
        let words = bench.flash.ring().oob(slot)[HEADER_BYTES..oob_bytes].to_vec();
        let used: Vec<usize> =
            (0..words.len() / WORD).filter(|n| words[n * WORD..][..WORD] != [0; WORD]).collect();
        assert!(used.len() > 1, "records in page {}", view.addr.0);
        for at in used {
            let gone = opens_whole(&bench, &model, |ring| {
                ring.owner_oob_mut(slot)[at * WORD..][..WORD].fill(0);
            });
            assert!(!gone, "variant {variant}: the word {at} is zero");
            for bit in 0..8 * WORD {
                println!("variant {variant}, word {at}, bit {bit}");
                opens_whole(&bench, &model, |ring| {
                    ring.owner_oob_mut(slot)[at * WORD + bit / 8] ^= 1 << (bit % 8);
                });
            }
        }
    }
}
