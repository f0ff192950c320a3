// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes whose runs are counted.

use std::ops::Range;
use std::sync::Arc;

/// The shortest run that is counted: a count takes nine bytes.
const RUN_MIN: usize = 16;
/// Bytes of a length.
const LENGTH: usize = size_of::<u32>();

/// Counts runs, in memory that it uses again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    bytes: Vec<u8>,
    out: Vec<u8>,
}

impl Counter {
    /// Runs of equal bytes are counted: what stands between two of them behind its length, then the run's length and its byte.
    pub(super) fn count(&mut self, parts: [&[u8]; 2]) -> Arc<[u8]> {
        let Self { bytes, out } = self;
        bytes.clear();
        out.clear();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let length = |n: usize| (n as u32).to_le_bytes();
        let mut from = 0;
        while let Some(run) = next_run(bytes, from) {
            out.extend_from_slice(&length(run.start - from));
            out.extend_from_slice(&bytes[from..run.start]);
            out.extend_from_slice(&length(run.len()));
            out.push(bytes[run.start]);
            from = run.end;
        }
        out.extend_from_slice(&length(bytes.len() - from));
        out.extend_from_slice(&bytes[from..]);
        out.as_slice().into()
    }
}

/// Bytes of a word.
const WORD: usize = 8;
// Then a run that is counted has a whole word in it, wherever it begins.
const _: () = assert!(RUN_MIN >= 2 * WORD - 1);

/// The first run from there on that is counted.
fn next_run(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let words = bytes.as_chunks::<WORD>().0;
    let is_alike = |word: &[u8; WORD]| u64::from_ne_bytes(*word) == u64::from_ne_bytes([word[0]; WORD]);
    let mut next = from.div_ceil(WORD);
    while let Some(found) = words.get(next..)?.iter().position(is_alike) {
        let middle = (next + found) * WORD;
        let byte = bytes[middle];
        let before = bytes[from..middle].iter().rev().take_while(|b| **b == byte).count();
        let run = middle - before..middle + run_of(&bytes[middle..]);
        if run.len() >= RUN_MIN {
            return Some(run);
        }
        next = run.end.div_ceil(WORD);
    }
    None
}

/// How many of the first bytes are alike.
fn run_of(bytes: &[u8]) -> usize {
    let Some(&first) = bytes.first() else { return 0 };
    let (words, alike) = (bytes.as_chunks().0, u64::from_ne_bytes([first; 8]));
    let whole = 8 * words.iter().take_while(|word| u64::from_ne_bytes(**word) == alike).count();
    whole + bytes[whole..].iter().take_while(|byte| **byte == first).count()
}

/// The bytes whose runs were counted.
pub(super) fn spread(counted: &[u8], bytes: usize) -> Box<[u8]> {
    let mut rest = counted;
    let mut next = |n: usize| rest.split_off(..n);
    let length = |found: &[u8]| found.first_chunk().map_or(0, |n| u32::from_le_bytes(*n) as usize);
    let mut out = Vec::with_capacity(bytes);
    while let Some(plain) = next(LENGTH).map(length) {
        out.extend_from_slice(next(plain).unwrap_or_default());
        let Some(run) = next(LENGTH).map(length) else { break };
        let byte = next(1).and_then(|found| found.first()).copied().unwrap_or_default();
        out.resize(out.len() + run, byte);
    }
    out.into()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use saker_sim::{Rng, Seed};

    /// Runs of all lengths around the shortest that is counted, and bytes without runs.
    pub fn bytes(rng: &mut Rng, len: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < len {
            let (run, byte) = (rng.below(3 * RUN_MIN as u64) as usize, rng.below(256) as u8);
            out.resize(out.len() + run, byte);
            out.extend((0..rng.below(20)).map(|_| rng.below(256) as u8));
        }
        out.truncate(len);
        out
    }

    /// Runs are counted wherever they begin, and none that is shorter.
    #[test]
    fn the_runs_that_are_counted_are_the_long_ones() {
        let mut rng = Seed(2).rng();
        for _ in 0..500 {
            let len = 1 + rng.below(600) as usize;
            let bytes = bytes(&mut rng, len);
            let (mut at, mut long) = (0, Vec::new());
            for run in bytes.chunk_by(|a, b| a == b) {
                long.extend((run.len() >= RUN_MIN).then_some(at..at + run.len()));
                at += run.len();
            }
            let counted = |last: &Range<usize>| next_run(&bytes, last.end);
            let counted: Vec<_> = std::iter::successors(next_run(&bytes, 0), counted).collect();
            assert_eq!(counted, long, "of {bytes:?}");
        }
    }
}
