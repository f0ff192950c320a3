// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Going through the keys of a device in pages, so that each key can be used between two of them.

use crate::error::CliError;
use crate::store::{ListOrder, Store};

/// Keys held at a time: 255 KB at most.
const PAGE_KEYS: usize = 1024;

/// Which keys are wanted, and how many.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The place in the device's list order to begin at.
    pub start: Option<Vec<u8>>,
    /// The least key, by bytes.
    pub from: Option<Vec<u8>>,
    /// The first key, by bytes, that is no longer wanted.
    pub to: Option<Vec<u8>>,
    /// What every key begins with.
    pub prefix: Vec<u8>,
    /// How many at most.
    pub limit: Option<u64>,
}

impl Wanted {
    fn admits(&self, key: &[u8]) -> bool {
        self.from.as_deref().is_none_or(|from| key >= from)
            && self.to.as_deref().is_none_or(|to| key < to)
            && key.starts_with(&self.prefix)
    }

    /// Whether no key at or behind `key` is wanted, in a list by bytes.
    fn is_behind(&self, key: &[u8]) -> bool {
        self.to.as_deref().is_some_and(|to| key >= to)
            || (key > self.prefix.as_slice() && !key.starts_with(&self.prefix))
    }

    /// Where a list by bytes has to begin. An empty prefix begins at the beginning.
    fn first(&self) -> Option<&[u8]> {
        let prefix = Some(self.prefix.as_slice()).filter(|p| !p.is_empty());
        [self.start.as_deref(), self.from.as_deref(), prefix].into_iter().flatten().max()
    }
}

/// A walk over the wanted keys of a store, in its list order.
pub struct Walk {
    wanted: Wanted,
    by_bytes: bool,
    from: Option<Vec<u8>>,
    /// Whether the key `from` has been seen already.
    from_seen: bool,
    taken: u64,
    ended: bool,
}

impl Walk {
    /// A walk that has not begun.
    pub fn new(store: &dyn Store, wanted: Wanted) -> Self {
        let by_bytes = store.list_order() == ListOrder::Bytes;
        let from = if by_bytes { wanted.first() } else { wanted.start.as_deref() }.map(<[u8]>::to_vec);
        Self { wanted, by_bytes, from, from_seen: false, taken: 0, ended: false }
    }

    /// Replaces `page` with the next wanted keys. Whether there were any. Keys that come or go during the
    /// walk may be seen or not; all others are seen once.
    ///
    /// # Errors
    /// Those of the device.
    pub fn next(&mut self, store: &mut dyn Store, page: &mut Vec<Vec<u8>>) -> Result<bool, CliError> {
        page.clear();
        while page.is_empty() && !self.ended {
            self.fill(store, page)?;
        }
        Ok(!page.is_empty())
    }

    /// One listing, of a page of keys at most, wanted or not.
    fn fill(&mut self, store: &mut dyn Store, page: &mut Vec<Vec<u8>>) -> Result<(), CliError> {
        let from = self.from.take();
        let seen = if self.from_seen { from.clone() } else { None };
        let (mut visited, mut stopped) = (0, false);
        store.list(from.as_deref(), &mut |key| {
            if seen.as_deref() == Some(key) {
                return true;
            }
            visited += 1;
            stopped = !self.visit(key, page);
            if visited == PAGE_KEYS {
                self.from = Some(key.to_vec());
            }
            !stopped && visited < PAGE_KEYS
        })?;
        self.from_seen = true;
        self.ended = stopped || visited < PAGE_KEYS;
        Ok(())
    }

    /// Takes `key` if it is wanted. Whether to go on.
    fn visit(&mut self, key: &[u8], page: &mut Vec<Vec<u8>>) -> bool {
        if self.is_full() || (self.by_bytes && self.wanted.is_behind(key)) {
            return false;
        }
        if self.wanted.admits(key) {
            page.push(key.to_vec());
            self.taken += 1;
        }
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.wanted.limit.is_some_and(|limit| self.taken >= limit)
    }
}
