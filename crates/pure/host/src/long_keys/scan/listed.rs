// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches of devices without iterators: every key is listed, and the value of those that are wanted is read.

use std::collections::VecDeque;

use saker_long_keys::KeyDigest;

use super::Visit;
use super::cursor::Shown;
use crate::client::{BATCH_BYTES, Course};
use crate::driver::Driver;
use crate::error::HostError;
use crate::long_keys::KvStoreClient;

/// Keys that are listed before their values are read.
const PAGE_KEYS: usize = 256;

/// How far the list is.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Where it goes on behind the page.
    from: Option<Vec<u8>>,
    /// Keys whose values have not been read.
    page: VecDeque<Vec<u8>>,
    /// Nothing is behind the page.
    is_last: bool,
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// The rest of a page, or as much of it as a batch has.
    pub(super) fn scan_listed(
        &mut self,
        listed: &mut Listed,
        course: Course<'_>,
        visit: Visit<'_>,
    ) -> Result<Shown, HostError> {
        if listed.page.is_empty() {
            self.list_on(listed)?;
        }
        let mut bytes = 0;
        while bytes < BATCH_BYTES as usize {
            let Some(key) = listed.page.pop_front() else { break };
            if !course.range.contains(&key) {
                continue;
            }
            // Deleted meanwhile: passed over.
            let value = if course.keys_only { Some(Vec::new()) } else { self.get(&key)? };
            let Some(value) = value else { continue };
            bytes += key.len() + value.len();
            if !visit(&key, &value) {
                return Ok(Shown::Stopped);
            }
        }
        Ok(if listed.page.is_empty() && listed.is_last { Shown::Last } else { Shown::More })
    }

    /// The next page.
    fn list_on(&mut self, listed: &mut Listed) -> Result<(), HostError> {
        let keys = self.list(listed.from.as_deref()).take(PAGE_KEYS + 1);
        let mut page = keys.collect::<Result<VecDeque<_>, _>>()?;
        listed.is_last = page.len() <= PAGE_KEYS;
        listed.from = if listed.is_last { None } else { page.pop_back() };
        listed.page = page;
        Ok(())
    }
}
