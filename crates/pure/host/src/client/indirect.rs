// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of 17 to 255 bytes as the device's own, where it takes them by pointer.

use saker_link::STAGING_BYTES;

use super::ops::{existed, found};
use super::{Condition, DeleteMissing, KvClient, submitted};
use crate::ProtocolError;
use crate::driver::Driver;
use crate::error::{HostError, check};

/// A value that another client replaces by a longer one is read again, but not for ever.
const READ_ATTEMPTS: usize = 16;

impl<T: Driver> KvClient<T> {
    /// Whether the device takes keys of 17 to 255 bytes.
    pub fn has_indirect_keys(&self) -> bool {
        self.queue.available().methods.indirect_keys()
    }

    /// Stores `value` under a long key if `condition` holds, in one command.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_indirect(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Result<(), HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.store_indirect(key, value, condition.options()))?;
        check(self.wait_ended(ticket)?.status)
    }

    /// The value of a long key, or `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_indirect(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        let mut capacity = STAGING_BYTES;
        for _ in 0..READ_ATTEMPTS {
            match self.get_indirect_prefix(key, capacity, |value, bytes| (value.to_vec(), bytes))? {
                None => return Ok(None),
                Some((value, bytes)) if bytes <= capacity => return Ok(Some(value)),
                Some((_, bytes)) => capacity = bytes,
            }
        }
        Err(ProtocolError::UnstableSize.into())
    }

    /// Shows the beginning of the value of a long key, up to `capacity` bytes, to `read` with the size of the whole value
    /// in bytes; `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_indirect_prefix<R>(
        &mut self,
        key: &[u8],
        capacity: usize,
        read: impl FnOnce(&[u8], usize) -> R,
    ) -> Result<Option<R>, HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.retrieve_indirect(key, capacity as u32))?;
        let read = self.wait(ticket, |done| {
            if done.status.is_success() {
                Ok(read(done.data(), done.result as usize))
            } else {
                Err(done.status)
            }
        })?;
        found(read)
    }

    /// Deletes a long key and tells whether it existed; see [`KvClient::delete`] for [`DeleteMissing::Silent`].
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete_indirect(&mut self, key: &[u8]) -> Result<bool, HostError> {
        if self.delete_missing == DeleteMissing::Silent && !self.exists_indirect(key)? {
            return Ok(false);
        }
        self.make_room()?;
        let ticket = submitted(self.queue.delete_indirect(key))?;
        existed(self.wait_ended(ticket)?.status)
    }

    /// Whether a long key exists.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists_indirect(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.exist_indirect(key))?;
        existed(self.wait_ended(ticket)?.status)
    }
}
