//! Piggyback: a store with the first 35 bytes, transfer commands with 56 each (BandSlim, ICPP'24, section 3.2).

use super::{GATHER_BYTES_MAX, Gather, Open, Taken, is_due};
use saker_nvme::vendor::{Fragment, PIGGYBACK_BYTES, PiggybackStore, TRANSFER_BYTES, parts_sum};
use saker_nvme::{Sqe, Status};

impl Gather {
    /// A piggyback store. DW0 of one that waits for transfers: bytes that are missing.
    ///
    /// # Errors
    /// Those of Store; 85h for more than the namespace takes, 02h for more than can be gathered.
    #[inline]
    pub fn begin_piggyback(&mut self, sqe: &Sqe, value_bytes_max: u32) -> Result<Taken, Status> {
        self.close();
        let PiggybackStore { key, value_bytes, rest_sum, options, payload } = PiggybackStore::decode(sqe)?;
        if value_bytes > value_bytes_max {
            return Err(Status::INVALID_VALUE_SIZE);
        }
        if value_bytes > GATHER_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let here = PIGGYBACK_BYTES.min(value_bytes as usize);
        self.bytes.extend_from_slice(&payload[..here]);
        if here == value_bytes as usize {
            return Ok(self.store(key, value_bytes, options));
        }
        self.open = Open::Piggyback { key, value_bytes, rest_sum, options, nsid: sqe.nsid.get(), next: 1 };
        Ok(Taken::More(value_bytes - here as u32))
    }

    /// A transfer command.
    ///
    /// # Errors
    /// 0Ch if it is not the one that is due, or a part was another value's; the value is forgotten.
    pub fn transfer(&mut self, sqe: &Sqe) -> Result<Taken, Status> {
        let fragment = Fragment::decode(sqe).map_err(|status| self.refuse(status))?;
        let Open::Piggyback { key, value_bytes, rest_sum, options, nsid, next } = self.open else {
            return Err(self.refuse(Status::COMMAND_SEQUENCE_ERROR));
        };
        if !is_due(sqe, fragment.sequence, nsid, next) {
            return Err(self.refuse(Status::COMMAND_SEQUENCE_ERROR));
        }
        let missing = value_bytes as usize - self.bytes.len();
        let here = TRANSFER_BYTES.min(missing);
        self.bytes.extend_from_slice(&fragment.payload[..here]);
        if here == missing {
            if parts_sum(&self.bytes[PIGGYBACK_BYTES..]) as u16 != rest_sum {
                return Err(self.refuse(Status::COMMAND_SEQUENCE_ERROR));
            }
            return Ok(self.store(key, value_bytes, options));
        }
        self.open = Open::Piggyback { key, value_bytes, rest_sum, options, nsid, next: next + 1 };
        Ok(Taken::More((missing - here) as u32))
    }
}
