// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans of a device: some commands one after the other, which together are one operation. Under a snapshot they are Iterator
//! Next with a key to go to; otherwise Iterator Open comes before them, and Close behind.

use saker_host::{Done, KvQueue, SubmitError};
use saker_link::WINDOW_BYTES_MAX;
use saker_nvme::group::{PairList, pairs_of};
use saker_nvme::vendor_specific::{IteratorRange, NextAnswer};
use saker_nvme::{Key, Status};
use saker_store::{Failure, Outcome, Refusal, SnapshotId};

/// Bytes of a buffer for pairs: that of a client's iterators.
const BUFFER_BYTES: u32 = 64 << 10;

/// The least of all keys.
const LEAST: &[u8] = &[0];

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Open,
    Read,
    Close,
    Over,
}

/// A scan on its way.
#[derive(Debug)]
pub(super) struct Scanning {
    range: IteratorRange,
    /// Where an iterator that is there is to go first.
    seek: Option<Key>,
    entries: u32,
    iterator: Option<u32>,
    /// The iterator is its own.
    is_own: bool,
    buffer_bytes: u32,
    pairs: PairList,
    /// The pairs as a payload, once it is over.
    data: Vec<u8>,
    failed: Option<Failure>,
    next: Next,
}

impl Scanning {
    /// From a key on; under a snapshot, or as the pairs are.
    ///
    /// # Errors
    /// [`Refusal::KeyLength`].
    pub fn new(from: &[u8], entries: u32, snapshot: Option<SnapshotId>) -> Result<Self, Refusal> {
        let refused = || Refusal::KeyLength(from.len());
        let range = IteratorRange::new(from, &[], &[]).ok_or_else(refused)?;
        let seek = Key::new(if from.is_empty() { LEAST } else { from }).map_err(|_| refused())?;
        Ok(Self {
            range,
            seek: snapshot.map(|_| seek),
            entries,
            iterator: snapshot.map(|id| id.0),
            is_own: snapshot.is_none(),
            buffer_bytes: BUFFER_BYTES,
            pairs: PairList::default(),
            data: Vec::new(),
            failed: None,
            next: if snapshot.is_none() { Next::Open } else { Next::Read },
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
        let iterator = self.iterator.unwrap_or_default();
        let sent = match self.next {
            Next::Open => queue.iterator_open(&self.range, false, None),
            // Of no pairs, which a command cannot ask for, the iterator itself still has to be there.
            Next::Read => {
                let limits = (self.buffer_bytes, (self.entries - self.pairs.len()).max(1));
                queue.iterator_next(iterator, limits, false, self.seek)
            }
            Next::Close | Next::Over => queue.iterator_close(iterator),
        };
        sent.map(|ticket| ticket.slot())
    }

    /// A command of it has completed.
    pub fn completed(&mut self, done: &Done<'_>) {
        let status = done.status;
        self.next = match self.next {
            Next::Open if status.is_success() => {
                self.iterator = Some(done.result);
                Next::Read
            }
            Next::Read if status.is_success() => self.read(NextAnswer(done.result_high), done.data()),
            // One that has timed out is closed already.
            Next::Close if status.is_success() || status.is(Status::KEY_DOES_NOT_EXIST) => Next::Over,
            step => {
                self.failed = self.failed.or(Some(no_iterator(status)));
                if self.is_own && step == Next::Read { Next::Close } else { Next::Over }
            }
        };
        if self.is_over() {
            self.data = std::mem::take(&mut self.pairs).finish();
        }
    }

    /// Takes a batch of pairs.
    fn read(&mut self, answer: NextAnswer, payload: &[u8]) -> Next {
        let needed = answer.bytes_needed();
        let end = if self.is_own { Next::Close } else { Next::Over };
        if needed > 0 {
            if needed <= self.buffer_bytes || needed as usize > WINDOW_BYTES_MAX {
                self.failed = Some(Failure::Other("the device answers a scan with what is no pairs"));
                return end;
            }
            self.buffer_bytes = needed;
            return Next::Read;
        }
        if self.entries > 0 && !self.pairs.append(payload) {
            self.failed = Some(Failure::Other("the device answers a scan with what is no pairs"));
            return end;
        }
        if answer.ended() || self.pairs.len() >= self.entries {
            return end;
        }
        if self.is_own {
            return Next::Read;
        }
        // Other scans of the lane move the snapshot's iterator.
        self.seek = pairs_of(payload).last().and_then(|(last, _)| behind(last));
        if self.seek.is_some() { Next::Read } else { end }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome<'_> {
        match self.failed {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Pairs { data: &self.data },
        }
    }
}

/// The least of the keys behind one, if there are any.
fn behind(key: &[u8]) -> Option<Key> {
    if key.len() < Key::MAX_LEN {
        return Key::new(&[key, LEAST].concat()).ok();
    }
    let most = key.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut next = key[..=most].to_vec();
    next[most] += 1;
    Key::new(&next).ok()
}

/// What the status of an iterator's command means.
pub(super) fn no_iterator(status: Status) -> Failure {
    if status.is(Status::KEY_DOES_NOT_EXIST) { Failure::NoSnapshot } else { Failure::Status(status) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_lies_between_a_key_and_the_one_behind_it() {
        let behind = |key: &[u8]| super::behind(key).map(|key| key.as_bytes().to_vec());
        assert_eq!(behind(b"a"), Some(b"a\0".to_vec()));
        assert_eq!(behind(&[7; 16]), Some([&[7; 15][..], &[8]].concat()));
        assert_eq!(behind(&[&[7; 14][..], &[255; 2]].concat()), Some([&[7; 13][..], &[8]].concat()));
        assert_eq!(behind(&[255; 16]), None);
    }
}
