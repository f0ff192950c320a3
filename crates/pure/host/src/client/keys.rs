// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Listing keys, page by page.

use saker_nvme::Key;
use saker_nvme::kv_list::{HEAD_BYTES, ListReader, entry_bytes};

use super::{KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError, check};

/// The key to go on from and one more, both of the longest kind.
pub(super) const LIST_BYTES_MIN: u32 = (HEAD_BYTES + 2 * entry_bytes(Key::MAX_LEN)) as u32;

/// The keys of a namespace in the device's order. Each page begins at the last key of the page before, which is left out
/// unless it has been deleted meanwhile: the order is one of all possible keys. Keys written while listing may be missed.
#[derive(Debug)]
pub struct Keys<'c, T> {
    client: &'c mut KvClient<T>,
    cursor: KeyCursor,
}

/// Where a listing stands, apart from the client.
#[derive(Debug)]
pub(crate) struct KeyCursor {
    /// Keys of the page that have not been returned, the next one last.
    page: Vec<Key>,
    /// Where the next page begins; `None` is the beginning of all.
    start: Option<Key>,
    /// Whether `start` has been returned.
    returned: bool,
    ended: bool,
}

impl KeyCursor {
    /// From `start` on, included if it exists.
    pub(crate) fn new(start: Option<Key>) -> Self {
        Self { page: Vec::new(), start, returned: false, ended: false }
    }

    /// Nothing more comes.
    pub(crate) fn end(&mut self) {
        self.page.clear();
        self.ended = true;
    }

    /// The next key.
    pub(crate) fn next<T: Driver>(&mut self, client: &mut KvClient<T>) -> Result<Option<Key>, HostError> {
        if self.page.is_empty() && !self.ended {
            // If the page cannot be read, the listing is over.
            self.ended = true;
            self.fetch(client)?;
            self.ended = self.page.is_empty();
        }
        Ok(self.page.pop())
    }

    /// Reads the next page, which is empty when nothing is left.
    fn fetch<T: Driver>(&mut self, client: &mut KvClient<T>) -> Result<(), HostError> {
        let page = &mut self.page;
        client.list_page(self.start.as_ref(), page)?;
        let Some(last) = page.last().copied() else {
            return Ok(());
        };
        page.reverse();
        if self.returned {
            page.pop_if(|first| Some(*first) == self.start);
            if page.iter().any(|key| Some(*key) == self.start) {
                page.clear();
                return Err(ProtocolError::ListOrder.into());
            }
        }
        (self.start, self.returned) = (Some(last), true);
        Ok(())
    }
}

impl<T: Driver> Iterator for Keys<'_, T> {
    type Item = Result<Key, HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.next(self.client).transpose()
    }
}

impl<T: Driver> KvClient<T> {
    /// The keys from `from` on, included if it exists, or all. Queued writes are waited for.
    pub fn list(&mut self, from: Option<Key>) -> Keys<'_, T> {
        Keys { client: self, cursor: KeyCursor::new(from) }
    }

    /// One List command: its keys replace those of `into`.
    fn list_page(&mut self, start: Option<&Key>, into: &mut Vec<Key>) -> Result<(), HostError> {
        into.clear();
        self.settle_all()?;
        self.make_room()?;
        let ticket = submitted(self.queue.list(start, self.list_bytes))?;
        let read = self.wait(ticket, |done| {
            check(done.status)?;
            for key in ListReader::new(done.data())? {
                into.push(key?);
            }
            Ok(())
        })?;
        if read.is_err() {
            into.clear();
        }
        read
    }
}
