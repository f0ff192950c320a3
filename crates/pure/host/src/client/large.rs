// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values of more than 4 KiB: the caller's memory is lent to the device for the time of the call.

use saker_link::{WINDOW_BYTES_MAX, Window};
use saker_nvme::{Key, Status};

use super::ops::found;
use super::{Condition, KvClient, submitted};
use crate::ProtocolError;
use crate::driver::Driver;
use crate::error::{HostError, check};
use crate::kv_queue::{Mapped, SubmitError};

/// A value that another client replaces by a longer one is read again, but not for ever.
const READ_ATTEMPTS: usize = 16;

/// PRP1 begins at a dword.
const DWORD: u64 = 4;

impl<T: Driver> KvClient<T> {
    #[cold]
    pub(super) fn put_large(
        &mut self,
        key: &Key,
        value: &[u8],
        condition: Condition,
    ) -> Result<(), HostError> {
        if value.len() > WINDOW_BYTES_MAX {
            return Err(HostError::ValueLength { bytes: value.len(), bytes_max: WINDOW_BYTES_MAX });
        }
        self.make_room()?;
        let mut window = self.take_window()?;
        let stored = window.with_mapped_read(value, |iova| {
            if !iova.is_multiple_of(DWORD) {
                return Ok(None);
            }
            let value = Mapped { iova, bytes: value.len() as u32 };
            let ticket = submitted(self.queue.store_mapped(key, value, condition.options()))?;
            self.wait_ended(ticket).map(Some)
        });
        match stored?? {
            Some(ended) => check(ended.status),
            None => self.put_copy(key, value, condition),
        }
    }

    /// Memory that begins between dwords cannot be lent: a copy is.
    fn put_copy(&mut self, key: &Key, value: &[u8], condition: Condition) -> Result<(), HostError> {
        let ticket = submitted(self.queue.store(key, value, condition.options()))?;
        check(self.wait_ended(ticket)?.status)
    }

    /// Reads a value that had `bytes` bytes a moment ago.
    pub(super) fn get_large(&mut self, key: &Key, mut bytes: usize) -> Result<Option<Vec<u8>>, HostError> {
        for _ in 0..READ_ATTEMPTS {
            if bytes > WINDOW_BYTES_MAX {
                return Err(HostError::ValueLength { bytes, bytes_max: WINDOW_BYTES_MAX });
            }
            let mut value = vec![0; bytes];
            match self.get_into(key, &mut value)? {
                None => return Ok(None),
                Some(full) if full <= bytes => {
                    value.truncate(full);
                    return Ok(Some(value));
                }
                Some(full) => bytes = full,
            }
        }
        Err(ProtocolError::UnstableSize.into())
    }

    #[cold]
    pub(super) fn get_into_large(
        &mut self,
        key: &Key,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, HostError> {
        self.settle(key)?;
        self.make_room()?;
        let lent_bytes = buffer.len().min(WINDOW_BYTES_MAX);
        let buffer = &mut buffer[..lent_bytes];
        let mut window = self.take_window()?;
        let read = window.with_mapped_write(buffer, |iova| {
            if !iova.is_multiple_of(DWORD) {
                return Ok(None);
            }
            let buffer = Mapped { iova, bytes: lent_bytes as u32 };
            let ticket = submitted(self.queue.retrieve_mapped(key, buffer))?;
            self.wait_ended(ticket).map(Some)
        });
        match read?? {
            Some(ended) => found(size(ended.status, ended.result)),
            None => self.get_copy(key, buffer),
        }
    }

    fn get_copy(&mut self, key: &Key, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let ticket = submitted(self.queue.retrieve(key, buffer.len() as u32))?;
        let read = self.wait(ticket, |done| {
            let data = done.data();
            buffer[..data.len()].copy_from_slice(data);
            size(done.status, done.result)
        })?;
        found(read)
    }

    fn take_window(&mut self) -> Result<Window, HostError> {
        self.queue.space().window().ok_or(HostError::Submit(SubmitError::Windows))
    }
}

fn size(status: Status, result: u32) -> Result<usize, Status> {
    if status.is_success() { Ok(result as usize) } else { Err(status) }
}
