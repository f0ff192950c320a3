// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scanning: what is buffered and what the device lists, together.
//!
//! First the keys of all writes that have not come to their end are copied, then the device's pages are read, then values
//! are got one by one. A key that is there all the time is in the copy or, if its write had come to its end by then, on a
//! page; its value is one that was current while the scan went on. List is what
//! every device has, and its order is the device's own; `range` asks those with snapshots for more.

use std::collections::BTreeSet;

use saker_nvme::Key;
use saker_nvme::kv_list::ListReader;

use super::super::wire::{Command, Wire};
use super::Session;
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError, check};

/// Bytes of a List answer.
const PAGE_BYTES: u32 = 4096;

impl<W: Wire, T: Driver> Session<W, T> {
    /// Shows every pair whose key `wanted` takes to `visit`, each once, in no order. Pairs that are there throughout are
    /// shown with a value that was current during the scan; those that come or go meanwhile may be.
    ///
    /// # Errors
    /// [`HostError`]; pairs may have been shown before.
    pub fn scan(
        &mut self,
        wanted: impl Fn(&Key) -> bool,
        mut visit: impl FnMut(Key, Vec<u8>),
    ) -> Result<(), HostError> {
        let mut pending: BTreeSet<Key> = self.hub.pending().into_iter().filter(&wanted).collect();
        let mut show = |session: &mut Self, keys: &[Key]| -> Result<(), HostError> {
            let values = session.multi_get(keys)?;
            let there = keys.iter().zip(values).filter_map(|(key, value)| Some((*key, value?)));
            there.for_each(|(key, value)| visit(key, value));
            Ok(())
        };
        let buffered: Vec<Key> = pending.iter().copied().collect();
        show(self, &buffered)?;
        let mut from: Option<Key> = None;
        loop {
            let page = self.page(from.as_ref())?;
            let new: Vec<Key> = page
                .iter()
                .filter(|key| Some(**key) != from && wanted(key) && !pending.contains(key))
                .copied()
                .collect();
            show(self, &new)?;
            let last = page.last().copied();
            if last.is_none() || last == from {
                return Ok(());
            }
            // The page begins with the last key again if that is still there; it has been shown.
            from = last;
            pending.extend(last.filter(|key| wanted(key)));
        }
    }

    /// A page of keys from `from` on.
    fn page(&mut self, from: Option<&Key>) -> Result<Vec<Key>, HostError> {
        let id = self.call(Command::List(from, PAGE_BYTES))?;
        let (status, data) = self.answer(id, |reply| (reply.status, reply.data.clone()))?;
        check(status)?;
        let mut keys = Vec::new();
        for key in ListReader::new(&data)? {
            keys.push(key?);
        }
        if keys.iter().skip(1).any(|key| Some(key) == from) {
            return Err(ProtocolError::ListOrder.into());
        }
        Ok(keys)
    }
}
