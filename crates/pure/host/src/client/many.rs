// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many keys at once, and batches as they are packed.

use saker_nvme::group::{Form, Op};

use super::batch::WriteBatch;
use super::groups::{Entry, Shown, existed};
use super::{KvClient, Values};
use crate::driver::Driver;
use crate::error::{HostError, KvError};

impl<T: Driver> KvClient<T> {
    /// The values of the keys, in their order. For long keys see [`GroupBuilder::store`](super::GroupBuilder::store).
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read.
    pub fn multi_get(&mut self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        let mut values = Vec::with_capacity(keys.len());
        self.show_values(keys, &mut |value| values.push(value.map(<[u8]>::to_vec)))?;
        Ok(values)
    }

    /// The values of the keys, in their order, in one piece of memory: what `values` held before is gone.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read.
    pub fn multi_get_into(
        &mut self,
        keys: &[impl AsRef<[u8]>],
        values: &mut Values,
    ) -> Result<(), HostError> {
        values.clear();
        self.show_values(keys, &mut |value| values.push(value))
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be looked up.
    pub fn multi_exist(&mut self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<bool>, HostError> {
        let (mut there, mut failed) = (Vec::with_capacity(keys.len()), None);
        self.show_keys(Op::Exist, keys, &mut |outcome| match existed(outcome.map(|_| None)) {
            Ok(is_there) => there.push(is_there),
            Err(error) => _ = failed.get_or_insert(error),
        })?;
        failed.map_or(Ok(there), Err)
    }

    fn show_values(
        &mut self,
        keys: &[impl AsRef<[u8]>],
        shown: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), HostError> {
        let mut failed = None;
        self.show_keys(Op::Retrieve, keys, &mut |outcome| match outcome {
            Ok(value) => shown(value),
            Err(HostError::Kv(KvError::NotFound)) => shown(None),
            Err(error) => _ = failed.get_or_insert(error),
        })?;
        failed.map_or(Ok(()), Err)
    }

    fn show_keys(&mut self, op: Op, keys: &[impl AsRef<[u8]>], shown: Shown<'_>) -> Result<(), HostError> {
        let entries: Vec<_> = keys.iter().map(|k| Entry { op, key: k.as_ref(), value: &[] }).collect();
        self.show_group(Form::All(op), &entries, shown)
    }

    /// Sends a batch as it is packed, and shows what became of its writes, in the order in which their keys came. False: nothing was done,
    /// because it takes several commands, or the device has no groups or no room for the whole.
    pub(crate) fn write_packed(&mut self, batch: &WriteBatch, shown: Shown<'_>) -> Result<bool, HostError> {
        let Some((form, payload)) = batch.packed() else { return Ok(false) };
        if batch.len() < 2 || payload.len() > self.group_bytes_max() || !self.has_groups() {
            return Ok(false);
        }
        self.settle_all()?;
        let Some(results) = self.send_packed(form, payload, (batch.len(), 0))? else { return Ok(false) };
        if results.is_empty() {
            return Ok(true);
        }
        let entries: Vec<_> = batch.writes().map(Entry::from).collect();
        self.take_results(&results, &entries, shown)?;
        Ok(true)
    }
}

impl<'a> From<(&'a [u8], Option<&'a [u8]>)> for Entry<'a> {
    /// A write: `None` deletes.
    fn from((key, value): (&'a [u8], Option<&'a [u8]>)) -> Self {
        let op = if value.is_some() { Op::Store } else { Op::Delete };
        Self { op, key, value: value.unwrap_or_default() }
    }
}
