// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A walk over a range by iterators: it survives the loss of the connection to a device on the network, and its time-out.

use saker_nvme::Key;

use super::{DeviceIterator, KeyRange, KvClient, Limits, PairBatch};
use crate::driver::Driver;
use crate::error::{HostError, KvError};

/// Iterators that a walk loses, without a pair in between, before it gives up.
const LOSSES_MAX: u32 = 8;

/// What a walk goes over, and which way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Course<'a> {
    /// Its keys.
    pub range: KeyRange<'a>,
    /// Values are left out.
    pub keys_only: bool,
    /// In falling order.
    pub backwards: bool,
}

/// A walk over the pairs as of the moment of its iterator. An iterator is lost with its connection, or times out: another one is
/// opened behind the last key, and the rest is as of then. Every call is given the same course.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// `None` after a loss.
    iterator: Option<DeviceIterator>,
    /// Whether the iterator stands where it was opened, before the first pair.
    is_fresh: bool,
    /// The last key that was seen.
    last: Vec<u8>,
    losses: u32,
    has_resumed: bool,
}

impl Walk {
    /// Whether its pairs are as of more than one moment.
    pub const fn has_resumed(&self) -> bool {
        self.has_resumed
    }

    /// A command has failed. Counts a lost iterator; all else is given back.
    fn lost(&mut self, error: HostError) -> Result<(), HostError> {
        // An iterator that the device does not know any more has timed out.
        if !matches!(error, HostError::Kv(KvError::IteratorLost | KvError::NotFound)) {
            return Err(error);
        }
        (self.iterator, self.has_resumed) = (None, true);
        self.losses += 1;
        if self.losses > LOSSES_MAX { Err(KvError::Unreachable.into()) } else { Ok(()) }
    }
}

impl<T: Driver> KvClient<T> {
    /// Begins a walk, at the moment of `beside` if there is one. `None`: the device has no iterators.
    pub(crate) fn open_walk(
        &mut self,
        course: Course<'_>,
        beside: Option<&Walk>,
    ) -> Result<Option<Walk>, HostError> {
        let has_resumed = beside.is_some_and(|other| other.has_resumed);
        self.open_walk_at(course, beside.and_then(|other| other.iterator.as_ref()), has_resumed)
    }

    /// Begins a walk at the moment of an iterator.
    pub(crate) fn open_walk_beside(
        &mut self,
        course: Course<'_>,
        beside: &DeviceIterator,
    ) -> Result<Option<Walk>, HostError> {
        self.open_walk_at(course, Some(beside), false)
    }

    fn open_walk_at(
        &mut self,
        course: Course<'_>,
        beside: Option<&DeviceIterator>,
        has_resumed: bool,
    ) -> Result<Option<Walk>, HostError> {
        // What is still to be written is not the walk's: its failures are told as such.
        self.settle_all()?;
        let mut walk = Walk { is_fresh: true, has_resumed, ..Walk::default() };
        loop {
            // An iterator that was lost with its connection has no moment to share.
            let beside = beside.filter(|_| walk.losses == 0);
            match self.open_iterator(&course.range, course.keys_only, beside) {
                Ok(iterator) => {
                    walk.iterator = iterator;
                    return Ok(walk.iterator.is_some().then_some(walk));
                }
                Err(error) => walk.lost(error)?,
            }
        }
    }

    /// The next pairs, in the batch.
    pub(crate) fn walk_on(
        &mut self,
        walk: &mut Walk,
        course: Course<'_>,
        limits: Limits,
        batch: &mut PairBatch,
    ) -> Result<(), HostError> {
        loop {
            match self.try_walk(walk, course, limits, batch) {
                Ok(()) => return Ok(()),
                Err(error) => walk.lost(error)?,
            }
        }
    }

    fn try_walk(
        &mut self,
        walk: &mut Walk,
        course: Course<'_>,
        limits: Limits,
        batch: &mut PairBatch,
    ) -> Result<(), HostError> {
        if walk.iterator.is_none() {
            (walk.iterator, walk.is_fresh) = (self.open_behind(course, &walk.last)?, true);
        }
        let Some(iterator) = &mut walk.iterator else { return Err(KvError::Unreachable.into()) };
        let backwards = course.backwards;
        let last_key = Key::new(&[0xFF; Key::MAX_LEN]).ok().filter(|_| backwards && walk.is_fresh);
        self.next_into(batch, iterator, limits, backwards, last_key)?;
        walk.is_fresh = false;
        if !backwards {
            batch.drop_up_to(&walk.last);
        }
        if let Some((key, _)) = batch.pairs().next_back() {
            walk.last.clear();
            walk.last.extend_from_slice(key);
            walk.losses = 0;
        }
        Ok(())
    }

    /// Another iterator, from the last key on, or backwards before it.
    fn open_behind(&mut self, course: Course<'_>, last: &[u8]) -> Result<Option<DeviceIterator>, HostError> {
        let Course { range, keys_only, backwards } = course;
        let left = match backwards {
            true if last.is_empty() => range,
            true => KeyRange { to: last, ..range },
            false => KeyRange { from: range.from.max(last), ..range },
        };
        self.open_iterator(&left, keys_only, None)
    }

    /// Ends it. A connection that is lost meanwhile has ended it, and so has its time-out.
    pub(crate) fn close_walk(&mut self, walk: Walk) -> Result<(), HostError> {
        let Some(iterator) = walk.iterator else { return Ok(()) };
        match self.close_iterator(iterator) {
            Err(HostError::Kv(KvError::IteratorLost | KvError::Unreachable | KvError::NotFound)) => Ok(()),
            closed => closed,
        }
    }
}
