// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What may be found after power went.

use std::collections::BTreeMap;

/// For each key that was ever written, what may be its value: of several the last is what operations see now, the others are
/// older and what the loss of the page buffer may bring back.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    may_be: BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>,
}

impl Expected {
    /// A write was acknowledged (`None`: a delete). `lasts`: it survives whatever comes.
    pub fn wrote(&mut self, key: &[u8], value: Option<&[u8]>, lasts: bool) {
        let may_be = self.may_be.entry(key.to_vec()).or_insert_with(|| vec![None]);
        if lasts {
            may_be.clear();
        }
        may_be.push(value.map(<[u8]>::to_vec));
    }

    /// All that was acknowledged is durable.
    pub fn flushed(&mut self) {
        for may_be in self.may_be.values_mut() {
            may_be.drain(..may_be.len() - 1);
        }
    }

    /// Keys that were ever written.
    pub fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.may_be.keys()
    }

    /// What operations see now.
    pub fn now(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.may_be.get(key)?.last()?.as_ref()
    }

    /// Whether a key may have that value after power went.
    pub fn allows(&self, key: &[u8], found: Option<&Vec<u8>>) -> bool {
        match self.may_be.get(key) {
            Some(may_be) => may_be.iter().any(|value| value.as_ref() == found),
            None => found.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_flushed_may_be_older() {
        let mut expected = Expected::default();
        let (one, two) = (b"1".to_vec(), b"2".to_vec());
        expected.wrote(b"k", Some(&one), false);
        expected.wrote(b"k", Some(&two), false);
        assert!(expected.allows(b"k", None) && expected.allows(b"k", Some(&one)));
        expected.flushed();
        assert!(!expected.allows(b"k", None) && !expected.allows(b"k", Some(&one)));
        assert!(expected.allows(b"k", Some(&two)) && expected.now(b"k") == Some(&two));
        expected.wrote(b"k", None, true);
        assert!(expected.allows(b"k", None) && !expected.allows(b"k", Some(&two)));
        assert!(expected.allows(b"other", None) && !expected.allows(b"other", Some(&one)));
    }
}
