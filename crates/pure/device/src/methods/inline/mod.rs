// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inline: the entries behind a store are its value (ByteExpress). A queue with an unfinished one is looked at no further
//! until all of them are there: other queues go on.

mod behind;
mod head;

pub use behind::Behind;
pub use head::InlineHead;

use super::{Arrival, Gather, Landing, Plain, Receiver, Taken};
use saker_engine::{Source, SourceError};
use saker_link::DeviceSq;
use saker_nvme::Status;
use saker_nvme::vendor_specific::opcode::STORE_INLINE;
use saker_nvme::vendor_specific::{InlineStore, Methods};
use saker_profile::Transfer;

pub struct Inline;

impl Receiver for Inline {
    type Open = ();

    #[inline]
    fn announced_by(opcode: u8) -> Option<Methods> {
        (opcode == STORE_INLINE).then(|| Methods::default().with_inline(true))
    }

    #[inline]
    fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status> {
        gather.close();
        arrival.head.ok_or(Status::INVALID_OPCODE)?.into_taken(arrival.value_bytes_max)
    }

    #[inline(always)]
    fn comes_behind(opcode: u8) -> bool {
        opcode == STORE_INLINE
    }

    fn price_ns(costs: &Transfer) -> u64 {
        costs.inline_slot_ns.get()
    }

    fn units(_: u8, slots: u64) -> u64 {
        slots
    }

    #[inline(always)]
    fn is_short(opcode: u8) -> bool {
        opcode == STORE_INLINE
    }

    /// The value is copied from the ring to where it stays.
    #[inline(always)]
    fn shortly<'q>(
        plain: Plain<'_>,
        behind: impl FnOnce() -> Option<&'q DeviceSq>,
        landing: impl Landing,
    ) -> Option<Status> {
        let sq = behind()?;
        let InlineStore { key, value_bytes, options } = InlineStore::decode(plain.sqe).ok()?;
        if value_bytes > plain.value_bytes_max {
            return None;
        }
        landing.store(&key, &mut InRing { sq, bytes: value_bytes }, options)
    }
}

/// A value in the announced entries behind its command.
struct InRing<'a> {
    sq: &'a DeviceSq,
    bytes: u32,
}

impl Source for InRing<'_> {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        if self.sq.read_payload(offset as usize, out) { Ok(()) } else { Err(SourceError) }
    }
}
