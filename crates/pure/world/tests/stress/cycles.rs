// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Filling and deleting over and over: whatever was deleted can be stored again, also after a reopening.

use crate::stress::pairs::{get, put, remove};
use crate::stress::rig::{self, BLOCK, BLOCK_BYTES, KV, Machine, Rig, power_on};
use crate::stress::tier;
use saker_assembly::Build;
use saker_flash::PowerCut;
use saker_host::RawData;
use saker_nvme::nvm::{self, BlockRange, DsmRange};
use saker_nvme::{Key, NSID_ALL, Status};
use saker_segment_store::PowerHistory;
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};
use std::collections::BTreeMap;
use zerocopy::IntoBytes;

/// Bytes of a record besides key and value, padding included.
const RECORD_BYTES_MAX: u64 = 24 + 7;

/// Values by their size in bytes.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    /// All empty: a tombstone takes as much room as its pair.
    Empty,
    /// Up to this size, short ones as often as long ones.
    UpTo(u32),
}

impl Sizes {
    fn choose(self, rng: &mut Rng) -> u32 {
        match self {
            Self::Empty => 0,
            Self::UpTo(most) => {
                let most = most >> rng.below(8);
                rng.below(u64::from(most) + 1) as u32
            }
        }
    }
}

/// A KV namespace and what it must hold.
struct Full<D> {
    rig: Rig<D>,
    build: Build,
    sizes: Sizes,
    rng: Rng,
    pairs: BTreeMap<u32, (u32, u8)>,
}

fn key(n: u32) -> Key {
    let text = format!("{n:05}");
    Key::new(&text.as_bytes().repeat(4)[..5 + n as usize % 12]).expect("5 to 16 bytes")
}

fn value(n: u32, (bytes, round): (u32, u8)) -> Vec<u8> {
    let run: [u8; 256] = std::array::from_fn(|at| (at as u8).wrapping_mul(31) ^ n as u8 ^ round);
    let mut value = run.repeat(bytes as usize / run.len());
    value.extend_from_slice(&run[..bytes as usize % run.len()]);
    value
}

impl<D: Machine> Full<D> {
    fn new(build: Build, sizes: Sizes, seed: u64) -> Self {
        let rng = Seed(seed).child("full").rng();
        Self { rig: Rig::new(&build), build, sizes, rng, pairs: BTreeMap::new() }
    }

    fn store(&mut self, n: u32, bytes: u32, round: u8) -> Status {
        let status = put(&mut self.rig, &key(n), &value(n, (bytes, round)));
        if status.is_success() {
            self.pairs.insert(n, (bytes, round));
        }
        status
    }

    /// Stores new pairs until the first is refused. Gives the bytes stored in all.
    fn fill(&mut self, round: u8) -> u64 {
        for n in 0..60_000 {
            if self.pairs.contains_key(&n) {
                continue;
            }
            let bytes = self.sizes.choose(&mut self.rng);
            let status = self.store(n, bytes, round);
            if !status.is_success() {
                assert!(status.is(Status::CAPACITY_EXCEEDED), "{status}");
                return self.pairs.values().map(|(bytes, _)| u64::from(*bytes) + RECORD_BYTES_MAX + 16).sum();
            }
        }
        panic!("it must be full at some time");
    }

    fn delete(&mut self, n: u32) -> u32 {
        let status = remove(&mut self.rig, &key(n));
        assert!(status.is_success(), "a full device deletes: {status}");
        self.pairs.remove(&n).expect("it was there").0
    }

    fn any(&mut self) -> u32 {
        let nth = self.rng.below(self.pairs.len() as u64) as usize;
        *self.pairs.keys().nth(nth).expect("fewer than there are")
    }

    /// Deletes some pairs; one that is not longer than the longest of them is stored. (A longer one than all
    /// before may need more: segments are then left with longer ends that nothing fits in.)
    fn exchange(&mut self, round: u8) {
        let (mut longest, mut one) = (0, 0);
        for _ in 0..=self.rng.below(4) {
            if self.pairs.len() > 1 {
                let n = self.any();
                longest = self.delete(n).max(longest);
                one = n;
            }
        }
        let bytes = longest - self.rng.below(u64::from(longest) / 2 + 1) as u32;
        let status = self.store(one, bytes, round);
        assert!(status.is_success(), "{bytes} of {longest} deleted bytes cannot be stored again: {status}");
    }

    fn verify(&mut self) {
        for (n, pair) in self.pairs.clone() {
            assert!(get(&mut self.rig, &key(n), 32 << 10) == value(n, pair), "pair {n}: {pair:?}");
        }
    }

    fn cycle(&mut self, round: u8) -> u64 {
        let bytes = self.fill(round);
        for _ in 0..30 {
            self.exchange(round);
        }
        self.verify();
        // All of it, or about half.
        let all = self.rng.below(2) == 0;
        for n in self.pairs.keys().copied().collect::<Vec<_>>() {
            if all || self.rng.below(2) == 0 {
                self.delete(n);
            }
        }
        bytes
    }

    /// Cycles in which not much less fits than in the first one.
    fn cycles(&mut self, count: u8, mut between: impl FnMut(&mut Self)) {
        let first = self.cycle(0);
        for round in 1..count {
            between(self);
            let bytes = self.cycle(round);
            assert!(bytes > first / 10 * 7, "round {round}: {bytes} bytes fit, {first} did at first");
        }
    }
}

impl Full<Clocked> {
    /// Power is cut, or the process is killed; then it goes on.
    fn reopen(&mut self, seed: u64) {
        let status = self.rig.call(KV, nvm::flush(NSID_ALL), RawData::Untouched).status;
        assert!(status.is_success(), "{status}");
        let kept = self.build.config.capacitor;
        let (mut media, ring) = self.rig.machine.0.flash().cut(PowerCut { seed, ring_kept: kept });
        media.set_history(PowerHistory::Cut { ring_kept: kept });
        self.rig = power_on(&self.build, media, &ring, |_| {});
        self.verify();
        self.rig.machine.rest();
        // Two namespaces with three append points each.
        let ring = self.rig.machine.0.flash().page_buffer();
        assert!(ring.free_slots() + 6 >= usize::from(ring.slots()), "slots that recovery programs come back");
    }
}

fn all_shapes(run: impl Fn(Build, Sizes, u64)) {
    for seed in saker_testing::seeds(tier(2, 12)) {
        for capacitor in [true, false] {
            for (n, sizes) in
                [Sizes::Empty, Sizes::UpTo(64), Sizes::UpTo(900), Sizes::UpTo(16_000)].into_iter().enumerate()
            {
                let build =
                    if seed % 2 == 0 { rig::small(capacitor, seed) } else { rig::roomy(capacitor, seed) };
                println!("seed {seed}, capacitor {capacitor}, {sizes:?}");
                run(build, sizes, seed * 10 + n as u64);
            }
        }
    }
}

#[test]
fn what_was_deleted_can_be_stored_again_inline() {
    all_shapes(|build, sizes, seed| Full::<Inline>::new(build, sizes, seed).cycles(tier(4, 20), |_| {}));
}

#[test]
fn what_was_deleted_can_be_stored_again_in_virtual_time_and_after_a_cut() {
    all_shapes(|build, sizes, seed| {
        let mut cuts = 0;
        Full::<Clocked>::new(build, sizes, seed).cycles(tier(3, 12), |full| {
            cuts += 1;
            full.reopen(seed ^ cuts);
        });
    });
}

/// What a block namespace must hold: a byte that fills each block, 0 where there is none.
struct Blocks<D> {
    rig: Rig<D>,
    rng: Rng,
    fills: Vec<u8>,
}

impl<D: Machine> Blocks<D> {
    fn new(build: &Build, seed: u64) -> Self {
        let fills = vec![0; rig::blocks(build) as usize];
        Self { rig: Rig::new(build), rng: Seed(seed).child("blocks").rng(), fills }
    }

    fn range(&mut self, most: u64) -> BlockRange {
        let blocks = 1 + self.rng.below(most);
        BlockRange { slba: self.rng.below(self.fills.len() as u64 - blocks + 1), blocks: blocks as u32 }
    }

    fn write(&mut self, range: BlockRange) {
        let fill = 1 + self.rng.below(255) as u8;
        let data = vec![fill; (range.blocks * BLOCK_BYTES) as usize];
        let status = self
            .rig
            .call(BLOCK, nvm::write(BLOCK, range, false).expect("blocks"), RawData::ToDevice(&data))
            .status;
        assert!(status.is_success(), "a full block namespace is written: {status}");
        self.fills[range.slba as usize..][..range.blocks as usize].fill(fill);
    }

    fn trim(&mut self, range: BlockRange) {
        let ranges = DsmRange::new(range.slba, range.blocks);
        let sqe = nvm::deallocate(BLOCK, 1).expect("one range");
        let status = self.rig.call(BLOCK, sqe, RawData::ToDevice(ranges.as_bytes())).status;
        assert!(status.is_success(), "a full block namespace is trimmed: {status}");
        self.fills[range.slba as usize..][..range.blocks as usize].fill(0);
    }

    fn fill(&mut self) {
        for slba in 0..self.fills.len() as u64 {
            self.write(BlockRange { slba, blocks: 1 });
        }
    }

    fn verify(&mut self) {
        for (slba, fill) in self.fills.clone().into_iter().enumerate() {
            let range = BlockRange { slba: slba as u64, blocks: 1 };
            let answer = self.rig.call(
                BLOCK,
                nvm::read(BLOCK, range, false).expect("a block"),
                RawData::FromDevice(BLOCK_BYTES),
            );
            assert!(answer.status.is_success() && answer.data.iter().all(|b| *b == fill), "block {slba}");
        }
    }

    fn flush(&mut self) {
        let status = self.rig.call(BLOCK, nvm::flush(BLOCK), RawData::Untouched).status;
        assert!(status.is_success(), "{status}");
    }

    /// Far more records of trims than the namespace has blocks.
    fn wear(&mut self, operations: u32) {
        self.fill();
        for n in 0..operations {
            let range = self.range(8);
            match self.rng.below(20) {
                0..9 => self.write(range),
                9..19 => self.trim(range),
                _ if n % 4 == 0 => self.flush(),
                _ => {}
            }
        }
        self.fill();
        (0..operations).for_each(|_| {
            let one = self.range(1);
            self.trim(one);
        });
        self.fill();
        self.verify();
    }
}

#[test]
fn a_full_block_namespace_is_written_and_trimmed_for_ever() {
    for seed in saker_testing::seeds(tier(2, 20)) {
        for capacitor in [true, false] {
            let build = rig::small(capacitor, seed);
            Blocks::<Inline>::new(&build, seed).wear(3000);
            Blocks::<Clocked>::new(&build, seed).wear(1500);
        }
    }
}
