// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that a step has looked at.

use crate::{PageAddr, Reads};

/// Pages that most searches do not exceed.
const FEW: usize = 6;
/// Pages that there is room for beyond that: a search for many keys looks at a page for every few of them.
const MANY: usize = 64;

/// Pages that a step has looked at, each once, in their order: the next call looks at them again if one of them was absent. The first few
/// take no memory of their own, so that a search whose pages are there allocates nothing.
#[derive(Clone, Debug)]
pub struct Looked {
    few: [PageAddr; FEW],
    /// How many of those there are.
    count: usize,
    /// All of them, once they are more.
    many: Reads,
}

impl Default for Looked {
    fn default() -> Self {
        Self::new()
    }
}

impl Looked {
    /// None yet.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { few: [PageAddr(0); FEW], count: 0, many: Reads::new() }
    }

    /// The pages.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[PageAddr] {
        if self.many.is_empty() { self.few.get(..self.count).unwrap_or_default() } else { &self.many }
    }

    /// Notes a page, unless it is noted already.
    #[inline]
    pub fn note(&mut self, page: PageAddr) {
        if self.as_slice().contains(&page) {
            return;
        }
        match self.few.get_mut(self.count) {
            Some(place) if self.many.is_empty() => {
                *place = page;
                self.count += 1;
            }
            _ => self.note_many(page),
        }
    }

    #[cold]
    fn note_many(&mut self, page: PageAddr) {
        if self.many.is_empty() {
            self.many.reserve(MANY);
            self.many.extend(self.few);
        }
        self.many.push(page);
    }

    /// None again; memory of its own is kept.
    #[must_use]
    pub fn emptied(mut self) -> Self {
        self.many.clear();
        Self { count: 0, ..self }
    }

    /// Gives them away.
    #[must_use]
    pub fn take(&mut self) -> Reads {
        std::mem::take(self).into()
    }
}

impl From<Looked> for Reads {
    fn from(looked: Looked) -> Self {
        if looked.many.is_empty() { looked.as_slice().to_vec() } else { looked.many }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_noted_once_in_its_order() {
        let mut looked = Looked::new();
        assert!(looked.as_slice().is_empty());
        let mut expected = Reads::new();
        for n in 0..3 * FEW as u64 {
            for page in [n, 0, n / 2].map(PageAddr) {
                looked.note(page);
            }
            expected.push(PageAddr(n));
            assert_eq!(looked.as_slice(), expected);
            assert_eq!(Reads::from(looked.clone()), expected);
        }
        looked.note(PageAddr(u64::MAX));
        let mut again = looked.clone().emptied();
        assert!(again.as_slice().is_empty());
        again.note(PageAddr(5));
        assert_eq!(again.as_slice(), [PageAddr(5)]);
        expected.push(PageAddr(u64::MAX));
        assert_eq!((looked.take(), looked.as_slice()), (expected, &[][..]));
    }
}
