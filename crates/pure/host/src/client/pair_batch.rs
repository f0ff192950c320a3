// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs that an iterator has brought.

use std::ops::Range;

use saker_nvme::group::{Form, Op, parse};

use crate::error::{HostError, ProtocolError};
use crate::kv_queue::Done;

/// Pairs of one batch: keys and values as ranges of a buffer.
#[derive(Debug, Default)]
pub struct PairBatch {
    /// As long as what was lent last: the payload is a part of it.
    bytes: Vec<u8>,
    payload: Range<usize>,
    pairs: Vec<(Range<u32>, Range<u32>)>,
    ended: bool,
}

impl PairBatch {
    /// The pairs of a payload; `ended`: nothing is left behind them.
    pub(crate) fn new(bytes: Vec<u8>, ended: bool) -> Result<Self, HostError> {
        let payload = 0..bytes.len();
        let mut batch = Self { bytes, payload, ..Self::default() };
        batch.parse(ended)?;
        Ok(batch)
    }

    /// Its memory, to be lent: so many bytes, with whatever they were.
    pub(super) fn lend(&mut self, bytes: u32) -> Vec<u8> {
        self.empty();
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.resize(bytes as usize, 0);
        buffer
    }

    /// Takes what came, into memory that was lent or beside it.
    pub(super) fn take(&mut self, done: Done<'_>) {
        match done.into_buffer() {
            Ok((bytes, payload)) => (self.bytes, self.payload) = (bytes, payload),
            Err(done) => {
                let data = done.data();
                self.bytes.clear();
                self.bytes.extend_from_slice(data);
                self.payload = 0..data.len();
            }
        }
    }

    /// Finds the pairs of the payload; `ended`: nothing is left behind them.
    pub(super) fn parse(&mut self, ended: bool) -> Result<(), HostError> {
        let Self { bytes, payload, pairs, .. } = self;
        pairs.clear();
        self.ended = ended;
        let payload = bytes.get(payload.clone()).unwrap_or_default();
        if payload.is_empty() {
            return Ok(());
        }
        let parsed = parse(Form::All(Op::Store), payload, |e| pairs.push((e.key, e.value)));
        parsed.map(drop).map_err(|_| ProtocolError::Group.into())
    }

    /// The pairs in the order of the iterator.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + DoubleEndedIterator {
        (0..self.pairs.len()).map(|n| self.pair(n).unwrap_or_default())
    }

    /// Pair `n` of the batch.
    #[inline]
    pub(crate) fn pair(&self, n: usize) -> Option<(&[u8], &[u8])> {
        let (key, value) = self.pairs.get(n)?;
        let payload = self.bytes.get(self.payload.clone())?;
        Some((
            payload.get(key.start as usize..key.end as usize)?,
            payload.get(value.start as usize..value.end as usize)?,
        ))
    }

    /// Bytes of what came.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload.len()
    }

    /// Takes everything out.
    pub(crate) fn empty(&mut self) {
        self.pairs.clear();
        (self.payload, self.ended) = (0..0, false);
    }

    /// Puts a pair behind the others.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        if self.pairs.is_empty() {
            self.bytes.clear();
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        let end = self.bytes.len() as u32;
        self.pairs.push((start..middle, middle..end));
        self.payload = 0..self.bytes.len();
    }

    /// Leaves out the pairs up to `key`, which have been seen. An empty one leaves all.
    pub(super) fn drop_up_to(&mut self, key: &[u8]) {
        let seen = self.pairs().take_while(|(at, _)| *at <= key).count();
        self.pairs.drain(..seen);
    }

    /// Whether nothing is left behind them.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.ended
    }
}
