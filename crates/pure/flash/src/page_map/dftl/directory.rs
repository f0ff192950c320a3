// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The directory: where each translation page is, and which ones checkpoints need.
//!
//! Recovery begins with the translation pages that the last whole checkpoint names, and brings them up to date by the log behind it.
//! So a translation page that was replaced lives on while that checkpoint or the running one names it.

/// Modelled memory of a translation page: where it is, its version, and where those are that two checkpoints name.
pub const PLACE_MEMORY_BYTES: u64 = 20;

/// Where a translation page is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Sector position + 1; 0: none of its blocks is mapped there.
    word: u32,
    version: u64,
}

/// The places of all translation pages.
#[derive(Clone, Debug)]
pub struct Directory {
    current: Vec<Place>,
    /// What the last whole checkpoint names, wherever it has been moved to: a word each.
    named: Vec<u32>,
    /// The same for the running one; empty if none runs.
    naming: Vec<u32>,
}

impl Directory {
    /// A directory of so many translation pages, none of which is there.
    pub fn new(pages: usize) -> Self {
        Self { current: vec![Place::default(); pages], named: vec![0; pages], naming: Vec::new() }
    }

    /// Translation pages.
    pub fn pages(&self) -> usize {
        self.current.len()
    }

    /// Where a translation page is.
    pub fn at(&self, page: usize) -> Option<u64> {
        self.current.get(page).and_then(|place| place.word.checked_sub(1)).map(u64::from)
    }

    fn words(&self, page: usize) -> [u32; 3] {
        let [named, naming] = [&self.named, &self.naming].map(|words| words.get(page).copied().unwrap_or(0));
        [self.current.get(page).map_or(0, |place| place.word), named, naming]
    }

    /// Whether somebody needs what is at that position.
    pub fn needs(&self, page: usize, position: u64) -> bool {
        self.words(page).contains(&(position as u32 + 1))
    }

    /// Positions that are needed, with their pages; each once.
    pub fn positions(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (0..self.pages()).flat_map(|page| {
            let [a, b, c] = self.words(page);
            let words = [a, if b == a { 0 } else { b }, if c == a || c == b { 0 } else { c }];
            words.into_iter().filter_map(move |word| word.checked_sub(1).map(|at| (page, u64::from(at))))
        })
    }

    /// A translation page is elsewhere, in a new version, or gone. The position of the old one, if nobody needs that any more.
    pub fn replace(&mut self, page: usize, new: Option<(u64, u64)>) -> Option<u64> {
        let place = new.map_or(Place::default(), |(at, version)| Place { word: at as u32 + 1, version });
        let old = std::mem::replace(&mut self.current[page], place).word;
        self.unneeded(page, old)
    }

    fn unneeded(&self, page: usize, word: u32) -> Option<u64> {
        let at = u64::from(word.checked_sub(1)?);
        (!self.needs(page, at)).then_some(at)
    }

    /// The same version of a translation page is elsewhere.
    pub fn moved(&mut self, page: usize, from: u64, to: u64) {
        let (from, to) = (from as u32 + 1, to as u32 + 1);
        let current = self.current.get_mut(page).map(|place| &mut place.word);
        for word in current.into_iter().chain(self.named.get_mut(page)).chain(self.naming.get_mut(page)) {
            if *word == from {
                *word = to;
            }
        }
    }

    /// A checkpoint begins: it names nothing yet.
    pub fn begin_naming(&mut self) {
        self.naming = vec![0; self.pages()];
    }

    /// The version of a translation page, 0 if there is none.
    pub fn version(&self, page: usize) -> u64 {
        self.current[page].version
    }

    /// The running checkpoint names a translation page as it is now.
    pub fn name(&mut self, page: usize) {
        self.naming[page] = self.current[page].word;
    }

    /// The running checkpoint is whole, or given up. Positions that nobody needs any more.
    pub fn end_naming(&mut self, is_whole: bool) -> Vec<u64> {
        let naming = std::mem::take(&mut self.naming);
        let gone = if is_whole { std::mem::replace(&mut self.named, naming) } else { naming };
        gone.into_iter().enumerate().filter_map(|(page, word)| self.unneeded(page, word)).collect()
    }

    /// What recovery finds of a translation page that the last checkpoint names.
    pub fn restore(&mut self, page: usize, at: u64, version: u64) {
        if let (Some(place), Some(named)) = (self.current.get_mut(page), self.named.get_mut(page)) {
            *place = Place { word: at as u32 + 1, version };
            *named = place.word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_checkpoint_names_is_needed_until_the_next_one_is_whole() {
        let mut d = Directory::new(2);
        assert_eq!(d.replace(0, Some((10, 1))), None);
        assert_eq!(d.replace(0, Some((11, 2))), Some(10), "no checkpoint has seen it");
        d.begin_naming();
        assert_eq!([d.version(0), d.version(1)], [2, 0]);
        (0..2).for_each(|page| d.name(page));
        assert_eq!(d.replace(0, Some((12, 3))), None, "the running one names it");
        assert_eq!(d.end_naming(true), []);
        d.moved(0, 11, 20);
        assert!(d.needs(0, 20) && d.needs(0, 12) && !d.needs(0, 11));
        d.begin_naming();
        d.name(0);
        assert_eq!(d.end_naming(false), [], "it is still the current one");
        d.begin_naming();
        d.name(0);
        assert_eq!(d.end_naming(true), [20]);
        assert_eq!(d.replace(0, None), None);
        assert_eq!(d.positions().collect::<Vec<_>>(), [(0, 12)]);
    }
}
