// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A running digest of what happened, so that two runs of one seed can be compared.

use xxhash_rust::xxh3::Xxh3;

/// A 64-bit digest over everything added, in order (XXH3).
#[derive(Clone, Default)]
pub struct Digest(Xxh3);

impl Digest {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a number.
    pub fn number(&mut self, n: u64) {
        self.0.update(&n.to_le_bytes());
    }

    /// The digest of everything added so far.
    pub fn value(&self) -> u64 {
        self.0.digest()
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({:016x})", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_matters() {
        let (mut a, mut b) = (Digest::default(), Digest::default());
        a.number(1);
        a.number(2);
        b.number(2);
        b.number(1);
        assert_ne!(a.value(), b.value());
    }
}
