// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What both trees store under a key: a stamp of eight bytes, and the value behind it.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use saker_nvme::Key;

/// Bytes of a stamp: the number of the write, and in bit 0 whether it is a delete; little-endian.
pub const STAMP_BYTES: usize = 8;

/// The number of an opening of the store is above this many bits: numbers of later openings are higher, whatever a cut has taken.
const EPOCH_SHIFT: u32 = 40;
/// Openings of one store at most.
pub const EPOCHS_MAX: u64 = (1 << (63 - EPOCH_SHIFT)) - 1;

/// The key under which the main tree has the number of the last opening. It is no key of users.
pub const EPOCH_KEY: [u8; Key::MAX_LEN] = *b"\0saker.hybrid.\0\0";

/// Whether a host's pair may have that key.
pub(crate) fn is_key(key: &[u8]) -> bool {
    Key::new(key).is_ok_and(|key| *key.padded() != EPOCH_KEY)
}

/// What is there instead of a number while both trees are being emptied: more than any opening has.
pub(crate) const BEING_FORMATTED: u64 = u64::MAX;

/// What the main tree has under [`EPOCH_KEY`]: eight bytes, little-endian, and one more where values stay in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// The number of the last opening.
    pub epoch: u64,
    /// How the main tree was made: its `min_blob_size`, by its number among the words of the setting.
    pub min_blob_size: u8,
}

impl Opening {
    pub fn record(self) -> Vec<u8> {
        let more = (self.min_blob_size > 0).then_some(self.min_blob_size);
        self.epoch.to_le_bytes().into_iter().chain(more).collect()
    }

    /// `None`: it is none.
    pub fn split(record: &[u8]) -> Option<Self> {
        let (epoch, more) = record.split_first_chunk()?;
        let min_blob_size = match more {
            [] => 0,
            [choice] => *choice,
            _ => return None,
        };
        Some(Self { epoch: u64::from_le_bytes(*epoch), min_blob_size })
    }
}

/// Which write a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its number: higher than that of every earlier write of the store.
    pub sequence: u64,
    /// It is a delete.
    pub is_tombstone: bool,
}

impl Stamp {
    /// The stamp in front of a value.
    pub fn record(self, value: &[u8]) -> Vec<u8> {
        let mut record = Vec::with_capacity(STAMP_BYTES + value.len());
        record.extend_from_slice(&(self.sequence << 1 | u64::from(self.is_tombstone)).to_le_bytes());
        record.extend_from_slice(value);
        record
    }

    /// Stamp and value of a record; `None`: it is none.
    pub fn split(record: &[u8]) -> Option<(Self, &[u8])> {
        let (stamp, value) = record.split_first_chunk::<STAMP_BYTES>()?;
        let word = u64::from_le_bytes(*stamp);
        let stamp = Self { sequence: word >> 1, is_tombstone: word & 1 == 1 };
        (!stamp.is_tombstone || value.is_empty()).then_some((stamp, value))
    }
}

/// Numbers of writes, of one opening of the store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamps {
    last: u64,
}

impl Stamps {
    /// Those of opening number `epoch`.
    pub fn of(epoch: u64) -> Self {
        Self { last: epoch << EPOCH_SHIFT }
    }

    /// The next write's.
    pub fn next(&mut self, is_tombstone: bool) -> Stamp {
        self.last += 1;
        Stamp { sequence: self.last, is_tombstone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_tells_how_the_tree_was_made_where_values_stay_in_it() {
        let apart = Opening { epoch: 0x0102, min_blob_size: 0 };
        assert_eq!(apart.record(), [2, 1, 0, 0, 0, 0, 0, 0], "as it always was");
        let inside = Opening { min_blob_size: 14, ..apart };
        assert_eq!(inside.record(), [2, 1, 0, 0, 0, 0, 0, 0, 14]);
        for opening in [apart, inside] {
            assert_eq!(Opening::split(&opening.record()), Some(opening));
        }
        assert!(Opening::split(&[0; 7]).is_none() && Opening::split(&[0; 10]).is_none());
    }

    #[test]
    fn a_record_is_its_stamp_and_its_value() {
        let mut stamps = Stamps::of(3);
        let (pair, tombstone) = (stamps.next(false), stamps.next(true));
        assert!(tombstone.sequence > pair.sequence && pair.sequence >> EPOCH_SHIFT == 3);
        assert_eq!(Stamp::split(&pair.record(b"value")), Some((pair, &b"value"[..])));
        assert_eq!(Stamp::split(&tombstone.record(b"")), Some((tombstone, &b""[..])));
        assert_eq!(Stamp::split(&tombstone.record(b"x")), None, "a delete has no value");
        assert_eq!(Stamp::split(&[0; 7]), None);
        assert!(
            Stamps::of(4).next(false).sequence
                > Stamps { last: pair.sequence + (1 << 39) }.next(true).sequence
        );
    }
}
