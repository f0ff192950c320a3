// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several threads on one block namespace, wherever it is: each has blocks of its own and knows what they hold.

use saker::SharedBlock;
use saker_sim::{Rng, Seed};

/// Threads.
pub const THREADS: u64 = 4;
/// Blocks that one call moves at most: more than a queue of a few commands takes.
const CALL_BLOCKS: u64 = 400;

/// What a thread wrote.
struct Own<'d> {
    disk: &'d SharedBlock,
    first: u64,
    bytes: Vec<u8>,
    rng: Rng,
}

impl Own<'_> {
    /// A block of these, and how many from there on.
    fn some(&mut self) -> (u64, u64) {
        let blocks = self.bytes.len() as u64 / u64::from(self.disk.block_bytes());
        let at = self.rng.below(blocks);
        let most = if self.rng.below(3) == 0 { CALL_BLOCKS } else { 6 };
        (at, 1 + self.rng.below(most.min(blocks - at)))
    }

    fn step(&mut self) -> Result<(), saker::Error> {
        let block = self.disk.block_bytes() as usize;
        let (at, blocks) = self.some();
        let range = at as usize * block..(at + blocks) as usize * block;
        match self.rng.below(10) {
            0..4 => {
                let with = self.rng.next_u64().to_le_bytes();
                let data: Vec<u8> = (0..range.len()).map(|n| with[n % 8] ^ (n / block) as u8).collect();
                self.disk.write(self.first + at, &data)?;
                self.bytes[range].copy_from_slice(&data);
            }
            4 => {
                self.disk.trim(self.first + at, blocks)?;
                self.bytes[range].fill(0);
            }
            5 => self.disk.flush()?,
            6 | 7 => {
                let mut out = vec![1; range.len()];
                self.disk.read(self.first + at, &mut out)?;
                assert!(out == self.bytes[range], "{blocks} blocks from {at} on of thread {}", self.first);
            }
            _ => {
                let skip = self.rng.below(range.len() as u64) as usize;
                let range = range.start + skip..range.end;
                let mut out = vec![1; 1 + self.rng.below(range.len() as u64) as usize];
                self.disk.read_at(self.first * block as u64 + range.start as u64, &mut out)?;
                assert!(
                    out == self.bytes[range.start..range.start + out.len()],
                    "bytes of thread {}",
                    self.first
                );
            }
        }
        Ok(())
    }
}

/// Each thread has as many blocks; the first of the thread.
pub fn blocks_each(disk: &SharedBlock) -> u64 {
    disk.blocks() / THREADS
}

/// Threads that each do so much, and find what they wrote. What each wrote, from the first block on.
pub fn everything(disk: &SharedBlock, seed: u64, steps: u32) -> Vec<u8> {
    let each = blocks_each(disk);
    disk.trim(0, disk.blocks()).expect("others have used it");
    let wrote: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let started = (0..THREADS).map(|n| {
            scope.spawn(move || {
                let bytes = vec![0; (each * u64::from(disk.block_bytes())) as usize];
                let mut own =
                    Own { disk, first: n * each, bytes, rng: Seed(seed).child("thread").index(n).rng() };
                for step in 0..steps {
                    own.step()
                        .unwrap_or_else(|error| panic!("seed {seed}, thread {n}, step {step}: {error}"));
                }
                own.bytes
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let all = wrote.concat();
    let mut out = vec![1; all.len()];
    disk.read(0, &mut out).expect("reads");
    assert!(out == all, "seed {seed}");
    all
}

/// Threads that read and write until the device fails or is closed: each is told so, and none waits for ever. How many calls ended well.
pub fn until_it_ends(disk: &SharedBlock, seed: u64, end: impl FnOnce(&SharedBlock) + Send) -> u64 {
    let each = blocks_each(disk);
    disk.trim(0, disk.blocks()).expect("others have used it");
    std::thread::scope(|scope| {
        let started = (0..THREADS).map(|n| {
            scope.spawn(move || {
                let bytes = vec![0; (each * u64::from(disk.block_bytes())) as usize];
                let mut own =
                    Own { disk, first: n * each, bytes, rng: Seed(seed).child("end").index(n).rng() };
                let mut well = 0;
                while own.step().is_ok() {
                    well += 1;
                }
                well
            })
        });
        let started: Vec<_> = started.collect();
        end(disk);
        started.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}
