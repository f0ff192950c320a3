// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which sectors hold a block: a bit for each sector of the medium. Collections ask it, and need no translation page for that.

/// The bits.
#[derive(Clone, Debug)]
pub struct Live {
    words: Vec<u64>,
}

impl Live {
    /// None of so many sectors holds a block.
    pub fn new(sectors: u64) -> Self {
        Self { words: vec![0; sectors.div_ceil(64) as usize] }
    }

    /// Modelled memory.
    pub fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    /// Whether a sector holds a block.
    pub fn is(&self, at: u64) -> bool {
        self.words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// From now on a sector holds a block. False if it does already, or there is none.
    pub fn set(&mut self, at: u64) -> bool {
        let is_new = !self.is(at);
        let word = self.words.get_mut((at / 64) as usize);
        word.map(|word| *word |= 1 << (at % 64)).is_some() && is_new
    }

    /// It holds none any more.
    pub fn clear(&mut self, at: u64) {
        if let Some(word) = self.words.get_mut((at / 64) as usize) {
            *word &= !(1 << (at % 64));
        }
    }

    /// The words, for digests.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Sectors that hold a block.
    pub fn sectors(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.words.len() as u64 * 64).filter(|at| self.is(*at))
    }
}
