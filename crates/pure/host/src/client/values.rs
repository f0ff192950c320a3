// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values of many keys in one piece of memory.

/// Values of keys in the order in which they were asked for, one behind the other in memory that the next multi-get takes again.
///
/// ```
/// let values = saker_host::Values::default();
/// assert!(values.is_empty() && values.get(0).is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    bytes: Vec<u8>,
    /// Where each ends, and whether the key is there.
    ends: Vec<(usize, bool)>,
}

impl Values {
    /// How many keys were asked for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether none were.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The value of key `n`; `None` if there is no such key.
    #[must_use]
    pub fn get(&self, n: usize) -> Option<&[u8]> {
        let (end, is_there) = *self.ends.get(n)?;
        let begin = n.checked_sub(1).map_or(0, |before| self.ends[before].0);
        is_there.then(|| &self.bytes[begin..end])
    }

    /// The values in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        (0..self.len()).map(|n| self.get(n))
    }

    /// Holds these from now on.
    pub fn fill<'v>(&mut self, values: impl IntoIterator<Item = Option<&'v [u8]>>) {
        self.clear();
        values.into_iter().for_each(|value| self.push(value));
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn push(&mut self, value: Option<&[u8]>) {
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.ends.push((self.bytes.len(), value.is_some()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_one_behind_the_other() {
        let mut values = Values::default();
        for value in [Some(&b"one"[..]), None, Some(b""), Some(b"four")] {
            values.push(value);
        }
        let all: Vec<_> = values.iter().collect();
        assert_eq!(all, [Some(&b"one"[..]), None, Some(b""), Some(b"four")]);
        assert_eq!((values.get(3), values.get(4), values.len()), (Some(&b"four"[..]), None, 4));
        values.clear();
        assert!(values.is_empty() && values.get(0).is_none());
    }
}
