// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of one key at two hash indexes: the newer one counts ([`twice`](crate::hash_ftl::twice)).
//!
//! At most one of them is at the first hash index of the key, so the others are among the displaced, and what is before such a one on its way is
//! compared with it: first checksums of keys, which recovery remembers, then the keys.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::winners::{Displaced, Winner};
use super::{Phase, Recovery, is_pair};
use saker_log::recover::{Damage, Progress};
use saker_segment_store::{SegmentStore, Step, ready};

/// Displaced pairs a step compares.
const STEP_DISPLACED: usize = 4096;

/// A pair, and its hash index.
type Placed = (u64, Winner);

impl Recovery {
    /// Compares displaced pairs from `next` on with those on their ways.
    pub(super) fn compare_some<M: SegmentStore>(
        &mut self,
        next: usize,
        m: &M,
    ) -> Step<Result<Progress, Damage>> {
        let some: Vec<Displaced> = self.displaced.iter().skip(next).take(STEP_DISPLACED).copied().collect();
        for (n, d) in some.iter().enumerate() {
            // Should pages be missing.
            self.phase = Phase::Compare(next + n);
            ready!(self.compare(d, m));
        }
        self.phase = Phase::Compare(next + some.len());
        if some.is_empty() {
            self.end_of_comparing();
        }
        Step::Done(Ok(Progress::More))
    }

    fn compare<M: SegmentStore>(&mut self, d: &Displaced, m: &M) -> Step<()> {
        let Some(own) = self.pair_of(d) else { return Step::Done(()) };
        for n in 0..self.store.probe.distance(d.home, d.slot).unwrap_or(0) {
            let slot = self.store.probe.slot(d.home, n);
            let Some(other) = self.pair_at(slot).filter(|other| other.key() == own.key()) else { continue };
            if !ready!(self.have_one_key(own, other, m)) {
                continue;
            }
            if own.version() < other.version() {
                self.leave_out((d.slot, own));
                break;
            }
            self.leave_out((slot, other));
        }
        Step::Done(())
    }

    /// The needed pair at a hash index.
    fn pair_at(&self, slot: u64) -> Option<Winner> {
        let (id, offset) = self.store.table.split(slot);
        self.winners.get(id as usize, offset).filter(|winner| is_pair(*winner))
    }

    /// A displaced record, if it is a pair that is needed.
    pub(super) fn pair_of(&self, d: &Displaced) -> Option<Winner> {
        self.pair_at(d.slot).filter(|pair| pair.version() == d.version)
    }

    /// A record that cannot be read is damaged, and named elsewhere.
    fn have_one_key<M: SegmentStore>(&self, one: Winner, other: Winner, m: &M) -> Step<bool> {
        match (self.store.key_at(one.grain(), m), self.store.key_at(other.grain(), m)) {
            (Step::Done(one), Step::Done(other)) => Step::Done(one.is_ok() && one == other),
            // The one that is here may be gone when the other one comes.
            _ => Step::Need([one, other].map(|pair| self.store.page_of_grain(pair.grain()).0).to_vec()),
        }
    }

    /// A pair is not needed, though flash says nothing else.
    fn leave_out(&mut self, (slot, pair): Placed) {
        let (id, offset) = self.store.table.split(slot);
        self.winners.clear(id as usize, offset);
        self.store.count_dead(slot, pair.grain(), pair.grains());
        self.store.stats.pairs -= 1;
        self.store.stats.pair_bytes -= pair.pair_bytes();
        self.left_out.insert(id);
    }
}

#[cfg(test)]
mod tests {
    use crate::hash_ftl::HashFtlConfig;
    use crate::hash_ftl::bench::{Bench, G, OWNER};
    use saker_flash::FaultPlan;
    use saker_sim::Chance;

    const OLD: [u8; 40] = [1; 40];
    const NEW: [u8; 40] = [2; 40];

    fn configs() -> [HashFtlConfig; 4] {
        let original = HashFtlConfig::original(OWNER, &G, G.segments, false, 128);
        let plus = HashFtlConfig::plus(OWNER, &G, G.segments, false);
        [
            original,
            plus,
            // Pairs that are displaced leave sections of eight.
            HashFtlConfig { layout: original.layout, ..plus },
            HashFtlConfig { doubles_at_percent: Some(80), ..original },
        ]
    }

    /// Three keys: two of one home, the last of its section, and one of the section behind it, in which the second would get its place. (A table
    /// that doubles displaces within a section.)
    fn three(config: HashFtlConfig) -> [u64; 3] {
        let store = Bench::new(config).store;
        let home = |key: u64| store.probe.home(&key.to_be_bytes());
        let last = u64::from(store.table.section_slots) - 1;
        let behind = |key| home(key).is_some_and(|home| (last + 2..last * 2).contains(&home));
        let mut at_last = (0..).filter(|key| home(*key) == Some(last));
        let (first, second) = (at_last.next().expect("one"), at_last.next().expect("another"));
        [first, second, (0..).find(|key| behind(*key)).expect("a third")]
    }

    /// What was done before a cut.
    #[derive(Clone, Copy, Debug)]
    enum Way {
        /// A pair that had been displaced was stored at its home.
        Home,
        /// A pair that had been at its home was displaced.
        Away,
    }

    /// The second of two keys changes its place. The page that says why could not be programmed, that with the new pair could. Whether a cut
    /// left both pairs.
    fn cut(config: HashFtlConfig, way: Way, seed: u64) -> Option<Bench> {
        let [first, second, third] = three(config);
        let mut bench = Bench::new(config);
        bench.put(third, &OLD);
        bench.evict();
        if let Way::Home = way {
            bench.put(first, &OLD);
        }
        bench.put(second, &OLD);
        bench.flush();
        bench.restart(seed, FaultPlan { seed, program: Chance::one_in(2), ..FaultPlan::default() });
        bench.delete(second);
        match way {
            Way::Home => bench.delete(first),
            Way::Away => bench.put(first, &OLD),
        }
        bench.flush();
        bench.put(second, &NEW);
        bench.flush();
        bench.restart(seed, FaultPlan::default());
        bench.store.twice.holds_up_deletes().then_some(bench)
    }

    fn found_twice(config: HashFtlConfig, way: Way) -> Vec<Bench> {
        let found: Vec<Bench> = (0..64).filter_map(|seed| cut(config, way, seed)).collect();
        assert!(found.len() > 3, "{config:?}, {way:?}: {}", found.len());
        found
    }

    #[test]
    fn the_newer_pair_of_a_key_counts_and_is_listed_once() {
        for config in configs() {
            let [_, second, _] = three(config);
            for way in [Way::Home, Way::Away] {
                for mut bench in found_twice(config, way) {
                    assert_eq!(bench.get(second).as_deref(), Some(&NEW[..]), "{config:?}, {way:?}");
                    let keys = bench.keys();
                    let times = keys.iter().filter(|key| **key == second).count();
                    assert_eq!(times, 1, "{config:?}, {way:?}: {keys:?}");
                }
            }
        }
    }

    /// What is written to a hash index behind a tombstone makes that forgotten. The page with the section of the older pair may fail.
    #[test]
    fn the_older_pair_does_not_come_back_when_the_newer_one_is_deleted() {
        for config in configs() {
            let [first, second, _] = three(config);
            let mut deleted = 0;
            for (found, seed) in found_twice(config, Way::Home).iter().zip((0..).step_by(16)) {
                for seed in seed..seed + 16 {
                    let mut bench = found.clone();
                    bench.restart(
                        seed,
                        FaultPlan { seed, program: Chance::one_in(3), ..FaultPlan::default() },
                    );
                    if seed % 2 == 0 {
                        bench.delete(second)
                    } else {
                        bench.delete_together(second)
                    }
                    bench.put(first, &NEW);
                    bench.flush();
                    bench.restart(seed, FaultPlan::default());
                    let left = bench.get(second);
                    assert!(left.as_deref().is_none_or(|left| left == NEW), "{config:?}, {seed}: {left:?}");
                    assert_eq!(bench.keys().contains(&second), left.is_some(), "{config:?}, {seed}");
                    deleted += u32::from(left.is_none());
                }
            }
            assert!(deleted > 50, "{config:?}: {deleted}");
        }
    }
}
