// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way back without a page: a value in the completion, or in the entries behind it.

use super::{Arrival, Gather, Receiver, Taken};
use saker_nvme::Status;
use saker_nvme::vendor_specific::opcode::{RETRIEVE_INLINE, RETRIEVE_TINY};
use saker_nvme::vendor_specific::{InlineRetrieve, Methods, cq_slots};

/// Most value bytes of a retrieve into the completion queue.
pub const BYTES_MAX: u32 = 1024;

pub struct Retrieve;

impl Receiver for Retrieve {
    type Open = ();

    #[inline]
    fn announced_by(opcode: u8) -> Option<Methods> {
        match opcode {
            RETRIEVE_TINY => Some(Methods::default().with_retrieve_tiny(true)),
            RETRIEVE_INLINE => Some(Methods::default().with_retrieve_inline(true)),
            _ => None,
        }
    }

    /// # Errors
    /// Those of Retrieve; 02h for more than the limit, or than the completion queue has room for.
    fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status> {
        gather.close();
        let command = InlineRetrieve::decode(arrival.sqe)?;
        let fits = cq_slots(command.bytes_max) + 2 <= arrival.cq_entries;
        if fits && command.bytes_max <= BYTES_MAX {
            Ok(Taken::Small(command))
        } else {
            Err(Status::INVALID_FIELD)
        }
    }
}
