//! MMIO: the host has stored the value through the BAR; the command takes it from there (2B-SSD, ISCA'18).

use super::{Gather, Taken};
use saker_link::{BarBuffer, BarError};
use saker_nvme::vendor::MmioStore;
use saker_nvme::{Sqe, Status};

impl Gather {
    /// The commit of a value in the region of queue `qid`.
    ///
    /// # Errors
    /// Those of Store; 85h for more than the namespace takes, 02h for a range outside the region, 0Ch if not all of it
    /// was written since it was taken last.
    pub fn commit_mmio(
        &mut self,
        sqe: &Sqe,
        value_bytes_max: u32,
        bar: &BarBuffer,
        qid: u16,
    ) -> Result<Taken, Status> {
        self.close();
        let MmioStore { key, value_bytes, options, offset } = MmioStore::decode(sqe)?;
        if value_bytes > value_bytes_max {
            return Err(Status::INVALID_VALUE_SIZE);
        }
        match bar.take(qid, offset, value_bytes, &mut self.bytes) {
            Ok(()) => Ok(self.store(key, value_bytes, options)),
            Err(BarError::Range) => Err(Status::INVALID_FIELD),
            Err(BarError::Missing) => Err(Status::COMMAND_SEQUENCE_ERROR),
        }
    }
}
