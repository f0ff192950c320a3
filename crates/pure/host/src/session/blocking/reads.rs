// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading: from what is buffered, else from the device.

use std::collections::VecDeque;

use saker_nvme::{Key, Status};
use saker_sim::Free;

use super::super::calls::CallId;
use super::super::hub::{Cover, Refusal};
use super::super::wire::{Command, Wire};
use super::Session;
use crate::driver::Driver;
use crate::error::{HostError, check};

/// What a first Retrieve asks for in bytes: what a slot's own page takes.
const FIRST_BYTES: u32 = 4096;

impl<W: Wire, T: Driver> Session<W, T> {
    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &Key) -> Result<Option<Vec<u8>>, HostError> {
        if let Some(value) = self.hub.cached(key, &mut Free, <[u8]>::to_vec) {
            return Ok(Some(value));
        }
        match self.hub.look(key, &mut Free, |write| write.map(<[u8]>::to_vec)) {
            Ok(value) => Ok(value),
            Err(version) => self.retrieve(key, version),
        }
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_into(&mut self, key: &Key, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let copy = |buffer: &mut [u8], value: &[u8]| {
            let bytes = buffer.len().min(value.len());
            buffer[..bytes].copy_from_slice(&value[..bytes]);
            value.len()
        };
        if let Some(length) = self.hub.cached(key, &mut Free, |value| copy(buffer, value)) {
            return Ok(Some(length));
        }
        match self.hub.look(key, &mut Free, |write| write.map(|value| copy(buffer, value))) {
            Ok(length) => Ok(length),
            Err(version) => Ok(self.retrieve(key, version)?.map(|value| copy(buffer, &value))),
        }
    }

    /// Whether there is such a key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &Key) -> Result<bool, HostError> {
        match self.presence(key) {
            Ok(exists) => Ok(exists),
            Err(_) => self.exists_stored(key),
        }
    }

    /// Whether there is such a key, if this client knows; otherwise the version of its stripe.
    pub(super) fn presence(&self, key: &Key) -> Result<bool, u64> {
        if self.hub.is_cached(key) {
            Ok(true)
        } else {
            self.hub.look(key, &mut Free, |write| write.is_some())
        }
    }

    fn exists_stored(&mut self, key: &Key) -> Result<bool, HostError> {
        let id = self.call(Command::Exist(key))?;
        let status = self.answer(id, |reply| reply.status)?;
        exists(status)
    }

    /// The device's value; longer ones are asked for again with their length. `version` is what the key's stripe had before.
    fn retrieve(&mut self, key: &Key, version: u64) -> Result<Option<Vec<u8>>, HostError> {
        let id = self.call(Command::Retrieve(key, FIRST_BYTES))?;
        self.retrieved(key, id, version)
    }

    pub(super) fn retrieved(
        &mut self,
        key: &Key,
        mut id: CallId,
        version: u64,
    ) -> Result<Option<Vec<u8>>, HostError> {
        loop {
            let (status, bytes, value) = self.answer(id, |r| (r.status, r.dw0, r.data.clone()))?;
            if status.is(Status::KEY_DOES_NOT_EXIST) {
                return Ok(None);
            }
            check(status)?;
            if value.len() == bytes as usize {
                self.hub.fill(key, &value, version, &mut Free);
                return Ok(Some(value));
            }
            id = self.call(Command::Retrieve(key, bytes))?;
        }
    }

    /// Looks at every key, asks the device for the rest with as many commands in flight as there are slots for.
    pub(super) fn many<R>(
        &mut self,
        keys: &[Key],
        seen: impl Fn(&Self, &Key) -> Result<R, u64>,
        ask: fn(&Key) -> Command<'_>,
        end: impl Fn(&mut Self, &Key, CallId, u64) -> Result<R, HostError>,
    ) -> Result<Vec<R>, HostError> {
        let mut found: Vec<Option<R>> = keys.iter().map(|_| None).collect();
        let mut asked: VecDeque<Asked> = VecDeque::new();
        let mut outcome = Ok(());
        for (n, key) in keys.iter().enumerate() {
            let version = match seen(self, key) {
                Ok(known) => {
                    found[n] = Some(known);
                    continue;
                }
                Err(version) => version,
            };
            while outcome.is_ok() {
                match self.hub.call(self.lane, ask(key)) {
                    Ok(id) => {
                        asked.push_back(Asked { n, id, version });
                        break;
                    }
                    Err(Refusal::Broken(error)) => outcome = Err(error),
                    Err(Refusal::Busy | Refusal::Changed) => {
                        outcome = self.end_first(keys, &mut asked, &mut found, &end);
                    }
                }
            }
        }
        while outcome.is_ok() && !asked.is_empty() {
            outcome = self.end_first(keys, &mut asked, &mut found, &end);
        }
        asked.into_iter().for_each(|asked| self.hub.abandon(self.lane, asked.id));
        outcome.map(|()| found.into_iter().flatten().collect())
    }

    /// Waits for the first of the commands in flight, or for a slot if there is none.
    fn end_first<R>(
        &mut self,
        keys: &[Key],
        asked: &mut VecDeque<Asked>,
        found: &mut [Option<R>],
        end: &impl Fn(&mut Self, &Key, CallId, u64) -> Result<R, HostError>,
    ) -> Result<(), HostError> {
        let Some(Asked { n, id, version }) = asked.pop_front() else {
            self.driver.drive();
            self.hub.advance(self.lane, &mut Free);
            return Ok(());
        };
        found[n] = Some(end(self, &keys[n], id, version)?);
        Ok(())
    }

    /// Stores the pair if the key is not there; whether it was stored. Among the sessions of this client nothing comes
    /// between the two.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_if_absent(&mut self, key: &Key, value: &[u8]) -> Result<bool, HostError> {
        if value.len() > self.value_bytes_max as usize {
            return Err(self.too_long(value));
        }
        let mut wait = self.patience.wait();
        loop {
            match self.try_if_absent(key, value)? {
                Some(stored) => return Ok(stored),
                None => wait.drive(&mut self.driver)?,
            }
            self.hub.push_out_all(&mut Free);
        }
    }

    /// One attempt; `None` if the key's stripe changed meanwhile, or there was no room.
    fn try_if_absent(&mut self, key: &Key, value: &[u8]) -> Result<Option<bool>, HostError> {
        let version = match self.presence(key) {
            Ok(true) => return Ok(Some(false)),
            // A delete is on its way: the device's answer would be of no use before it has come to its end.
            Ok(false) => return Ok(None),
            Err(version) => version,
        };
        if self.exists_stored(key)? {
            return Ok(Some(false));
        }
        match self.hub.write_if(self.lane, key, Some(value), Cover::Session, Some(version), &mut Free) {
            Ok(()) => Ok(Some(true)),
            Err(Refusal::Broken(error)) => Err(error),
            Err(Refusal::Busy | Refusal::Changed) => Ok(None),
        }
    }
}

/// A command on its way, for key number `n`, and the version of the key's stripe before it.
struct Asked {
    n: usize,
    id: CallId,
    version: u64,
}

pub(super) fn ask_value(key: &Key) -> Command<'_> {
    Command::Retrieve(key, FIRST_BYTES)
}

pub(super) fn ask_presence(key: &Key) -> Command<'_> {
    Command::Exist(key)
}

pub(super) fn exists(status: Status) -> Result<bool, HostError> {
    if status.is(Status::KEY_DOES_NOT_EXIST) { Ok(false) } else { check(status).map(|()| true) }
}
