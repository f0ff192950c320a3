// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts of a payload and their sizes.

/// Bytes of the count that begins a payload.
pub const COUNT_BYTES: usize = 4;
/// Bytes of a length or a type.
pub const LENGTH_BYTES: usize = 4;
/// Longest key of a group, in bytes: that of an indirect key.
pub const KEY_BYTES_MAX: usize = 255;

/// What an entry asks for. The numbers are those of mixed payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// Store a pair.
    Store = 1,
    /// Return a value.
    Retrieve = 2,
    /// Remove a pair.
    Delete = 3,
    /// Tell whether there is such a pair.
    Exist = 4,
}

impl Op {
    /// The type with that number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Store),
            2 => Some(Self::Retrieve),
            3 => Some(Self::Delete),
            4 => Some(Self::Exist),
            _ => None,
        }
    }

    /// Whether it changes what is stored.
    #[inline]
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Store | Self::Delete)
    }
}

/// The form of a payload: one type for all entries, or a type in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// All entries are of this type.
    All(Op),
    /// Each entry says its type.
    Mixed,
}

/// The form's number for mixed payloads; the others have their type's.
const MIXED: u8 = 5;

impl Form {
    /// The form's number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::All(op) => op as u8,
            Self::Mixed => MIXED,
        }
    }

    /// The form with that number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match (Op::from_number(number as u32), number) {
            (Some(op), _) => Some(Self::All(op)),
            (None, MIXED) => Some(Self::Mixed),
            _ => None,
        }
    }

    /// Bytes before the key length of an entry: its type, if it has one.
    #[inline]
    #[must_use]
    pub const fn lead_bytes(self) -> usize {
        match self {
            Self::All(_) => 0,
            Self::Mixed => LENGTH_BYTES,
        }
    }

    /// Whether entries may change what is stored.
    #[inline]
    #[must_use]
    pub const fn may_write(self) -> bool {
        match self {
            Self::All(op) => op.is_write(),
            Self::Mixed => true,
        }
    }

    /// Whether entries may ask for something that only results can tell.
    #[inline]
    #[must_use]
    pub const fn may_read(self) -> bool {
        match self {
            Self::All(op) => !op.is_write(),
            Self::Mixed => true,
        }
    }
}

/// `bytes` rounded up to a multiple of four.
#[inline]
#[must_use]
pub const fn padded(bytes: usize) -> usize {
    // What the library has for it divides, and looks for an overflow that no length here can have.
    (bytes + 3) & !3
}

/// Bytes of an entry, without the type of a mixed one.
#[inline]
#[must_use]
pub const fn entry_bytes(op: Op, key_bytes: usize, value_bytes: usize) -> usize {
    let key = LENGTH_BYTES + padded(key_bytes);
    match op {
        Op::Store => key + LENGTH_BYTES + padded(value_bytes),
        _ => key,
    }
}

/// Bytes of a payload of one type with these `(key, value)` lengths in bytes.
#[must_use]
pub fn payload_bytes(op: Op, lengths: impl IntoIterator<Item = (usize, usize)>) -> usize {
    lengths.into_iter().fold(COUNT_BYTES, |sum, (key, value)| sum + entry_bytes(op, key, value))
}
