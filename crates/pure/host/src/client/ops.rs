// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The blocking calls.

use saker_link::STAGING_BYTES;
use saker_nvme::{Key, Status};

use super::{Condition, DeleteMissing, KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, check};
use crate::transfer::Method;

impl<T: Driver> KvClient<T> {
    /// Stores `value` under `key`, replacing what is there.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn put(&mut self, key: &Key, value: &[u8]) -> Result<(), HostError> {
        self.put_if(key, value, Condition::Always)
    }

    /// Stores `value` under `key` if `condition` holds; the device decides that and stores in one step.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn put_if(&mut self, key: &Key, value: &[u8], condition: Condition) -> Result<(), HostError> {
        self.settle(key)?;
        if value.len() > STAGING_BYTES && self.queue.method_for(value.len() as u32) == Method::Prp {
            return self.put_large(key, value, condition);
        }
        let ticket = self.submit_store(key, value, condition.options())?;
        check(self.wait(ticket, |done| done.status)?)
    }

    /// The value of `key`, or `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &Key) -> Result<Option<Vec<u8>>, HostError> {
        let found = self.get_with(
            key,
            |value, bytes| if value.len() < bytes { Err(bytes) } else { Ok(value.to_vec()) },
        )?;
        match found {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(bytes)) => self.get_large(key, bytes),
        }
    }

    /// Shows the beginning of the value of `key`, up to 4 KiB, to `read` in place, with the size of the whole value in
    /// bytes; `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn get_with<R>(
        &mut self,
        key: &Key,
        read: impl FnOnce(&[u8], usize) -> R,
    ) -> Result<Option<R>, HostError> {
        self.get_prefix(key, STAGING_BYTES, read)
    }

    /// Reads the value of `key` into the beginning of `buffer` and returns its size in bytes, or `None` if there is no
    /// such key. If the value is longer than the buffer, the buffer holds the beginning of it: try again with a longer one.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn get_into(&mut self, key: &Key, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        if buffer.len() > STAGING_BYTES {
            return self.get_into_large(key, buffer);
        }
        self.get_prefix(key, buffer.len(), |value, bytes| {
            buffer[..value.len()].copy_from_slice(value);
            bytes
        })
    }

    /// Retrieve with a buffer of `capacity` bytes, at most a staging page.
    #[inline]
    fn get_prefix<R>(
        &mut self,
        key: &Key,
        capacity: usize,
        read: impl FnOnce(&[u8], usize) -> R,
    ) -> Result<Option<R>, HostError> {
        self.settle(key)?;
        self.make_room()?;
        let ticket = submitted(self.queue.retrieve(key, capacity as u32))?;
        let read = self.wait(ticket, |done| {
            if done.status.is_success() {
                Ok(read(done.data(), done.result as usize))
            } else {
                Err(done.status)
            }
        })?;
        found(read)
    }

    /// The size of the value of `key` in bytes, without moving any of it.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn value_bytes(&mut self, key: &Key) -> Result<Option<usize>, HostError> {
        self.get_prefix(key, 0, |_, bytes| bytes)
    }

    /// Deletes `key` and tells whether it existed. On a device without feature 20h ([`DeleteMissing::Silent`]) the answer
    /// comes from an Exist command before, and is wrong if another client wrote the key in between.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete(&mut self, key: &Key) -> Result<bool, HostError> {
        if self.delete_missing == DeleteMissing::Silent && !self.exists(key)? {
            return Ok(false);
        }
        self.settle(key)?;
        self.make_room()?;
        let ticket = submitted(self.queue.delete(key))?;
        existed(self.wait_ended(ticket)?.status)
    }

    /// Whether `key` exists.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &Key) -> Result<bool, HostError> {
        self.settle(key)?;
        self.make_room()?;
        let ticket = submitted(self.queue.exist(key))?;
        let status = self.wait(ticket, |done| done.status)?;
        existed(status)
    }

    /// Makes everything that was stored non-volatile, queued writes that succeeded included; [`drain`](Self::drain) tells
    /// which did not.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn flush(&mut self) -> Result<(), HostError> {
        self.settle_all()?;
        self.make_room()?;
        let ticket = submitted(self.queue.flush())?;
        check(self.wait(ticket, |done| done.status)?)
    }
}

/// A failed read as an error, or as `None` if there is no such key.
#[inline]
pub(super) fn found<R>(read: Result<R, Status>) -> Result<Option<R>, HostError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(status) if status.is(Status::KEY_DOES_NOT_EXIST) => Ok(None),
        Err(status) => Err(status.into()),
    }
}

#[inline]
pub(super) fn existed(status: Status) -> Result<bool, HostError> {
    Ok(found(if status.is_success() { Ok(()) } else { Err(status) })?.is_some())
}
