// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What stands before the records of a group: a record of a grain, or of as many as 32 bytes take, of the kind
//! [`Kind::Group`](crate::hash_ftl::record::Kind::Group). In place of a key it has:
//!
//! | bytes | field |
//! |---|---|
//! | 0-7 | sequence number of the group's second page; its others follow |
//! | 8-11 | grains of the group, those of this record included |
//! | 12-15 | records behind this one, whose versions follow its own |
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

/// Bytes in place of a key.
pub const EXTENT_BYTES: u32 = 16;

/// How far a group goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sequence number of its second page.
    pub second_sequence: u64,
    /// Grains.
    pub grains: u32,
    /// Records behind its head.
    pub records: u32,
}

impl Extent {
    /// Its bytes.
    pub fn encode(self) -> [u8; EXTENT_BYTES as usize] {
        let word =
            u128::from(self.second_sequence) | u128::from(self.grains) << 64 | u128::from(self.records) << 96;
        word.to_le_bytes()
    }

    /// Reads it; `None` if there are fewer bytes, or it says nothing.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = u128::from_le_bytes(*bytes.first_chunk()?);
        let extent =
            Self { second_sequence: word as u64, grains: (word >> 64) as u32, records: (word >> 96) as u32 };
        (extent.records > 0 && extent.grains > extent.records).then_some(extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let extent = Extent { second_sequence: 0x0807_0605_0403_0201, grains: 0x0c0b_0a09, records: 0x0a0b };
        assert_eq!(extent.encode(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x0b, 0x0a, 0, 0]);
        assert_eq!(Extent::decode(&extent.encode()), Some(extent));
        assert_eq!(Extent::decode(&[0; 16]), None);
        assert_eq!(Extent::decode(&extent.encode()[1..]), None);
        assert_eq!(Extent::decode(&Extent { grains: 3, records: 3, ..extent }.encode()), None);
    }
}
