// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of reads that are not waited for.

use saker_link::STAGING_BYTES;
use saker_nvme::{Key, Status};

use super::KvClient;
use super::ops::found;
use super::queued_gets::{QueuedGet, State};
use crate::driver::Driver;
use crate::error::HostError;
use crate::kv_queue::{SubmitError, Ticket};

impl<T: Driver> KvClient<T> {
    /// Asks for the value of a key and returns: [`finish_get`](Self::finish_get) or [`finish_get_into`](Self::finish_get_into) takes the
    /// answer. The read sees all that was written before by this client; it may see what is written after it, too, until it is finished. As many reads may be
    /// queued and not finished as the queue has slots. Keys of more than 16 bytes are asked for by pointer.
    ///
    /// # Errors
    /// [`HostError`]; [`QueuedGets`](SubmitError::QueuedGets) if so many are queued already.
    pub fn get_queued(&mut self, key: &[u8]) -> Result<QueuedGet, HostError> {
        let native = if key.len() > Key::MAX_LEN { None } else { Some(Key::new(key)?) };
        if let Some(key) = &native {
            self.settle(key)?;
        }
        self.make_place()?;
        let ticket = self.submit_get(native.as_ref(), key)?;
        let get = self.queued.gets.submitted(ticket, key);
        self.announce_in_time()?;
        // There was a place, and what came between only frees some.
        get.ok_or_else(|| HostError::Submit(SubmitError::QueuedGets { gets_max: self.queue.slots() }))
    }

    /// A read whose answer is known without asking the device, as one that was queued.
    ///
    /// # Errors
    /// As [`get_queued`](Self::get_queued).
    pub fn get_known(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<QueuedGet, HostError> {
        self.make_place()?;
        let status = if value.is_some() { Status::SUCCESS } else { Status::KEY_DOES_NOT_EXIST };
        let (gets_max, value) = (self.queue.slots(), value.unwrap_or_default());
        let gets = &mut self.queued.gets;
        let taken = gets.take(key, State::Answered(status));
        let get = taken.ok_or(SubmitError::QueuedGets { gets_max })?;
        let place = gets.place_mut(&get);
        place.value.extend_from_slice(value);
        place.bytes = value.len();
        Ok(get)
    }

    fn submit_get(&mut self, native: Option<&Key>, key: &[u8]) -> Result<Ticket, HostError> {
        loop {
            self.make_room()?;
            let submitted = match native {
                Some(key) => self.queue.retrieve(key, STAGING_BYTES as u32),
                None => self.queue.retrieve_indirect(key, STAGING_BYTES as u32),
            };
            match submitted {
                Err(SubmitError::Full) if self.queue.in_flight() > 0 => self.wait_for_completion()?,
                submitted => return submitted.map_err(HostError::Submit),
            }
        }
    }

    /// Waits until a place is free, if one will be.
    fn make_place(&mut self) -> Result<(), HostError> {
        if self.queued.gets.has_place()? {
            return Ok(());
        }
        self.wait_until(|client| client.queued.gets.has_free_place())
    }

    /// Whether a queued read has been answered. Lets the device make progress once, and does not wait.
    ///
    /// # Errors
    /// [`HostError`]; [`ForeignGet`](SubmitError::ForeignGet) for another client's.
    pub fn is_answered(&mut self, get: &QueuedGet) -> Result<bool, HostError> {
        self.queued.gets.place(get)?;
        if !self.queued.gets.is_answered(get) {
            self.announce();
            self.driver.drive();
            self.reap()?;
        }
        Ok(self.queued.gets.is_answered(get))
    }

    /// Waits until one of these reads has been answered, and tells which; `None` if there is none to wait for.
    ///
    /// # Errors
    /// As [`is_answered`](Self::is_answered).
    pub fn wait_any(&mut self, gets: &[QueuedGet]) -> Result<Option<usize>, HostError> {
        for get in gets {
            self.queued.gets.place(get)?;
        }
        let first = |client: &Self| gets.iter().position(|get| client.queued.gets.is_answered(get));
        if gets.is_empty() {
            return Ok(None);
        }
        if first(self).is_none() {
            self.wait_until(|client| first(client).is_some())?;
        }
        Ok(first(self))
    }

    /// Waits for a queued read and gives its value; `None` if there is no such key. A value that did not fit a staging page is read again, as
    /// a whole: it is that of this moment.
    ///
    /// # Errors
    /// [`HostError`] of the read. It is given up then.
    pub fn finish_get(&mut self, get: QueuedGet) -> Result<Option<Vec<u8>>, HostError> {
        let bytes = match self.answered(&get) {
            Ok(Some(bytes)) => bytes,
            other => return self.finished(&get, other.map(|_| None)),
        };
        let place = self.queued.gets.place_mut(&get);
        if place.value.len() < bytes {
            let key = std::mem::take(&mut place.key);
            let value = self.get_again(&key, bytes);
            return self.finished(&get, value);
        }
        let value =
            if bytes > STAGING_BYTES { std::mem::take(&mut place.value) } else { place.value.clone() };
        self.finished(&get, Ok(Some(value)))
    }

    /// As [`finish_get`](Self::finish_get), into the beginning of `buffer`: the size of the whole value in bytes.
    ///
    /// # Errors
    /// As [`finish_get`](Self::finish_get).
    pub fn finish_get_into(&mut self, get: QueuedGet, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let bytes = match self.answered(&get) {
            Ok(Some(bytes)) => bytes,
            other => return self.finished(&get, other),
        };
        let place = self.queued.gets.place_mut(&get);
        let wanted = bytes.min(buffer.len());
        let Some(value) = place.value.get(..wanted) else {
            let key = std::mem::take(&mut place.key);
            let read = self.get_again_into(&key, buffer);
            return self.finished(&get, read);
        };
        buffer[..wanted].copy_from_slice(value);
        self.finished(&get, Ok(Some(bytes)))
    }

    /// Waits for a read: the size of its value.
    fn answered(&mut self, get: &QueuedGet) -> Result<Option<usize>, HostError> {
        if let State::InFlight(_) = self.queued.gets.place(get)?.state {
            self.wait_until(|client| client.queued.gets.is_answered(get))?;
        }
        let place = self.queued.gets.place(get)?;
        match place.state {
            State::Answered(status) if !status.is_success() => found(Err(status)),
            _ => Ok(Some(place.bytes)),
        }
    }

    /// Gives the place of a read back that was answered; one that was not keeps its place until it is.
    fn finished<R>(&mut self, get: &QueuedGet, outcome: Result<R, HostError>) -> Result<R, HostError> {
        if self.queued.gets.is_answered(get) {
            self.queued.gets.release(get.place);
        }
        outcome
    }

    #[cold]
    fn get_again(&mut self, key: &[u8], bytes: usize) -> Result<Option<Vec<u8>>, HostError> {
        if key.len() > Key::MAX_LEN { self.get_indirect(key) } else { self.get_large(&Key::new(key)?, bytes) }
    }

    #[cold]
    fn get_again_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        if key.len() <= Key::MAX_LEN {
            return self.get_into(&Key::new(key)?, buffer);
        }
        self.get_indirect_prefix(key, buffer.len(), |value, bytes| {
            buffer[..value.len()].copy_from_slice(value);
            bytes
        })
    }
}
