// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of devices that have them: pairs in the order of the bytes of their keys, as they were when it was opened.

use std::sync::Arc;

use saker_link::{STAGING_BYTES, WINDOW_BYTES_MAX};
use saker_nvme::vendor_specific::NextAnswer;
use saker_nvme::{Key, Status};

use super::{Ended, KeyRange, KvClient, PairBatch, submitted};
use crate::driver::Driver;
use crate::error::{HostError, KvError, ProtocolError};

/// Bytes of a batch: more than a page is worth its transfer, much more is not.
pub(crate) const BATCH_BYTES: u32 = 64 << 10;

/// How large a batch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Pairs; 0: as many as its bytes take.
    pub(crate) pairs_max: u32,
    /// Bytes, unless one pair has more.
    pub(crate) bytes: u32,
}

impl Limits {
    /// As many pairs as a usual batch takes, but no more than these.
    pub(crate) const fn of(pairs_max: u32) -> Self {
        Self { pairs_max, bytes: BATCH_BYTES }
    }
}

/// An open iterator of the client that opened it. It ends when it is [closed](KvClient::close_iterator); one that is dropped ends
/// when its client is asked for iterators, pairs or a drain the next time.
#[derive(Debug)]
pub struct DeviceIterator {
    number: u32,
    /// What a pair needed that was longer than a batch.
    pair_bytes: u32,
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
        Ok(Some(DeviceIterator { number, pair_bytes: 0, held }))
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
        let mut batch = PairBatch::default();
        self.next_into(&mut batch, iterator, Limits::of(pairs_max), backwards, seek)?;
        Ok(batch)
    }

    /// The same into a batch whose memory is used again.
    pub(super) fn next_into(
        &mut self,
        batch: &mut PairBatch,
        iterator: &mut DeviceIterator,
        limits: Limits,
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<(), HostError> {
        self.end_dropped();
        // What one pair has needed the next may need as well.
        let mut bytes = limits.bytes.max(iterator.pair_bytes);
        loop {
            let limits = Limits { bytes, ..limits };
            let (status, answer) = self.ask_next(batch, iterator.number, limits, backwards, seek)?;
            // The command is a sound one: a device whose iterators only rise refuses this field of it.
            if backwards && status.is(Status::INVALID_FIELD) {
                return Err(HostError::NoOrder);
            }
            check_iterator(status)?;
            let most = self.value_bytes_max.max(BATCH_BYTES);
            match brought(answer, &mut bytes, most)? {
                Brought::Pairs => return batch.parse(answer.ended()),
                Brought::Nothing => {}
                Brought::TooLong => {
                    *batch = self.next_in_pieces(iterator.number, backwards, seek)?;
                    return Ok(());
                }
            }
            iterator.pair_bytes = bytes;
        }
    }

    /// A pair that is too long for a command with its key.
    fn next_in_pieces(
        &mut self,
        number: u32,
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<PairBatch, HostError> {
        let mut whole = Pieces::default();
        loop {
            self.make_room()?;
            let sent = self.queue.iterator_piece(number, whole.next(), backwards, seek);
            let (ended, piece) = self.wait_data(submitted(sent)?)?;
            check_iterator(ended.status)?;
            if let Some(batch) = whole.add(NextAnswer(ended.result_high), piece)? {
                return Ok(batch);
            }
        }
    }

    /// What Next answers: its status, and the numbers in its completion. The batch has the payload.
    fn ask_next(
        &mut self,
        batch: &mut PairBatch,
        number: u32,
        limits: Limits,
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<(Status, NextAnswer), HostError> {
        self.make_room()?;
        let asked = (limits.bytes, limits.pairs_max);
        let ticket = if limits.bytes as usize <= STAGING_BYTES {
            self.queue.iterator_next(number, asked, backwards, seek)
        } else {
            let buffer = batch.lend(limits.bytes);
            let sent = self.queue.iterator_next_into(number, asked, backwards, seek, buffer);
            sent.map_err(|returned| returned.error)
        };
        self.wait(submitted(ticket)?, |done| {
            let answer = (done.status, NextAnswer(done.result_high));
            batch.take(done);
            answer
        })
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

/// What Next has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// What there is.
    Pairs,
    /// Nothing: its buffer has to have the bytes that are set.
    Nothing,
    /// Nothing: no buffer is long enough.
    TooLong,
}

/// What Next has brought into a buffer of `bytes` bytes, which may have at most so many.
pub(crate) fn brought(answer: NextAnswer, bytes: &mut u32, most: u32) -> Result<Brought, HostError> {
    let needed = answer.bytes_needed();
    if needed == 0 {
        return Ok(Brought::Pairs);
    }
    if needed <= *bytes {
        return Err(ProtocolError::Group.into());
    }
    if needed > most {
        return Ok(Brought::TooLong);
    }
    *bytes = needed;
    Ok(Brought::Nothing)
}

/// A pair that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<u8>);

/// Bytes of a piece.
const PIECE_BYTES: u32 = 1 << 20;
/// No pair is longer.
const PAIR_BYTES_MAX: usize = 2 * WINDOW_BYTES_MAX;

impl Pieces {
    /// Bytes of the next piece at most, and where it begins.
    pub(crate) fn next(&self) -> (u32, u32) {
        (PIECE_BYTES, self.0.len() as u32)
    }

    /// Takes a piece; the pair, if that was the last one.
    pub(crate) fn add(&mut self, answer: NextAnswer, piece: Vec<u8>) -> Result<Option<PairBatch>, HostError> {
        let whole = answer.bytes_needed() as usize;
        let has = self.0.len() + piece.len();
        if whole > PAIR_BYTES_MAX || has > whole || (piece.is_empty() && has < whole) {
            return Err(ProtocolError::Group.into());
        }
        self.0.extend(piece);
        if has < whole {
            return Ok(None);
        }
        PairBatch::new(std::mem::take(&mut self.0), answer.ended()).map(Some)
    }
}
