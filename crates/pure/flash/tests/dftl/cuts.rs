// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power cuts at media operations, of the recovery that follows too.

use crate::bench::{Bench, LEAST, OWNER, Terms};
use crate::history::{Model, operate};
use saker_flash::FaultPlan;
use saker_sim::{Class, Rng, Seed};
use saker_testing::{seeds, tier};

/// Operations of a history, and those behind its recovery.
const OPERATIONS: u32 = 700;
const OPERATIONS_AFTER: u32 = 150;

/// What is done until power is cut; what was under way then is told. True: it came to its end.
type History = fn(&mut Bench, &mut Model, &mut Rng, &mut Vec<(u64, u64)>) -> bool;

fn anything(bench: &mut Bench, model: &mut Model, rng: &mut Rng, open: &mut Vec<(u64, u64)>) -> bool {
    (1..OPERATIONS).all(|n| operate(bench, model, rng, n, open))
}

/// All blocks, then single ones of the first half, each in another translation page than the one before, or anywhere: translation pages of the
/// second half are in the way of collections. Everything is flushed now and then.
fn overwrites(bench: &mut Bench, model: &mut Model, rng: &mut Rng, open: &mut Vec<(u64, u64)>) -> bool {
    let blocks = bench.terms.config().blocks;
    (0..3 * blocks).all(|n| {
        let (half, any) = (blocks / 2, rng.below(blocks / 2));
        let lba = if n < blocks {
            n
        } else if n % 4 == 0 {
            any
        } else {
            n * 17 % half
        };
        *open = vec![(lba, 1)];
        model.give(lba, 1, n as u32 + 1);
        let is_written = bench.write(lba, 1, n as u32 + 1).is_some() && bench.flash.is_powered();
        if is_written {
            open.clear();
            bench.look_after();
        }
        is_written
            && (n % 100 != 99
                || bench.flush().is_some_and(|()| {
                    model.flushed();
                    true
                }))
    })
}

/// Media operations until the end, or the cut, and those behind erases; true: power was cut.
fn run(history: History, terms: Terms, seed: u64, cut_at: u64) -> (u64, Vec<u64>, bool) {
    let mut rng = Seed(seed).child("cuts").rng();
    let faults = FaultPlan { cut_at, ..terms.faults };
    let mut bench = Bench::new(Terms { faults, ..terms });
    let (mut model, mut open) = (Model::new(terms.config().blocks), Vec::new());
    let is_whole = history(&mut bench, &mut model, &mut rng, &mut open);
    let why = format!("{terms:?}, seed {seed}, cut at {cut_at}");
    // The second cut is in what recovery programs, if there is so much.
    let recut = if cut_at.is_multiple_of(3) { 0 } else { 1 + cut_at % 5 };
    let mut after = bench.restarted(cut_at, recut);
    model.accept(&after.all(), terms.ring_lasts, &open, &why);
    for n in 0..OPERATIONS_AFTER {
        assert!(operate(&mut after, &mut model, &mut rng, 5 * OPERATIONS + n, &mut open), "{why}");
    }
    assert_eq!(after.all(), model.now(), "{why}");
    after.rest();
    after.map.begin_checkpoint(&mut after.flash.view(OWNER, Class::Background));
    after.rest();
    after.check();
    assert_eq!(after.flush(), Some(()));
    assert_eq!(after.restarted(cut_at, 0).all(), model.now(), "{why}, and restarted once more");
    (bench.flash.operations(), bench.behind_erases, !is_whole)
}

fn cut_everywhere(history: History, is_timed: bool, ring_lasts: bool, cuts_wanted: u64) {
    for seed in seeds(tier(2, 12)) {
        let terms = Terms { is_timed, ring_lasts, ..Terms::new(LEAST * (1 + seed % 3)) };
        let (operations, behind_erases, _) = run(history, terms, seed, 0);
        let step = if tier(true, false) { 1 + operations / cuts_wanted } else { 1 };
        let cuts = (1 + seed..operations).step_by(step as usize);
        let every = tier(1 + behind_erases.len() / cuts_wanted as usize, 1);
        let cuts = cuts.chain(behind_erases.into_iter().step_by(every));
        let cuts = cuts.filter(|cut_at| run(history, terms, seed, *cut_at).2).count();
        assert!(cuts > 20, "there are media operations to cut: {cuts} of {operations}");
    }
}

#[test]
fn a_cut_loses_nothing_that_was_acknowledged() {
    cut_everywhere(anything, false, true, 60);
}

#[test]
fn a_cut_with_operations_under_way_loses_nothing_that_was_acknowledged() {
    cut_everywhere(anything, true, true, 60);
}

#[test]
fn a_cut_that_takes_the_page_buffer_loses_nothing_that_was_flushed() {
    cut_everywhere(anything, false, false, 60);
}

#[test]
fn such_a_cut_with_operations_under_way_loses_nothing_that_was_flushed() {
    cut_everywhere(anything, true, false, 60);
}

#[test]
fn a_version_is_given_once_whatever_cuts_take() {
    for (seed, ring_lasts) in seeds(tier(4, 40)).flat_map(|seed| [(seed, true), (seed, false)]) {
        let mut rng = Seed(seed).child("versions").rng();
        let mut bench = Bench::new(Terms { ring_lasts, ..Terms::new(LEAST) });
        let (mut model, mut open) = (Model::new(bench.terms.config().blocks), Vec::new());
        for n in 0..40 {
            for k in 0..20 {
                assert!(operate(&mut bench, &mut model, &mut rng, 100 * n + k, &mut open));
            }
            bench.rest();
            bench = bench.restarted(u64::from(n), 0);
            model.accept(&bench.all(), ring_lasts, &[], "restarted");
            bench.check_versions();
        }
    }
}

#[test]
fn a_cut_of_a_full_namespace_loses_nothing() {
    for (is_timed, ring_lasts) in [(false, true), (false, false), (true, false)] {
        cut_everywhere(overwrites, is_timed, ring_lasts, 40);
    }
}
