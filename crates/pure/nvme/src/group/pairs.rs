// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A payload of form store that grows as pairs come: what iterators answer, and what scans show.

use super::layout::{COUNT_BYTES, Form, LENGTH_BYTES, Op, entry_bytes, padded};
use super::parse::parse;

/// Pairs in the order in which they were pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairList {
    /// Empty without a pair.
    bytes: Vec<u8>,
    count: u32,
}

impl PairList {
    /// Adds a pair.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.begin(entry_bytes(Op::Store, key.len(), value.len()));
        for part in [key, value] {
            self.bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
            self.bytes.extend_from_slice(part);
            self.bytes.resize(padded(self.bytes.len()), 0);
        }
        self.count += 1;
    }

    /// Adds all pairs of a payload of form store; one of no bytes has none. False, and nothing is added, if it is no such
    /// payload.
    pub fn append(&mut self, payload: &[u8]) -> bool {
        if payload.is_empty() {
            return true;
        }
        let (Ok(count), Some(entries)) =
            (parse(Form::All(Op::Store), payload, |_| ()), payload.get(COUNT_BYTES..))
        else {
            return false;
        };
        self.begin(entries.len());
        self.bytes.extend_from_slice(entries);
        self.count += count;
        true
    }

    fn begin(&mut self, more: usize) {
        if self.bytes.is_empty() {
            self.bytes.reserve(COUNT_BYTES + more);
            self.bytes.resize(COUNT_BYTES, 0);
        }
    }

    /// Pairs in it.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The payload; no bytes without a pair.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if let Some(count) = self.bytes.get_mut(..COUNT_BYTES) {
            count.copy_from_slice(&self.count.to_le_bytes());
        }
        self.bytes
    }
}

/// The pairs of a payload of form store, in their order; none of one that is no such payload.
#[must_use]
pub fn pairs_of(payload: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut pairs = Vec::new();
    let part = |range: std::ops::Range<u32>| payload.get(range.start as usize..range.end as usize);
    let parsed = parse(Form::All(Op::Store), payload, |entry| {
        pairs.extend(part(entry.key).zip(part(entry.value)));
    });
    if parsed.is_ok() { pairs } else { Vec::new() }
}

const _: () = assert!(COUNT_BYTES == LENGTH_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_and_appended_comes_out_in_order() {
        let (mut first, mut second) = (PairList::default(), PairList::default());
        first.push(b"a", b"");
        second.push(b"bcdef", b"ghi");
        second.push(b"j", b"klmnop");
        assert!(first.append(&second.finish()) && first.append(&[]));
        assert_eq!(first.len(), 3);
        let payload = first.finish();
        let pairs: [(&[u8], &[u8]); 3] = [(b"a", b""), (b"bcdef", b"ghi"), (b"j", b"klmnop")];
        assert_eq!(pairs_of(&payload), pairs);
    }

    #[test]
    fn what_is_no_payload_adds_nothing() {
        let mut list = PairList::default();
        list.push(b"a", b"b");
        let sound = list.clone().finish();
        let short = sound.split_last().map_or(&[][..], |(_, short)| short);
        assert_eq!(short.len() + 1, sound.len());
        assert!(!list.append(short));
        assert_eq!((list.finish(), PairList::default().finish()), (sound.clone(), Vec::new()));
        assert_eq!(pairs_of(short), []);
    }
}
