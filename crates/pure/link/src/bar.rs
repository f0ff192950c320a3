// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device memory behind the BAR, for values that the host's processor stores there.

use std::sync::Arc;

use thiserror::Error;

use crate::account::LINE_BYTES;
use crate::sync::{AtomicU64, Ordering, zeroed_words};

/// Bytes of each queue's region.
pub const REGION_BYTES: u32 = 8192;

const LINE: usize = LINE_BYTES as usize;
const WORDS_PER_LINE: usize = LINE / 8;
const REGION_WORDS: usize = REGION_BYTES as usize / 8;
const REGION_LINES: usize = REGION_BYTES as usize / LINE;
const MASKS: usize = REGION_LINES / 64;
const _: () = assert!(REGION_LINES.is_multiple_of(64), "whole words of line masks");

/// A region for each I/O queue. Nothing in it survives the device: bytes that no command has committed are lost.
///
/// A line remembers that it was written until a command takes it, so that a commit never gets bytes of another value, or
/// of none.
pub struct BarBuffer {
    words: Box<[AtomicU64]>,
    written: Box<[AtomicU64]>,
}

/// Why a range of a region cannot be stored to or taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BarError {
    /// No such queue, not a line's beginning, or beyond the region.
    #[error("the range is not in the queue's region of the BAR")]
    Range,
    /// Some line was not written since it was taken last.
    #[error("not all of the range was written")]
    Missing,
}

impl BarBuffer {
    /// Regions for queues `1..=queue_pairs`.
    pub fn new(queue_pairs: u16) -> Arc<Self> {
        let regions = usize::from(queue_pairs);
        Arc::new(Self { words: zeroed_words(regions * REGION_WORDS), written: zeroed_words(regions * MASKS) })
    }

    /// Host: stores `bytes` from `offset` of the region of `queue` in 64-byte lines, the last one padded with zeros.
    /// Returns the number of lines. A doorbell written afterwards makes them visible to the controller.
    ///
    /// # Errors
    /// [`BarError::Range`].
    pub fn store(&self, queue: u16, offset: u32, bytes: &[u8]) -> Result<u32, BarError> {
        let (region, first) = self.locate(queue, offset, bytes.len())?;
        for (n, part) in bytes.chunks(LINE).enumerate() {
            let mut line = [0; LINE];
            line[..part.len()].copy_from_slice(part);
            let words: [u64; WORDS_PER_LINE] = zerocopy::transmute!(line);
            let at = region * REGION_WORDS + (first + n) * WORDS_PER_LINE;
            for (word, value) in self.words[at..at + WORDS_PER_LINE].iter().zip(words) {
                word.store(value, Ordering::Relaxed);
            }
            self.mask(region, first + n).fetch_or(bit(first + n), Ordering::Release);
        }
        Ok(bytes.len().div_ceil(LINE) as u32)
    }

    /// Controller: appends `bytes` bytes from `offset` of the region of `queue` to `into` and takes their lines.
    ///
    /// # Errors
    /// [`BarError`]; nothing is appended, and the lines of the range that were written are taken too.
    pub fn take(&self, queue: u16, offset: u32, bytes: u32, into: &mut Vec<u8>) -> Result<(), BarError> {
        let (region, first) = self.locate(queue, offset, bytes as usize)?;
        let lines = (bytes as usize).div_ceil(LINE);
        let mut missing = false;
        for line in first..first + lines {
            let mask = self.mask(region, line);
            missing |= mask.fetch_and(!bit(line), Ordering::Acquire) & bit(line) == 0;
        }
        if missing {
            return Err(BarError::Missing);
        }
        let (at, end) = (region * REGION_WORDS + first * WORDS_PER_LINE, into.len() + bytes as usize);
        for word in &self.words[at..at + lines * WORDS_PER_LINE] {
            into.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        into.truncate(end);
        Ok(())
    }

    /// Controller: forgets what was written to the region of `queue`, as when the queue is created or deleted.
    pub fn clear(&self, queue: u16) {
        if let Ok((region, _)) = self.locate(queue, 0, 0) {
            self.written[region * MASKS..][..MASKS].iter().for_each(|mask| mask.store(0, Ordering::Release));
        }
    }

    /// Lines written to the region of `queue` and not taken.
    pub fn written_lines(&self, queue: u16) -> u32 {
        let Ok((region, _)) = self.locate(queue, 0, 0) else { return 0 };
        let masks = &self.written[region * MASKS..][..MASKS];
        masks.iter().map(|mask| mask.load(Ordering::Acquire).count_ones()).sum()
    }

    fn mask(&self, region: usize, line: usize) -> &AtomicU64 {
        &self.written[region * MASKS + line / 64]
    }

    /// The region's index and the first line of a range in it.
    fn locate(&self, queue: u16, offset: u32, bytes: usize) -> Result<(usize, usize), BarError> {
        let region = usize::from(queue).checked_sub(1).filter(|n| (n + 1) * REGION_WORDS <= self.words.len());
        let inside = offset <= REGION_BYTES && bytes <= (REGION_BYTES - offset) as usize;
        match region {
            Some(region) if inside && offset.is_multiple_of(LINE as u32) => {
                Ok((region, offset as usize / LINE))
            }
            _ => Err(BarError::Range),
        }
    }
}

fn bit(line: usize) -> u64 {
    1 << (line % 64)
}

impl std::fmt::Debug for BarBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BarBuffer({} bytes)", self.words.len() * 8)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_taken_once_and_only_if_all_of_it_was_written() {
        let bar = BarBuffer::new(2);
        let value: Vec<u8> = (0..150).collect();
        assert_eq!(bar.store(2, 128, &value), Ok(3));
        assert_eq!((bar.written_lines(1), bar.written_lines(2)), (0, 3));
        let mut out = vec![9];
        assert_eq!(bar.take(1, 128, 150, &mut out), Err(BarError::Missing));
        assert_eq!(bar.take(2, 128, 150, &mut out), Ok(()));
        assert_eq!(&out[1..], value);
        assert_eq!(bar.take(2, 128, 150, &mut out), Err(BarError::Missing));
        // A range that was written in part is lost as a whole.
        assert_eq!(bar.store(2, 128, &value[..64]), Ok(1));
        assert_eq!(bar.take(2, 128, 65, &mut out), Err(BarError::Missing));
        assert_eq!((out.len(), bar.written_lines(2)), (151, 0));
    }

    #[test]
    fn ranges_outside_are_refused() {
        let bar = BarBuffer::new(1);
        for (queue, offset, bytes) in [(0, 0, 1), (2, 0, 1), (1, 32, 1), (1, REGION_BYTES, 1), (1, 64, 8192)]
        {
            assert_eq!(bar.store(queue, offset, &vec![1; bytes]), Err(BarError::Range));
            assert_eq!(bar.take(queue, offset, bytes as u32, &mut Vec::new()), Err(BarError::Range));
        }
        assert_eq!(bar.take(1, u32::MAX - 63, u32::MAX, &mut Vec::new()), Err(BarError::Range));
        assert_eq!(bar.store(1, 0, &vec![1; REGION_BYTES as usize]), Ok(128));
        bar.clear(1);
        assert_eq!(bar.written_lines(1), 0);
    }
}
