// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arguments of a command, where they lie in its bytes.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// First byte of an argument and the byte behind it.
pub(crate) type Place = (u32, u32);

/// The arguments of one command; the first is its name.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a, 'p> {
    bytes: &'a [u8],
    places: &'p [Place],
}

impl<'a, 'p> Args<'a, 'p> {
    pub(crate) const fn new(bytes: &'a [u8], places: &'p [Place]) -> Self {
        Self { bytes, places }
    }

    /// How many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The argument of that number; an empty one behind the last.
    #[inline]
    #[must_use]
    pub fn at(&self, n: usize) -> &'a [u8] {
        self.get(n).unwrap_or_default()
    }

    /// The argument of that number, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self, n: usize) -> Option<&'a [u8]> {
        self.places.get(n).and_then(|place| self.argument(*place))
    }

    /// Those from number `n` on.
    #[must_use]
    pub fn from(&self, n: usize) -> Self {
        Self { bytes: self.bytes, places: self.places.get(n..).unwrap_or_default() }
    }

    /// All of them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a, 'p> {
        self.places.iter().map(move |place| self.argument(*place).unwrap_or_default())
    }

    /// Two at a time; one that is left over does not come.
    pub fn pairs(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a, 'p> {
        (0..self.len() / 2).map(move |n| (self.at(2 * n), self.at(2 * n + 1)))
    }

    /// Whether the argument of that number is this word, in whatever case.
    #[must_use]
    pub fn is(&self, n: usize, word: &str) -> bool {
        self.at(n).eq_ignore_ascii_case(word.as_bytes())
    }

    #[inline]
    fn argument(self, (start, end): Place) -> Option<&'a [u8]> {
        self.bytes.get(start as usize..end as usize)
    }
}
