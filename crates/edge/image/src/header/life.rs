// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device has done in its life, in the header: bytes 1312 to 1423.
//!
//! Nobody relies on these numbers, so a run writes them into one copy now and then, without a sync and without another
//! generation; the sequence says which copy has the newer ones. The other copy is whole all the time.
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

use super::{Copies, Header};
use saker_flash::Lasting;
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Nothing is counted as far, and who counts on from here does not come to the end of numbers.
const COUNT_MAX: u64 = 1 << 62;

/// The numbers as they are in the header; all zero where no version has counted yet.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct WireLife {
    sequence: U64,
    reads: U64,
    bytes_read: U64,
    writes: U64,
    bytes_written: U64,
    media_errors: U64,
    commands: U64,
    command_errors: U64,
    pages_programmed: U64,
    pages_read: U64,
    segments_erased: U64,
    power_cycles: U64,
    unsafe_shutdowns: U64,
    power_on_seconds: U64,
}

const _: () = assert!(size_of::<WireLife>() == 112);

impl WireLife {
    fn encode(sequence: u64, of: &Lasting) -> Self {
        Self {
            sequence: sequence.into(),
            reads: of.reads.into(),
            bytes_read: of.bytes_read.into(),
            writes: of.writes.into(),
            bytes_written: of.bytes_written.into(),
            media_errors: of.media_errors.into(),
            commands: of.commands.into(),
            command_errors: of.command_errors.into(),
            pages_programmed: of.pages_programmed.into(),
            pages_read: of.pages_read.into(),
            segments_erased: of.segments_erased.into(),
            power_cycles: of.power_cycles.into(),
            unsafe_shutdowns: of.unsafe_shutdowns.into(),
            power_on_seconds: of.power_on_seconds.into(),
        }
    }

    fn decode(&self) -> (u64, Lasting) {
        let number = |field: U64| field.get().min(COUNT_MAX);
        let lasting = Lasting {
            reads: number(self.reads),
            bytes_read: number(self.bytes_read),
            writes: number(self.writes),
            bytes_written: number(self.bytes_written),
            media_errors: number(self.media_errors),
            commands: number(self.commands),
            command_errors: number(self.command_errors),
            pages_programmed: number(self.pages_programmed),
            pages_read: number(self.pages_read),
            segments_erased: number(self.segments_erased),
            power_cycles: number(self.power_cycles),
            unsafe_shutdowns: number(self.unsafe_shutdowns),
            power_on_seconds: number(self.power_on_seconds),
        };
        (number(self.sequence), lasting)
    }
}

impl Header {
    /// What the device has done in its life, and which writing of it this is.
    pub fn lasting(&self) -> (u64, Lasting) {
        self.wire().life.decode()
    }

    /// Other numbers, in the block only: who writes a copy writes them with it.
    pub fn set_lasting(&mut self, lasting: &Lasting) {
        let (sequence, _) = self.lasting();
        self.patch(|wire| wire.life = WireLife::encode(sequence + 1, lasting));
    }

    /// Takes over the numbers of whichever sound copy has the newest.
    pub fn take_newest_life(&mut self, copies: &Copies) {
        let newest = copies.iter().flatten().max_by_key(|copy| copy.lasting().0);
        if let Some(life) = newest.map(|copy| copy.wire().life) {
            self.patch(|wire| wire.life = life);
        }
    }
}
