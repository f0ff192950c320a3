// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When writes of a namespace were stopped or delayed: the log page that tells it.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Whether writes go on, as a byte says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteState {
    /// They do.
    Normal = 0,
    /// They go on at a rate.
    Delayed = 1,
    /// They wait.
    Stopped = 2,
}

impl WriteState {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Normal, Self::Delayed, Self::Stopped];

    /// Decodes the byte; `None`: one that a later device has.
    #[must_use]
    pub fn decode(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as u8 == byte)
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Delayed => "delayed",
            Self::Stopped => "stopped",
        }
    }
}

/// Periods of one state and one cause, summed up; 24 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct WriteStallSum {
    /// Periods.
    pub periods: U64,
    /// Their time in nanoseconds.
    pub nanos: U64,
    /// Writes that were held in them.
    pub writes: U64,
}

layout!(WriteStallSum, 24, periods @ 0, nanos @ 8, writes @ 16);

/// Log page C2h begins with these 208 bytes; as many [`WriteStallEntry`]s follow as it says, the oldest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct WriteStallsHead {
    /// "SKRW": the page is this one.
    pub signature: [u8; 4],
    /// Version of the layout: 1.
    pub version: U16,
    /// Periods that follow: the last ones, one that still lasts among them.
    pub count: U16,
    /// Bytes of each.
    pub entry_bytes: U32,
    /// [`WriteState`] now.
    pub state: u8,
    /// Its cause, if writes are delayed or stopped.
    pub cause: u8,
    /// Reserved.
    pub reserved_14: [u8; 2],
    /// If writes are delayed: bytes a second.
    pub rate: U64,
    /// Which delay that is since the device was opened.
    pub delay: U32,
    /// Reserved.
    pub reserved_28: [u8; 4],
    /// The device's time in nanoseconds: that of all begins.
    pub now: U64,
    /// Reserved.
    pub reserved_40: [u8; 24],
    /// Sums of all periods in which writes were delayed, by cause.
    pub delayed: [WriteStallSum; 3],
    /// Sums of all periods in which writes were stopped, by cause.
    pub stopped: [WriteStallSum; 3],
}

layout!(
    WriteStallsHead, 208, signature @ 0, version @ 4, count @ 6, entry_bytes @ 8, state @ 12, cause @ 13, reserved_14 @ 14,
    rate @ 16, delay @ 24, reserved_28 @ 28, now @ 32, reserved_40 @ 40, delayed @ 64, stopped @ 136,
);

impl WriteStallsHead {
    /// The signature.
    pub const SIGNATURE: [u8; 4] = *b"SKRW";
    /// The version.
    pub const VERSION: u16 = 1;

    /// The beginning of a page of so many periods, of writes that go on and never were held.
    #[must_use]
    pub fn new(count: u16) -> Self {
        Self {
            signature: Self::SIGNATURE,
            version: U16::new(Self::VERSION),
            count: U16::new(count),
            entry_bytes: U32::new(size_of::<WriteStallEntry>() as u32),
            state: WriteState::Normal as u8,
            cause: 0,
            reserved_14: [0; 2],
            rate: U64::ZERO,
            delay: U32::ZERO,
            reserved_28: [0; 4],
            now: U64::ZERO,
            reserved_40: [0; 24],
            delayed: [WriteStallSum::default(); 3],
            stopped: [WriteStallSum::default(); 3],
        }
    }

    /// Whether signature and version are ours, and entries have the length that we know: the rest may be believed.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let is_ours = self.signature == Self::SIGNATURE && self.version.get() == Self::VERSION;
        is_ours && self.entry_bytes.get() as usize == size_of::<WriteStallEntry>()
    }
}

/// A period in which writes were held; 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct WriteStallEntry {
    /// [`WriteState`]: delayed or stopped.
    pub state: u8,
    /// Why, when it began.
    pub cause: u8,
    /// Reserved.
    pub reserved_2: [u8; 6],
    /// When it began, in nanoseconds of the device's time.
    pub begin: U64,
    /// How long it lasted, in nanoseconds; of one that still lasts: until now.
    pub nanos: U64,
    /// Writes that were held in it.
    pub writes: U64,
}

layout!(WriteStallEntry, 32, state @ 0, cause @ 1, reserved_2 @ 2, begin @ 8, nanos @ 16, writes @ 24);
