//! Where a record is, in one word.

/// Position (41 bits, in units of 8 bytes: up to 16 TiB), record length (19 bits, in units of 8 bytes: up to
/// 4 MiB) and key length less one (4 bits). Never zero: a record is longer than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Loc(u64);

const POSITION_BITS: u32 = 41;
const LENGTH_BITS: u32 = 19;
/// Largest medium an index can address, in bytes.
pub const MEDIUM_BYTES_MAX: u64 = 8 << POSITION_BITS;
/// Longest record an index can describe, in bytes.
pub const RECORD_BYTES_MAX: u32 = 8 * ((1 << LENGTH_BITS) - 1);

impl Loc {
    /// No place: marks an empty slot.
    pub const NONE: Self = Self(0);

    /// Packs a byte position, a record length in bytes (both multiples of 8) and a key length (1..=16).
    #[inline]
    pub fn new(position: u64, record_bytes: u32, key_bytes: u8) -> Self {
        debug_assert!(position.is_multiple_of(8) && position < MEDIUM_BYTES_MAX);
        debug_assert!(record_bytes.is_multiple_of(8) && record_bytes <= RECORD_BYTES_MAX && record_bytes > 0);
        debug_assert!((1..=16).contains(&key_bytes));
        let len = u64::from(record_bytes / 8) << POSITION_BITS;
        Self((position / 8) | len | (u64::from(key_bytes - 1) << (POSITION_BITS + LENGTH_BITS)))
    }

    /// Byte position.
    #[inline]
    pub fn position(self) -> u64 {
        (self.0 & ((1 << POSITION_BITS) - 1)) * 8
    }

    /// Record length in bytes.
    #[inline]
    pub fn record_bytes(self) -> u32 {
        ((self.0 >> POSITION_BITS) & ((1 << LENGTH_BITS) - 1)) as u32 * 8
    }

    /// Key length in bytes.
    #[inline]
    pub fn key_bytes(self) -> u8 {
        (self.0 >> (POSITION_BITS + LENGTH_BITS)) as u8 + 1
    }

    /// Whether this is an empty slot.
    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The word, for checkpoints.
    pub fn word(self) -> u64 {
        self.0
    }

    /// A word from a checkpoint; `None` for words that no record has.
    pub fn from_word(word: u64) -> Option<Self> {
        (Self(word).record_bytes() != 0).then_some(Self(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch() {
        for (position, bytes, key) in [(0, 24, 1), (MEDIUM_BYTES_MAX - 8, RECORD_BYTES_MAX, 16), (8, 8, 16)] {
            let loc = Loc::new(position, bytes, key);
            assert_eq!((loc.position(), loc.record_bytes(), loc.key_bytes()), (position, bytes, key));
            assert!(!loc.is_none());
        }
    }
}
