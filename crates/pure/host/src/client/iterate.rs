// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of devices that have them: pairs in the order of the bytes of their keys, as they were when it was opened.

use std::sync::Arc;

use saker_link::WINDOW_BYTES_MAX;
use saker_nvme::group::{Form, Op, parse};
use saker_nvme::vendor_specific::{IteratorRange, NextAnswer};
use saker_nvme::{Key, Status};

use super::{Ended, KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, KvError, ProtocolError};

/// Which keys: from `from` on, before `to`, beginning with `prefix`. Empty ones do not limit it.
///
/// ```
/// use saker_host::KeyRange;
/// let range = KeyRange { from: b"user:2", to: b"user:5", prefix: b"user:" };
/// assert!(range.contains(b"user:2") && range.contains(b"user:49"));
/// assert!(!range.contains(b"user:5"), "the range ends before `to`");
/// assert!(KeyRange::default().contains(b"any key"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRange<'a> {
    /// The least key.
    pub from: &'a [u8],
    /// The first key behind the range.
    pub to: &'a [u8],
    /// What every key begins with.
    pub prefix: &'a [u8],
}

impl KeyRange<'_> {
    /// Whether a key lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let in_prefix = self.prefix.is_empty() || key.starts_with(self.prefix);
        in_prefix && key >= self.from && (self.to.is_empty() || key < self.to)
    }

    /// The range of device keys that holds at least all keys of 1 to 16 bytes of this one.
    pub(crate) fn on_wire(&self) -> IteratorRange {
        let cut = |key: &[u8]| key.len() > Key::MAX_LEN;
        let start = |key: &[u8]| key.len().min(Key::MAX_LEN);
        // A longer bound is cut: the first key behind it is then not known exactly, and is left out.
        let to = if cut(self.to) { &[][..] } else { self.to };
        let (from, prefix) = (&self.from[..start(self.from)], &self.prefix[..start(self.prefix)]);
        IteratorRange::new(from, to, prefix).expect("bounds were cut to the length of a key")
    }
}

/// Bytes of a batch: more than a page is worth its transfer, much more is not.
pub(crate) const BATCH_BYTES: u32 = 64 << 10;

/// An open iterator of the client that opened it. It ends when it is [closed](KvClient::close_iterator); one that is dropped ends
/// when its client is asked for iterators, pairs or a drain the next time.
#[derive(Debug)]
pub struct DeviceIterator {
    number: u32,
    batch_bytes: u32,
    /// The client's copy is the last one when this is dropped.
    held: Arc<()>,
}

/// The iterators of a client that the device may still know.
#[derive(Debug, Default)]
pub(super) struct Opened(Vec<(u32, Arc<()>)>);

impl Opened {
    /// The device has given a number out: whoever had it before is gone with a connection.
    fn opened(&mut self, number: u32) -> Arc<()> {
        self.forget(number);
        let held = Arc::new(());
        self.0.push((number, Arc::clone(&held)));
        held
    }

    fn forget(&mut self, number: u32) {
        self.0.retain(|(other, _)| *other != number);
    }

    /// One that was dropped, taken out.
    fn dropped(&mut self) -> Option<u32> {
        let at = self.0.iter().position(|(_, held)| Arc::strong_count(held) == 1)?;
        Some(self.0.swap_remove(at).0)
    }
}

/// Pairs of one batch: keys and values as ranges of a buffer.
#[derive(Debug, Default)]
pub struct PairBatch {
    bytes: Vec<u8>,
    pairs: Vec<(std::ops::Range<u32>, std::ops::Range<u32>)>,
    ended: bool,
}

impl PairBatch {
    /// The pairs of a payload; `ended`: nothing is left behind them.
    pub(crate) fn new(bytes: Vec<u8>, ended: bool) -> Result<Self, HostError> {
        let mut pairs = Vec::new();
        if !bytes.is_empty() {
            parse(Form::All(Op::Store), &bytes, |e| pairs.push((e.key, e.value)))
                .map_err(|_| ProtocolError::Group)?;
        }
        Ok(Self { bytes, pairs, ended })
    }

    /// The pairs in the order of the iterator.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + DoubleEndedIterator {
        let part = |range: &std::ops::Range<u32>| &self.bytes[range.start as usize..range.end as usize];
        self.pairs.iter().map(move |(key, value)| (part(key), part(value)))
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

/// What Next answers: its status, the numbers in its completion, the payload.
type Answer = (Status, NextAnswer, Vec<u8>);

impl<T: Driver> KvClient<T> {
    /// Opens an iterator over the device's own keys of a range, as of now, or as of the moment of `beside`. Queued writes are
    /// waited for. `None`: the device has none for this namespace.
    ///
    /// # Errors
    /// [`HostError`]; [`ManyIterators`](KvError::ManyIterators) with 16 open already.
    pub fn open_iterator(
        &mut self,
        range: &KeyRange<'_>,
        keys_only: bool,
        beside: Option<&DeviceIterator>,
    ) -> Result<Option<DeviceIterator>, HostError> {
        if !self.queue.available().methods.iterators() {
            return Ok(None);
        }
        self.settle_all()?;
        self.end_dropped();
        self.make_room()?;
        let beside = beside.map(|iterator| iterator.number);
        let ticket = submitted(self.queue.iterator_open(&range.on_wire(), keys_only, beside))?;
        let Ended { status, result: number, .. } = self.wait_ended(ticket)?;
        if status.is(Status::INVALID_OPCODE) {
            return Ok(None);
        }
        check_iterator(status)?;
        let held = self.opened.opened(number);
        Ok(Some(DeviceIterator { number, batch_bytes: BATCH_BYTES, held }))
    }

    /// Ends iterators that were dropped: what they see need not be kept any more. One that cannot be ended has ended with its
    /// connection, or times out.
    pub(super) fn end_dropped(&mut self) {
        while let Some(number) = self.opened.dropped() {
            let _ = self.end_iterator(number);
        }
    }

    /// The next pairs of an iterator, at most `pairs_max` (0: as many as a batch holds), in rising order or, `backwards`, in
    /// falling order, from `seek` on or from where it stands.
    ///
    /// # Errors
    /// [`HostError`]; [`NotFound`](KvError::NotFound) if it has timed out.
    pub fn next_pairs(
        &mut self,
        iterator: &mut DeviceIterator,
        pairs_max: u32,
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<PairBatch, HostError> {
        self.end_dropped();
        loop {
            let limits = (iterator.batch_bytes, pairs_max);
            let (status, answer, payload) = self.ask_next(iterator.number, limits, backwards, seek)?;
            // The command is a sound one: a device whose iterators only rise refuses this field of it.
            if backwards && status.is(Status::INVALID_FIELD) {
                return Err(HostError::NoOrder);
            }
            check_iterator(status)?;
            if has_pairs(answer, &mut iterator.batch_bytes)? {
                return PairBatch::new(payload, answer.ended());
            }
        }
    }

    fn ask_next(
        &mut self,
        number: u32,
        limits: (u32, u32),
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<Answer, HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.iterator_next(number, limits, backwards, seek))?;
        let (ended, payload) = self.wait_data(ticket)?;
        Ok((ended.status, NextAnswer(ended.result_high), payload))
    }

    /// Ends an iterator; one that has timed out is ended already.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn close_iterator(&mut self, iterator: DeviceIterator) -> Result<(), HostError> {
        let DeviceIterator { number, held, .. } = iterator;
        // Another client's numbers are not ours.
        if self.opened.0.iter().any(|(_, ours)| Arc::ptr_eq(ours, &held)) {
            self.opened.forget(number);
        }
        self.end_iterator(number)
    }

    fn end_iterator(&mut self, number: u32) -> Result<(), HostError> {
        self.make_room()?;
        let ticket = submitted(self.queue.iterator_close(number))?;
        match check_iterator(self.wait_ended(ticket)?.status) {
            Err(HostError::Kv(KvError::NotFound)) => Ok(()),
            closed => closed,
        }
    }
}

/// Success, or what the status of an iterator's command means.
pub(crate) fn check_iterator(status: Status) -> Result<(), HostError> {
    match crate::error::check(status) {
        Err(HostError::Kv(KvError::OutcomeUnknown)) => Err(KvError::IteratorLost.into()),
        Err(HostError::Kv(KvError::Full)) => Err(KvError::ManyIterators.into()),
        checked => checked,
    }
}

/// Whether Next has brought what there is; otherwise its buffer has to have the `bytes` that are set.
pub(crate) fn has_pairs(answer: NextAnswer, bytes: &mut u32) -> Result<bool, HostError> {
    let needed = answer.bytes_needed();
    if needed == 0 {
        return Ok(true);
    }
    if needed <= *bytes || needed as usize > WINDOW_BYTES_MAX {
        return Err(ProtocolError::Group.into());
    }
    *bytes = needed;
    Ok(false)
}
