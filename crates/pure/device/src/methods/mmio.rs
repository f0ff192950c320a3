// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MMIO: the host has stored the value through the BAR; the command takes it from there (2B-SSD, ISCA'18).

use super::{Arrival, Gather, Receiver, Taken};
use saker_link::BarError;
use saker_nvme::Status;
use saker_nvme::vendor_specific::opcode::STORE_MMIO;
use saker_nvme::vendor_specific::{Methods, MmioStore};

pub struct Mmio;

impl Receiver for Mmio {
    type Open = ();

    #[inline]
    fn announced_by(opcode: u8) -> Option<Methods> {
        (opcode == STORE_MMIO).then(|| Methods::default().with_mmio(true))
    }

    /// The commit of a value in the region of the command's queue.
    ///
    /// # Errors
    /// Those of Store; 85h for more than the namespace takes, 02h for a range outside the region, 0Ch if not all of it
    /// was written since it was taken last.
    fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status> {
        gather.close();
        let MmioStore { key, value_bytes, options, offset } = MmioStore::decode(arrival.sqe)?;
        if value_bytes > arrival.value_bytes_max {
            return Err(Status::INVALID_VALUE_SIZE);
        }
        match arrival.bar.take(arrival.qid, offset, value_bytes, &mut gather.bytes) {
            Ok(()) => Ok(gather.store(key, value_bytes, options)),
            Err(BarError::Range) => Err(Status::INVALID_FIELD),
            Err(BarError::Missing) => Err(Status::COMMAND_SEQUENCE_ERROR),
        }
    }
}
