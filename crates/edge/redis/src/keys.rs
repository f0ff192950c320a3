// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keys that a run writes.

use crate::pace::RUN_MAX;

/// Which keys a run writes and where, as far as a hash tells: that one is taken for another only ends a run early.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The run in which a place was taken last, and the number of the operation.
    taken: Vec<(u32, u32)>,
    run: u32,
}

/// A run takes a sixteenth of the places at most.
const PLACES: usize = 16 * RUN_MAX;

impl Default for Keys {
    fn default() -> Self {
        Self { taken: vec![(0, 0); PLACES], run: 1 }
    }
}

impl Keys {
    fn place(key: &[u8]) -> usize {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for part in key.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^= hash >> 29;
        }
        (hash >> 40) as usize % PLACES
    }

    /// An operation writes a key.
    pub fn put(&mut self, key: &[u8], operation: usize) {
        self.taken[Self::place(key)] = (self.run, operation as u32);
    }

    /// The operation of this key, or of another one with its hash.
    pub fn get(&self, key: &[u8]) -> Option<usize> {
        let (run, operation) = self.taken[Self::place(key)];
        (run == self.run).then_some(operation as usize)
    }

    /// Another run begins.
    pub fn clear(&mut self) {
        self.run = self.run.wrapping_add(1).max(1);
        if self.run == 1 {
            self.taken.fill((0, 0));
        }
    }
}
