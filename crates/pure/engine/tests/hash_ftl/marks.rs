// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words out of band of a page that still fills in the page buffer: no checksum but those of its records covers them.

use crate::hash_ftl::rig::{Bench, Model, OWNER, variants};
use saker_engine::hash_ftl::recover::Recovery;
use saker_engine::{Condition, Progress, Recover};
use saker_flash::{FaultPlan, Flash};
use saker_segment_store::header::HEADER_BYTES;
use saker_segment_store::{PageBuffer, PowerHistory, SlotId, Step};
use saker_sim::Class;

/// Tables of which every place is on the way of every key, and of which most are not.
const SIZES: [u32; 2] = [64, 512];
const WORD: usize = 8;

/// A store some records of which are in a page that fills.
fn filling(variant: usize, segments: u32) -> (Bench, Model) {
    let config = variants(segments, true).swap_remove(variant);
    let (mut bench, mut model) = (Bench::new(config, segments, FaultPlan::default()), Model::new());
    for n in 0..11_u8 {
        let (key, value) = ([n, 7, n], [n; 90]);
        bench.put(&key, &value, Condition::Always).expect("there is room");
        model.insert(key.to_vec(), value.to_vec());
    }
    (bench, model)
}

/// Whether a store is opened that finds the page buffer changed; if so it has all pairs.
fn opens_whole(bench: &Bench, model: &Model, change: impl Fn(&mut PageBuffer)) -> bool {
    let (media, mut page_buffer) = bench.cut(PowerHistory::Killed, 1);
    change(&mut page_buffer);
    let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
    let segments = flash.shape().geometry.segments;
    flash.pool_mut().set_quota(OWNER, segments);
    let mut recovery = Recovery::new(bench.config, &flash.view(OWNER, Class::Foreground));
    loop {
        match recovery.step(&mut flash.view(OWNER, Class::Foreground)) {
            Step::Done(Ok(Progress::Finished)) => break,
            Step::Done(Ok(Progress::More)) => {}
            Step::Done(Err(_)) => return false,
            other => panic!("{other:?}"),
        }
    }
    let mut opened = Bench { flash, store: recovery.finish(), config: bench.config, quanta: 0 };
    opened.settle();
    opened.check(model);
    true
}

/// The words of the page that fills: its slot, and where they are in the owner's out-of-band bytes.
fn words(bench: &Bench) -> (SlotId, Vec<usize>) {
    let oob_bytes = bench.flash.shape().geometry.oob_bytes as usize;
    let (slot, view) = *bench.flash.page_buffer().survey().expect("sound").last().expect("a page fills");
    let words = &bench.flash.page_buffer().oob(slot)[HEADER_BYTES..oob_bytes];
    let used = (0..words.len()).step_by(WORD).filter(|at| words[*at..][..WORD] != [0; WORD]);
    let used: Vec<usize> = used.collect();
    assert!(used.len() > 1, "records in page {}", view.addr.0);
    (slot, used)
}

/// A changed word is damage, unless every pair is still found.
#[test]
fn changed_words_of_a_page_that_fills_lose_no_pair_in_silence() {
    for (variant, segments) in (0..variants(64, true).len()).flat_map(|v| SIZES.map(|n| (v, n))) {
        let (bench, model) = filling(variant, segments);
        assert!(opens_whole(&bench, &model, |_| {}), "as it was left");
        let (slot, used) = words(&bench);
        for at in used {
            let gone = opens_whole(&bench, &model, |page_buffer| {
                page_buffer.owner_oob_mut(slot)[at..][..WORD].fill(0);
            });
            assert!(!gone, "variant {variant}, {segments} segments: the word at {at} is zero");
            for bit in 0..8 * WORD {
                println!("variant {variant}, {segments} segments, word at {at}, bit {bit}");
                opens_whole(&bench, &model, |page_buffer| {
                    page_buffer.owner_oob_mut(slot)[at + bit / 8] ^= 1 << (bit % 8);
                });
            }
        }
    }
}

/// Earlier programs wrote no check.
#[test]
fn words_without_a_check_are_read() {
    for variant in 0..variants(64, true).len() {
        let (bench, model) = filling(variant, 64);
        let (slot, used) = words(&bench);
        let whole = opens_whole(&bench, &model, |page_buffer| {
            for at in &used {
                let word = &mut page_buffer.owner_oob_mut(slot)[*at..][..WORD];
                (word[6], word[7]) = (word[6] & 3, 0);
            }
        });
        assert!(whole, "variant {variant}");
    }
}
