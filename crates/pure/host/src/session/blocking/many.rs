// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many keys at once: what is not known here is asked for in groups, one command for many keys.

use super::super::hub::{Cover, Refusal};
use super::super::wire::{Command, Wire};
use super::Session;
use super::reads::{ask_presence, ask_value, exists};
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError, check};
use saker_nvme::group::results::{OpResult, ResultsReader};
use saker_nvme::group::{COUNT_BYTES, Form, Op, Packer, entry_bytes};
use saker_nvme::{Key, Status};
use saker_sim::Free;

/// Keys of one command.
const KEYS_MAX: usize = 64;
/// Longer results are not fetched: their keys are asked for one by one, as many at a time as there are slots.
const RESULTS_BYTES_MAX: u32 = 1 << 20;

/// A key that only the device knows, and the version of its stripe before it was asked.
type Unknown = (usize, u64);

impl<W: Wire, T: Driver> Session<W, T> {
    /// The values of many keys, in their order; those that the device has are asked for together.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read.
    pub fn multi_get(&mut self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        let seen = |session: &Self, key: &Key| match session.hub.cached(key, &mut Free, <[u8]>::to_vec) {
            Some(value) => Ok(Some(value)),
            None => session.hub.look(key, &mut Free, |write| write.map(<[u8]>::to_vec)),
        };
        let (mut found, unknown) = self.sort_out(keys, seen);
        self.in_groups(Op::Retrieve, keys, &unknown, |session, n, version, result| {
            if result.status.is(Status::KEY_DOES_NOT_EXIST) {
                found[n] = Some(None);
            } else if let Some(value) = result.value {
                check(result.status)?;
                session.hub.fill(&keys[n], value, version, &mut Free);
                found[n] = Some(Some(value.to_vec()));
            }
            Ok(())
        })?;
        self.singly(keys, found, |session, rest| session.many(rest, seen, ask_value, Self::retrieved))
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// As [`multi_get`](Self::multi_get).
    pub fn multi_exist(&mut self, keys: &[Key]) -> Result<Vec<bool>, HostError> {
        let (mut found, unknown) = self.sort_out(keys, Self::presence);
        self.in_groups(Op::Exist, keys, &unknown, |_, n, _, result| {
            found[n] = Some(exists(result.status)?);
            Ok(())
        })?;
        let end = |session: &mut Self, _: &Key, id, _| exists(session.answer(id, |reply| reply.status)?);
        self.singly(keys, found, |session, rest| session.many(rest, Self::presence, ask_presence, end))
    }

    /// Stores those of the pairs whose keys are not there; which were, in their order. As many [`put_if_absent`], but the device
    /// is asked about many keys at once.
    ///
    /// # Errors
    /// [`HostError`]; pairs before the one that failed may have been stored.
    ///
    /// [`put_if_absent`]: Self::put_if_absent
    pub fn multi_put_if_absent(&mut self, pairs: &[(Key, &[u8])]) -> Result<Vec<bool>, HostError> {
        let keys: Vec<Key> = pairs.iter().map(|(key, _)| *key).collect();
        let (_, unknown) = self.sort_out(&keys, Self::presence);
        // Of the keys that the device does not have, the versions as of which it has not.
        let mut absent: Vec<Option<u64>> = vec![None; pairs.len()];
        self.in_groups(Op::Exist, &keys, &unknown, |_, n, version, result| {
            absent[n] = (!exists(result.status)?).then_some(version);
            Ok(())
        })?;
        let stored = |((key, value), absent): (&(Key, &[u8]), Option<u64>)| match absent {
            Some(version) => self.put_absent(key, value, version),
            None => self.put_if_absent(key, value),
        };
        pairs.iter().zip(absent).map(stored).collect()
    }

    /// Stores the pair if nothing has happened to its stripe since the device did not have it.
    fn put_absent(&mut self, key: &Key, value: &[u8], version: u64) -> Result<bool, HostError> {
        if value.len() > self.value_bytes_max as usize {
            return Err(self.too_long(value));
        }
        match self.hub.write_if(self.lane, key, Some(value), Cover::Session, Some(version), &mut Free) {
            Ok(()) => Ok(true),
            Err(Refusal::Broken(error)) => Err(error),
            Err(Refusal::Busy | Refusal::Changed) => self.put_if_absent(key, value),
        }
    }

    /// What is known here of each key, and the keys that the device has to be asked about.
    fn sort_out<R>(
        &self,
        keys: &[Key],
        seen: impl Fn(&Self, &Key) -> Result<R, u64>,
    ) -> (Vec<Option<R>>, Vec<Unknown>) {
        let mut unknown = Vec::new();
        let look = |(n, key)| seen(self, key).map_err(|version| unknown.push((n, version))).ok();
        let found = keys.iter().enumerate().map(look).collect();
        (found, unknown)
    }

    /// Asks about keys in groups, as far as the device takes them; what `take` is not shown has to be asked singly.
    fn in_groups(
        &mut self,
        op: Op,
        keys: &[Key],
        unknown: &[Unknown],
        mut take: impl FnMut(&mut Self, usize, u64, OpResult<'_>) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        for chunk in unknown.chunks(KEYS_MAX).filter(|chunk| chunk.len() > 1) {
            let Some(results) = self.group_of(op, keys, chunk)? else { return Ok(()) };
            if results.is_empty() {
                // Nothing is to be told: every operation succeeded.
                for (n, version) in chunk {
                    let result = OpResult { status: Status::SUCCESS, bytes: 0, value: Some(&[]) };
                    take(self, *n, *version, result)?;
                }
                continue;
            }
            let mut reader = ResultsReader::new(&results).ok_or(ProtocolError::Group)?;
            for (n, version) in chunk {
                take(self, *n, *version, reader.next().ok_or(ProtocolError::Group)?)?;
            }
        }
        Ok(())
    }

    /// One group and its results; `None`: the device takes none, or its results cannot be had.
    fn group_of(&mut self, op: Op, keys: &[Key], chunk: &[Unknown]) -> Result<Option<Vec<u8>>, HostError> {
        let Some(id) = self.hub.name_group(self.lane) else { return Ok(None) };
        let (form, payload) = (Form::All(op), payload(op, chunk.iter().map(|(n, _)| &keys[*n])));
        let call = self.call(Command::Group { form, id, payload: &payload })?;
        let (status, bytes) = self.answer(call, |reply| (reply.status, reply.dw1))?;
        if status.is(Status::INVALID_OPCODE) {
            self.hub.has_no_groups(self.lane);
        }
        if !status.is_success() || bytes > RESULTS_BYTES_MAX {
            return Ok(None);
        }
        if bytes == 0 {
            return Ok(Some(Vec::new()));
        }
        let call = self.call(Command::Results { id, bytes })?;
        let (status, results) = self.answer(call, |reply| (reply.status, reply.data.clone()))?;
        Ok(status.is_success().then_some(results))
    }

    /// What is still to be found is asked for by itself.
    fn singly<R>(
        &mut self,
        keys: &[Key],
        mut found: Vec<Option<R>>,
        ask: impl FnOnce(&mut Self, &[Key]) -> Result<Vec<R>, HostError>,
    ) -> Result<Vec<R>, HostError> {
        let rest: Vec<usize> = (0..keys.len()).filter(|n| found[*n].is_none()).collect();
        if !rest.is_empty() {
            let keys: Vec<Key> = rest.iter().map(|n| keys[*n]).collect();
            for (n, value) in rest.into_iter().zip(ask(self, &keys)?) {
                found[n] = Some(value);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

fn payload<'k>(op: Op, keys: impl ExactSizeIterator<Item = &'k Key>) -> Vec<u8> {
    let mut buffer = vec![0; COUNT_BYTES + keys.len() * entry_bytes(op, Key::MAX_LEN, 0)];
    let mut packer = Packer::new(Form::All(op), &mut buffer).expect("room for the count");
    keys.for_each(|key| packer.push(op, key.as_bytes(), &[]).expect("room for the longest keys"));
    let bytes = packer.finish();
    buffer.truncate(bytes);
    buffer
}
