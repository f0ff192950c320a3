// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories against a model.

use crate::bench::{Bench, LEAST, Terms};
use saker_sim::{Rng, Seed};
use saker_testing::{seeds, tier};

/// What blocks may hold: what they held at the last flush, and what they were given since. The last one is what they hold now.
pub struct Model {
    may: Vec<Vec<u32>>,
}

impl Model {
    pub fn new(blocks: u64) -> Self {
        Self { may: vec![vec![0]; blocks as usize] }
    }

    pub fn give(&mut self, first: u64, blocks: u64, stamp: u32) {
        self.may[first as usize..(first + blocks) as usize].iter_mut().for_each(|may| may.push(stamp));
    }

    pub fn now(&self) -> Vec<u32> {
        self.may.iter().map(|may| may[may.len() - 1]).collect()
    }

    /// Nothing older can come back. `unsure`: what was under way may have come or not.
    pub fn flushed(&mut self) {
        self.may.iter_mut().for_each(|may| drop(may.drain(..may.len() - 1)));
    }

    /// After a cut: what was found is what there is.
    pub fn accept(&mut self, seen: &[u32], lasts: bool, under_way: &[(u64, u64)], why: &str) {
        for (lba, (may, seen)) in self.may.iter_mut().zip(seen).enumerate() {
            let is_open = under_way.iter().any(|(first, n)| (*first..first + n).contains(&(lba as u64)));
            let kept = if lasts { may.len() - 1 - usize::from(is_open && may.len() > 1) } else { 0 };
            assert!(
                may[kept..].contains(seen),
                "block {lba} holds {seen} and not one of {:?}: {why}",
                &may[kept..]
            );
            *may = vec![*seen];
        }
    }
}

/// An operation on both; false: power was cut in it. Then it is noted in the model, and what it touched is told.
pub fn operate(
    bench: &mut Bench,
    model: &mut Model,
    rng: &mut Rng,
    stamp: u32,
    open: &mut Vec<(u64, u64)>,
) -> bool {
    let blocks = bench.terms.config().blocks;
    let hot = if rng.below(3) == 0 { blocks } else { blocks / 8 };
    let first = rng.below(hot);
    open.clear();
    let is_done = match rng.below(24) {
        0 => {
            let ranges: Vec<_> = (0..1 + rng.below(3))
                .map(|_| {
                    let first = rng.below(blocks);
                    (first, (1 + rng.below(70)).min(blocks - first))
                })
                .collect();
            open.clone_from(&ranges);
            ranges.iter().for_each(|(first, n)| model.give(*first, *n, 0));
            bench.trim(&ranges)
        }
        1 => bench.flush().map(|()| model.flushed()),
        2 => {
            let n = 1 + rng.below(12.min(blocks - first));
            return bench.read(first, n as u32).is_none_or(|seen| {
                assert_eq!(seen, model.now()[first as usize..(first + n) as usize]);
                true
            });
        }
        3..=6 => {
            bench.settle();
            bench.background();
            Some(())
        }
        kind => {
            let n = if kind < 12 { 1 + rng.below(8.min(blocks - first)) } else { 1 };
            open.push((first, n));
            model.give(first, n, stamp);
            bench.write(first, n as u32, stamp)
        }
    };
    is_done.is_some() && bench.flash.is_powered()
}

#[test]
fn a_map_on_flash_gives_back_what_was_written() {
    for (seed, is_timed) in seeds(tier(6, 60)).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut rng = Seed(seed).child("history").rng();
        let cache = LEAST * (1 + rng.below(6));
        let mut bench = Bench::new(Terms { is_timed, ring_lasts: seed % 2 == 0, ..Terms::new(cache) });
        let (mut model, mut open) = (Model::new(bench.terms.config().blocks), Vec::new());
        for n in 1..2500 {
            assert!(operate(&mut bench, &mut model, &mut rng, n, &mut open));
            if n % 64 == 0 {
                bench.check();
            }
        }
        assert_eq!(bench.all(), model.now(), "seed {seed}, timed: {is_timed}");
        bench.rest();
        bench.check();
        assert_eq!(bench.all(), model.now(), "seed {seed}, timed: {is_timed}, at rest");
        let stats = bench.map.stats();
        let t = stats.translation;
        let counts = [t.hits, t.misses, t.evictions, t.translation_reads, t.translation_writes, t.batched];
        assert!(counts.iter().all(|count| *count > 0) && stats.gc_segments > 0, "{stats:?}");
        assert!(t.batched > t.translation_writes, "a translation page is written for several entries: {t:?}");
        bench.flush();
        assert_eq!(bench.restarted(seed, 0).all(), model.now(), "seed {seed}, timed: {is_timed}, restarted");
    }
}
