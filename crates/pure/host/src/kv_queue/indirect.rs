// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands whose key is too long for the entry: it lies in memory of the queue's, one place for each slot.

use saker_link::{DmaRegion, STAGING_BYTES, Slot};
use saker_nvme::Sqe;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::{INDIRECT_KEY_BYTES_MIN, IndirectCommand, IndirectOp};

use super::flight::{DataPlace, Shape};
use super::{KvQueue, SubmitError, Ticket};

/// Bytes of a key's place.
pub const PLACE_BYTES: usize = 256;

impl KvQueue {
    /// Store under a key of 17 to 255 bytes.
    ///
    /// # Errors
    /// [`SubmitError`]; [`KeyLength`](SubmitError::KeyLength) for other keys.
    pub fn store_indirect(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: StoreOptions,
    ) -> Result<Ticket, SubmitError> {
        let value_bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
        let (slot, sqe) = self.begin_indirect(key, IndirectOp::Store { value_bytes, options })?;
        if value.len() <= STAGING_BYTES {
            return self.send_staged(slot, sqe, value);
        }
        self.lend_for(slot, sqe, Shape::ToDevice, value.to_vec()).map_err(|returned| returned.error)
    }

    /// Retrieve of up to `capacity` bytes of the value under a key of 17 to 255 bytes.
    ///
    /// # Errors
    /// As [`store_indirect`](Self::store_indirect).
    pub fn retrieve_indirect(&mut self, key: &[u8], capacity: u32) -> Result<Ticket, SubmitError> {
        let (mut slot, mut sqe) =
            self.begin_indirect(key, IndirectOp::Retrieve { buffer_bytes: capacity })?;
        if capacity as usize > STAGING_BYTES {
            let buffer = vec![0; capacity as usize];
            return self.lend_for(slot, sqe, Shape::Value, buffer).map_err(|returned| returned.error);
        }
        if capacity > 0 {
            sqe.prp1.set(slot.lend_staging());
        }
        self.launch(slot, &sqe, DataPlace::Staging, Shape::Value, capacity)
    }

    /// Delete of a key of 17 to 255 bytes.
    ///
    /// # Errors
    /// As [`store_indirect`](Self::store_indirect).
    pub fn delete_indirect(&mut self, key: &[u8]) -> Result<Ticket, SubmitError> {
        self.plain_indirect(key, IndirectOp::Delete)
    }

    /// Exist of a key of 17 to 255 bytes.
    ///
    /// # Errors
    /// As [`store_indirect`](Self::store_indirect).
    pub fn exist_indirect(&mut self, key: &[u8]) -> Result<Ticket, SubmitError> {
        self.plain_indirect(key, IndirectOp::Exist)
    }

    fn plain_indirect(&mut self, key: &[u8], op: IndirectOp) -> Result<Ticket, SubmitError> {
        let (slot, sqe) = self.begin_indirect(key, op)?;
        self.launch(slot, &sqe, DataPlace::Elsewhere, Shape::ToDevice, 0)
    }

    /// A slot with the key in its place, and the entry that names it.
    fn begin_indirect(&mut self, key: &[u8], op: IndirectOp) -> Result<(Slot, Sqe), SubmitError> {
        let key_bytes = u8::try_from(key.len()).ok().filter(|bytes| *bytes >= INDIRECT_KEY_BYTES_MIN);
        let key_bytes = key_bytes.ok_or(SubmitError::KeyLength(key.len()))?;
        let slot = self.take_slot()?;
        match self.place_key(&slot, key) {
            Ok(key_address) => Ok((slot, IndirectCommand { op, key_address, key_bytes }.encode(self.nsid))),
            Err(error) => Err(self.give_up(slot, error)),
        }
    }

    fn place_key(&mut self, slot: &Slot, key: &[u8]) -> Result<u64, SubmitError> {
        if self.keys.is_none() {
            let bytes = self.slots() * PLACE_BYTES;
            self.keys = Some(self.space.alloc_bytes(bytes).map_err(|_| SubmitError::Windows)?);
        }
        let keys: &DmaRegion = self.keys.as_ref().ok_or(SubmitError::Windows)?;
        let offset = usize::from(slot.index()) * PLACE_BYTES;
        keys.write(offset, key).map_err(|_| SubmitError::Windows)?;
        Ok(keys.iova() + offset as u64)
    }
}
