// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ranges of keys.

use saker_nvme::Key;
use saker_nvme::vendor_specific::IteratorRange;

/// Which keys: from `from` on, before `to`, beginning with `prefix`. Empty ones do not limit it.
///
/// ```
/// use saker_host::KeyRange;
/// let range = KeyRange { from: b"user:2", to: b"user:5", prefix: b"user:" };
/// assert!(range.contains(b"user:2") && range.contains(b"user:49"));
/// assert!(!range.contains(b"user:5"), "the range ends before `to`");
/// assert!(KeyRange::default().contains(b"any key"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRange<'a> {
    /// The least key.
    pub from: &'a [u8],
    /// The first key behind the range.
    pub to: &'a [u8],
    /// What every key begins with.
    pub prefix: &'a [u8],
}

impl KeyRange<'_> {
    /// Whether a key lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let in_prefix = self.prefix.is_empty() || key.starts_with(self.prefix);
        in_prefix && key >= self.from && (self.to.is_empty() || key < self.to)
    }

    /// The range of device keys that holds at least all keys of 1 to 16 bytes of this one.
    pub(crate) fn on_wire(&self) -> IteratorRange {
        let cut = |key: &[u8]| key.len() > Key::MAX_LEN;
        let start = |key: &[u8]| key.len().min(Key::MAX_LEN);
        // A longer bound is cut: the first key behind it is then not known exactly, and is left out.
        let to = if cut(self.to) { &[][..] } else { self.to };
        let (from, prefix) = (&self.from[..start(self.from)], &self.prefix[..start(self.prefix)]);
        IteratorRange::new(from, to, prefix).expect("bounds were cut to the length of a key")
    }
}
