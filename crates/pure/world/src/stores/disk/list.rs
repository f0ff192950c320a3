// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys in the device's own order, page by page, and their values one by one if they are asked for.

use saker_host::{Done, KvQueue, SubmitError};
use saker_nvme::group::PairList;
use saker_nvme::kv_list::ListReader;
use saker_nvme::{Key, Status};
use saker_store::{Failure, Outcome, Refusal};

/// Bytes of a page of keys: that of a client.
const PAGE_BYTES: u32 = 4096;

const NO_LIST: Failure = Failure::Other("the device answers a list with what are no keys in an order");

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Page,
    /// The value of the key of that number.
    Value(usize),
    Over,
}

/// A listing on its way.
#[derive(Debug)]
pub(super) struct Listing {
    entries: usize,
    values: bool,
    /// Where the next page begins; `None`: at the first key.
    start: Option<Key>,
    keys: Vec<Key>,
    /// Bytes that a retrieve asks for.
    buffer_bytes: u32,
    pairs: PairList,
    /// The pairs as a payload, once it is over.
    data: Vec<u8>,
    failed: Option<Failure>,
    next: Next,
}

impl Listing {
    /// So many keys from one on; with their values, for which retrieves ask for so many bytes at first.
    ///
    /// # Errors
    /// [`Refusal::KeyLength`].
    pub fn new(from: &[u8], entries: u32, values: bool, retrieve_bytes: u32) -> Result<Self, Refusal> {
        let start = Some(from).filter(|from| !from.is_empty()).map(Key::new).transpose();
        Ok(Self {
            entries: entries as usize,
            values,
            start: start.map_err(|_| Refusal::KeyLength(from.len()))?,
            keys: Vec::new(),
            buffer_bytes: retrieve_bytes,
            pairs: PairList::default(),
            data: Vec::new(),
            failed: None,
            next: Next::Page,
        })
    }

    /// Whether it has ended; else [`send`](Self::send) sends its next command.
    pub fn is_over(&self) -> bool {
        self.next == Next::Over
    }

    /// Submits the next command; its slot.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn send(&mut self, queue: &mut KvQueue) -> Result<u16, SubmitError> {
        let key = if let Next::Value(n) = self.next { self.keys.get(n) } else { None };
        let sent = match key {
            Some(key) => queue.retrieve(key, self.buffer_bytes),
            None => queue.list(self.start.as_ref(), PAGE_BYTES),
        };
        sent.map(|ticket| ticket.slot())
    }

    /// A command of it has completed.
    pub fn completed(&mut self, done: &Done<'_>) {
        let next = match self.next {
            Next::Page if done.status.is_success() => self.page(done.data()),
            Next::Value(n) if done.status.is_success() => Ok(self.value(n, done.result, done.data())),
            // A pair that went meanwhile is left out.
            Next::Value(n) if done.status.is(Status::KEY_DOES_NOT_EXIST) => Ok(self.behind(n)),
            Next::Page | Next::Value(_) | Next::Over => Err(Failure::Status(done.status)),
        };
        self.next = next.unwrap_or_else(|failure| {
            self.failed = Some(failure);
            Next::Over
        });
        if self.is_over() {
            self.data = std::mem::take(&mut self.pairs).finish();
        }
    }

    /// Takes a page. Each begins at the last key of the page before, unless that has been deleted meanwhile: the order is one
    /// of all possible keys.
    fn page(&mut self, answer: &[u8]) -> Result<Next, Failure> {
        let read = ListReader::new(answer).and_then(Iterator::collect);
        let mut page: Vec<Key> = read.map_err(|_| NO_LIST)?;
        let last = page.last().copied();
        if let Some(seen) = self.keys.last() {
            if page.first() == Some(seen) {
                page.remove(0);
            }
            if page.contains(seen) {
                return Err(NO_LIST);
            }
        }
        let is_last = page.is_empty();
        self.keys.extend(page);
        self.keys.truncate(self.entries);
        if !is_last && self.keys.len() < self.entries {
            self.start = last;
            return Ok(Next::Page);
        }
        if !self.values {
            self.keys.iter().for_each(|key| self.pairs.push(key.as_bytes(), &[]));
        }
        Ok(if self.values && !self.keys.is_empty() { Next::Value(0) } else { Next::Over })
    }

    /// Takes a value of `length` bytes. One that is longer than what was asked for is asked for again.
    fn value(&mut self, n: usize, length: u32, data: &[u8]) -> Next {
        if length > self.buffer_bytes {
            self.buffer_bytes = length;
            return Next::Value(n);
        }
        if let Some(key) = self.keys.get(n) {
            self.pairs.push(key.as_bytes(), data);
        }
        self.behind(n)
    }

    fn behind(&self, n: usize) -> Next {
        if n + 1 < self.keys.len() { Next::Value(n + 1) } else { Next::Over }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome<'_> {
        match self.failed {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Pairs { data: &self.data },
        }
    }
}
