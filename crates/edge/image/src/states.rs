// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two bits a page: what its cells hold. All that is kept in memory for each page.

/// What a page's cells hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    Erased,
    Programmed,
    Torn,
}

const PER_WORD: u64 = 32;

/// The states of all pages.
#[derive(Debug)]
pub(super) struct PageStates {
    words: Vec<u64>,
}

impl PageStates {
    /// All erased. Zeroed memory comes from the system on first touch.
    pub fn new(pages: u64) -> Self {
        Self { words: vec![0; pages.div_ceil(PER_WORD) as usize] }
    }

    #[inline]
    pub fn get(&self, page: u64) -> PageState {
        match (self.words[(page / PER_WORD) as usize] >> (page % PER_WORD * 2)) & 3 {
            0 => PageState::Erased,
            1 => PageState::Programmed,
            _ => PageState::Torn,
        }
    }

    #[inline]
    pub fn set(&mut self, page: u64, state: PageState) {
        let shift = page % PER_WORD * 2;
        let word = &mut self.words[(page / PER_WORD) as usize];
        *word = *word & !(3 << shift) | (state as u64) << shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_their_states() {
        let mut states = PageStates::new(70);
        states.set(31, PageState::Torn);
        states.set(32, PageState::Programmed);
        states.set(69, PageState::Programmed);
        states.set(31, PageState::Programmed);
        states.set(32, PageState::Erased);
        let programmed: Vec<_> = (0..70).filter(|n| states.get(*n) == PageState::Programmed).collect();
        assert_eq!(programmed, [31, 69]);
        assert!((0..70).all(|n| states.get(n) != PageState::Torn));
    }
}
