// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Submitting the commands of the Key Value command set (KV, section 3).

use saker_link::{STAGING_BYTES, Slot};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::vendor_specific::{self, TINY_BYTES};
use saker_nvme::{Key, Sqe, group};

use super::{DataPlace, KvQueue, Returned, Shape, SubmitError, Ticket};
use crate::transfer::Method;

/// The data of a raw command.
#[derive(Debug)]
pub enum RawData<'a> {
    /// None: the data pointer stays as it is in the entry.
    Untouched,
    /// Read by the device.
    ToDevice(&'a [u8]),
    /// This many bytes, written by the device; all are shown, zero where the device wrote nothing.
    FromDevice(u32),
    /// As much of this many bytes as DW0 of the completion says: the value of a Retrieve.
    ValueFromDevice(u32),
}

/// A mapped buffer of the caller's: see [`saker_link::Window`]. It stays mapped until the completion has been polled; the
/// device's access fails otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Address of the first byte, a multiple of 4.
    pub iova: u64,
    /// Length in bytes, at most what a window takes.
    pub bytes: u32,
}

impl KvQueue {
    /// Store by the method that the options of [`set_transfer`](Self::set_transfer) choose: `value` is copied before the
    /// call returns.
    ///
    /// # Errors
    /// [`SubmitError`], [`Full`](SubmitError::Full) before all. Values of more than 4 KiB are copied to the heap and can
    /// fail as [`store_owned`](Self::store_owned) does.
    #[inline(always)]
    pub fn store(&mut self, key: &Key, value: &[u8], options: StoreOptions) -> Result<Ticket, SubmitError> {
        if !self.only_prps {
            let method = self.choose(u32::try_from(value.len()).unwrap_or(u32::MAX));
            return method.store(self, key, value, options);
        }
        Method::Prp.store(self, key, value, options)
    }

    /// Store of an owned buffer of up to 2 MiB, lent to the device without a copy.
    ///
    /// # Errors
    /// [`Returned`] gives the buffer back.
    pub fn store_owned(
        &mut self,
        key: &Key,
        value: Vec<u8>,
        options: StoreOptions,
    ) -> Result<Ticket, Returned> {
        let bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
        self.lend_and_launch(kv::store(self.nsid, key, bytes, options), Shape::ToDevice, value)
    }

    /// Store of memory that the caller mapped.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn store_mapped(
        &mut self,
        key: &Key,
        value: Mapped,
        options: StoreOptions,
    ) -> Result<Ticket, SubmitError> {
        self.launch_mapped(kv::store(self.nsid, key, value.bytes, options), Shape::ToDevice, value)
    }

    /// Retrieve of up to `capacity` bytes of the value. 0 asks for its size.
    ///
    /// # Errors
    /// [`SubmitError`]. More than 4 KiB are allocated and can fail as [`store_owned`](Self::store_owned) does.
    #[inline]
    pub fn retrieve(&mut self, key: &Key, capacity: u32) -> Result<Ticket, SubmitError> {
        self.receive(kv::retrieve(self.nsid, key, capacity), Shape::Value, capacity)
    }

    /// Retrieve Versioned, of devices that announce it, into a staging page: the data is the version, and the value behind it.
    ///
    /// # Errors
    /// [`SubmitError`].
    #[inline]
    pub fn retrieve_versioned(&mut self, key: &Key, capacity: u32) -> Result<Ticket, SubmitError> {
        self.receive(group::retrieve_versioned(self.nsid, key, capacity), Shape::Value, capacity)
    }

    /// Retrieve into an owned buffer of up to 2 MiB, its length being the capacity. [`Done::into_vec`](super::Done::into_vec)
    /// gives it back.
    ///
    /// # Errors
    /// [`Returned`] gives the buffer back.
    pub fn retrieve_owned(&mut self, key: &Key, buffer: Vec<u8>) -> Result<Ticket, Returned> {
        let capacity = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        self.lend_and_launch(kv::retrieve(self.nsid, key, capacity), Shape::Value, buffer)
    }

    /// Retrieve into memory that the caller mapped.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn retrieve_mapped(&mut self, key: &Key, buffer: Mapped) -> Result<Ticket, SubmitError> {
        self.launch_mapped(kv::retrieve(self.nsid, key, buffer.bytes), Shape::Value, buffer)
    }

    /// Retrieve without a page: into DW1 of the completion if `capacity` is at most 4, else into the entries behind it. By
    /// PRPs if the device cannot, or `capacity` is more than it takes this way. A value of more than 4 bytes that is asked
    /// for with a capacity of 4 or less only tells its size.
    ///
    /// # Errors
    /// As [`retrieve`](Self::retrieve).
    pub fn retrieve_small(&mut self, key: &Key, capacity: u32) -> Result<Ticket, SubmitError> {
        let methods = self.available.methods;
        if capacity as usize <= TINY_BYTES && methods.retrieve_tiny() {
            let slot = self.take_slot()?;
            let sqe = vendor_specific::retrieve_tiny(self.nsid, key);
            return self.launch(slot, &sqe, DataPlace::Dword, Shape::Value, capacity);
        }
        let fits = capacity <= self.available.retrieve_bytes_max && self.takes_payload(capacity);
        if !methods.retrieve_inline() || !fits {
            return self.retrieve(key, capacity);
        }
        let slot = self.take_slot()?;
        let sqe = vendor_specific::retrieve_inline(self.nsid, key, capacity);
        self.cq_promised += vendor_specific::cq_slots(capacity);
        self.launch(slot, &sqe, DataPlace::Behind, Shape::Value, capacity)
    }

    /// Whether the completion queue surely has room for so much payload: else the controller would hold completions back.
    fn takes_payload(&self, bytes: u32) -> bool {
        let promised = self.cq_promised + vendor_specific::cq_slots(bytes);
        promised as usize + self.slots() < self.queue.pair().cq_entries() as usize
    }

    /// Delete.
    ///
    /// # Errors
    /// [`SubmitError::Full`].
    #[inline]
    pub fn delete(&mut self, key: &Key) -> Result<Ticket, SubmitError> {
        self.send_plain(kv::delete(self.nsid, key))
    }

    /// Exist.
    ///
    /// # Errors
    /// [`SubmitError::Full`].
    #[inline]
    pub fn exist(&mut self, key: &Key) -> Result<Ticket, SubmitError> {
        self.send_plain(kv::exist(self.nsid, key))
    }

    /// List from `start`, or from the beginning, into `buffer_bytes` bytes; read it with
    /// [`ListReader`](saker_nvme::kv_list::ListReader).
    ///
    /// # Errors
    /// As [`retrieve`](Self::retrieve).
    #[inline]
    pub fn list(&mut self, start: Option<&Key>, buffer_bytes: u32) -> Result<Ticket, SubmitError> {
        self.receive(kv::list(self.nsid, start, buffer_bytes), Shape::Whole, buffer_bytes)
    }

    /// Flush of the namespace.
    ///
    /// # Errors
    /// [`SubmitError::Full`].
    #[inline]
    pub fn flush(&mut self) -> Result<Ticket, SubmitError> {
        self.send_plain(kv::flush(self.nsid))
    }

    /// Any entry, malformed ones too: only the CID is ours, and the data pointer if there is data.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn raw(&mut self, sqe: Sqe, data: RawData<'_>) -> Result<Ticket, SubmitError> {
        match data {
            RawData::Untouched => self.send_plain(sqe),
            RawData::FromDevice(bytes) => self.receive(sqe, Shape::Whole, bytes),
            RawData::ValueFromDevice(bytes) => self.receive(sqe, Shape::Value, bytes),
            RawData::ToDevice(bytes) if bytes.len() <= STAGING_BYTES => {
                let slot = self.take_slot()?;
                self.send_staged(slot, sqe, bytes)
            }
            RawData::ToDevice(bytes) => {
                self.lend_and_launch(sqe, Shape::ToDevice, bytes.to_vec()).map_err(|returned| returned.error)
            }
        }
    }

    /// Any entry with an owned buffer of up to 2 MiB for the device to read, lent without a copy.
    ///
    /// # Errors
    /// [`Returned`] gives the buffer back.
    pub fn raw_owned(&mut self, sqe: Sqe, data: Vec<u8>) -> Result<Ticket, Returned> {
        self.lend_and_launch(sqe, Shape::ToDevice, data)
    }

    /// Any entry whose answer tells its length, with an owned buffer of up to 2 MiB for the device to write.
    ///
    /// # Errors
    /// [`Returned`] gives the buffer back.
    pub fn raw_value_into(&mut self, sqe: Sqe, buffer: Vec<u8>) -> Result<Ticket, Returned> {
        self.lend_and_launch(sqe, Shape::Value, buffer)
    }

    #[inline(always)]
    fn send_plain(&mut self, sqe: Sqe) -> Result<Ticket, SubmitError> {
        let slot = self.take_slot()?;
        self.launch(slot, &sqe, DataPlace::Elsewhere, Shape::ToDevice, 0)
    }

    /// Data of no bytes leaves the page closed: lending it costs a locked operation.
    #[inline]
    pub(super) fn send_staged(
        &mut self,
        mut slot: Slot,
        mut sqe: Sqe,
        data: &[u8],
    ) -> Result<Ticket, SubmitError> {
        if !data.is_empty() {
            slot.staging_mut()[..data.len()].copy_from_slice(data);
            sqe.prp1.set(slot.lend_staging());
        }
        self.launch(slot, &sqe, DataPlace::Elsewhere, Shape::ToDevice, data.len() as u32)
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        mut sqe: Sqe,
        shape: Shape,
        capacity: u32,
    ) -> Result<Ticket, SubmitError> {
        if capacity as usize > STAGING_BYTES {
            let buffer = vec![0; capacity as usize];
            return self.lend_and_launch(sqe, shape, buffer).map_err(|returned| returned.error);
        }
        let mut slot = self.take_slot()?;
        if shape == Shape::Whole {
            // Nothing tells how much the device writes: what it leaves must not be an earlier command's data.
            slot.staging_mut()[..capacity as usize].fill(0);
        }
        if capacity > 0 {
            sqe.prp1.set(slot.lend_staging());
        }
        self.launch(slot, &sqe, DataPlace::Staging, shape, capacity)
    }

    fn launch_mapped(&mut self, mut sqe: Sqe, shape: Shape, buffer: Mapped) -> Result<Ticket, SubmitError> {
        let mut slot = self.take_slot()?;
        match self.prps(&mut slot, buffer.iova, buffer.bytes) {
            Ok(prps) => set_prps(&mut sqe, prps),
            Err(error) => {
                self.pool.release(slot);
                return Err(error);
            }
        }
        self.launch(slot, &sqe, DataPlace::Elsewhere, shape, buffer.bytes)
    }

    pub(super) fn lend_and_launch(
        &mut self,
        sqe: Sqe,
        shape: Shape,
        buffer: Vec<u8>,
    ) -> Result<Ticket, Returned> {
        match self.take_slot() {
            Ok(slot) => self.lend_for(slot, sqe, shape, buffer),
            Err(error) => Err(Returned { error, buffer }),
        }
    }

    /// Lends `buffer` for the command of `slot` and submits it.
    pub(super) fn lend_for(
        &mut self,
        mut slot: Slot,
        mut sqe: Sqe,
        shape: Shape,
        buffer: Vec<u8>,
    ) -> Result<Ticket, Returned> {
        let bytes = buffer.len() as u32;
        let lent = match self.lend(&slot, buffer) {
            Ok(iova) => iova,
            Err(returned) => {
                self.pool.release(slot);
                return Err(returned);
            }
        };
        let index = usize::from(slot.index());
        let launched = match self.prps(&mut slot, lent, bytes) {
            Ok(prps) => {
                set_prps(&mut sqe, prps);
                self.launch(slot, &sqe, DataPlace::Owned, shape, bytes)
            }
            Err(error) => {
                self.pool.release(slot);
                Err(error)
            }
        };
        launched.map_err(|error| Returned { error, buffer: self.cancel_loan(index, bytes as usize) })
    }
}

/// Sets DPTR without touching the flags, which may be wrong on purpose.
pub(super) fn set_prps(sqe: &mut Sqe, (prp1, prp2): (u64, u64)) {
    sqe.prp1.set(prp1);
    sqe.prp2.set(prp2);
}
