// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of keys of any length. Where the device takes no long keys, these go beside the group, through their envelopes.

use saker_long_keys::KeyDigest;
use saker_nvme::Key;
use saker_nvme::group::{Form, Op};

use super::route::{Route, route};
use super::store::KvStoreClient;
use crate::client::{Entry, OpOutcome, Shown, Values, WriteBatch, existed};
use crate::driver::Driver;
use crate::error::{HostError, KvError};

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Writes a batch: see [`WriteBatch`]. Deletes of keys that are not there succeed.
    ///
    /// # Errors
    /// [`HostError::Batch`] with the first write that failed; others were carried out. [`HostError::ReservedKey`]: none was.
    pub fn write(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        if batch.keys().may_be_reserved {
            let mut stored = batch.iter().filter(|(_, value)| value.is_some());
            stored.try_for_each(|(key, _)| self.check_storable(key))?;
        }
        if batch.is_atomic() {
            return self.write_atomic(batch);
        }
        let mut failed = None;
        let keys = batch.keys();
        if keys.are_native || (keys.are_tellable && self.has_long_keys_by_pointer()) {
            let mut writes = batch.writes();
            let mut shown = |outcome: Result<Option<&[u8]>, HostError>| {
                let key = writes.next().map(|(key, _)| key).unwrap_or_default();
                note(&mut failed, key, existed(outcome.map(|_| None)).map(drop));
            };
            if self.client.write_packed(batch, &mut shown)? {
                return failed.map_or(Ok(()), Err);
            }
        }
        self.write_split(batch)
    }

    /// In as many commands as it takes.
    fn write_split(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        let (mut natives, mut long) = (Vec::new(), Vec::new());
        for (key, value) in batch.iter() {
            if self.is_grouped(key)? {
                natives.push(Entry::from((key, value)));
            } else {
                long.push((key, value));
            }
        }
        let outcomes = self.client.group(form_of(&natives), &natives)?;
        let mut failed = None;
        for (e, outcome) in natives.iter().zip(outcomes) {
            note(&mut failed, e.key, existed(outcome).map(drop));
        }
        for (key, value) in long {
            let done = match value {
                Some(value) => self.put(key, value),
                None => self.delete(key).map(drop),
            };
            note(&mut failed, key, done);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Carries operations out, in groups where the device has them, and shows what became of each in their order. A key that is
    /// written appears once among them.
    ///
    /// # Errors
    /// [`HostError`] if the commands could not be carried out; what was done of the operations that were not shown is not known then.
    pub fn carry_out(&mut self, entries: &[Entry<'_>], shown: Shown<'_>) -> Result<(), HostError> {
        // A group of one is more work than its operation, if that is one command.
        let mut all_grouped = entries.len() > 1 || !entries.iter().all(|e| self.client.is_one_step(e));
        for e in entries {
            let is_refused = e.op == Op::Store && self.check_storable(e.key).is_err();
            all_grouped = all_grouped && !is_refused && self.is_grouped(e.key)?;
        }
        if all_grouped {
            return self.client.show_group(form_of(entries), entries, shown);
        }
        for e in entries {
            let outcome = self.carry_out_alone(e);
            shown(outcome.as_ref().map(Option::as_deref).map_err(Clone::clone));
        }
        Ok(())
    }

    fn carry_out_alone(&mut self, e: &Entry<'_>) -> OpOutcome {
        let missing = HostError::Kv(KvError::NotFound);
        let exists = |exists| if exists { Ok(None) } else { Err(missing.clone()) };
        match e.op {
            Op::Store => self.put(e.key, e.value).map(|()| None),
            Op::Delete => self.delete(e.key).and_then(exists),
            Op::Exist => self.exists(e.key).and_then(exists),
            Op::Retrieve => self.get(e.key)?.map(Some).ok_or(missing),
        }
    }

    /// The values of the keys, in their order.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read.
    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        if self.are_grouped(keys)? {
            return self.client.multi_get(keys);
        }
        let natives = self.natives(keys)?;
        let mut found = self.client.multi_get(&natives)?.into_iter();
        self.in_order(keys, || found.next().unwrap_or_default(), |store, key| store.get(key))
    }

    /// The values of the keys, in their order, in one piece of memory: what `values` held before is gone.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read; `values` holds some of the others then.
    pub fn multi_get_into(&mut self, keys: &[&[u8]], values: &mut Values) -> Result<(), HostError> {
        if self.are_grouped(keys)? {
            return self.client.multi_get_into(keys, values);
        }
        values.fill(self.multi_get(keys)?.iter().map(Option::as_deref));
        Ok(())
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be looked up.
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        let natives = self.natives(keys)?;
        let mut found = self.client.multi_exist(&natives)?.into_iter();
        self.in_order(keys, || found.next().unwrap_or_default(), |store, key| store.exists(key))
    }

    /// Tells the device that these keys are read together: see [`KvClient::prefetch_group`](crate::KvClient::prefetch_group).
    /// `name` has 1 to 16 bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn prefetch_group(&mut self, name: &[u8], keys: &[&[u8]]) -> Result<bool, HostError> {
        let name = Key::new(name)?;
        let stored_under = |key: &&[u8]| match route(key, &self.digest)? {
            Route::Envelope(at) => Ok(at),
            Route::Native(key) => Ok(key),
        };
        let keys: Vec<Key> = keys.iter().map(stored_under).collect::<Result<_, HostError>>()?;
        self.client.prefetch_group(&name, &keys)
    }

    /// Whether a key goes into groups; the others go through their envelopes.
    fn is_grouped(&self, key: &[u8]) -> Result<bool, HostError> {
        Ok(matches!(route(key, &self.digest)?, Route::Native(_)) || self.is_by_pointer(key))
    }

    fn are_grouped(&self, keys: &[&[u8]]) -> Result<bool, HostError> {
        for key in keys {
            if !self.is_grouped(key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn natives<'k>(&self, keys: &[&'k [u8]]) -> Result<Vec<&'k [u8]>, HostError> {
        let mut natives = Vec::with_capacity(keys.len());
        for key in keys {
            if self.is_grouped(key)? {
                natives.push(*key);
            }
        }
        Ok(natives)
    }

    /// One answer for each key: from the group, or looked up in envelopes.
    fn in_order<R>(
        &mut self,
        keys: &[&[u8]],
        mut native: impl FnMut() -> R,
        mut long: impl FnMut(&mut Self, &[u8]) -> Result<R, HostError>,
    ) -> Result<Vec<R>, HostError> {
        let one = |key: &&[u8]| if self.is_grouped(key)? { Ok(native()) } else { long(self, key) };
        keys.iter().map(one).collect()
    }
}

/// One type for all, if they have one.
fn form_of(entries: &[Entry<'_>]) -> Form {
    match entries.first() {
        Some(first) if entries.iter().all(|e| e.op == first.op) => Form::All(first.op),
        _ => Form::Mixed,
    }
}

fn note(failed: &mut Option<HostError>, key: &[u8], done: Result<(), HostError>) {
    if let Err(error) = done {
        failed.get_or_insert(HostError::Batch { key: key.to_vec(), error: Box::new(error) });
    }
}
