// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device of a URL as a store: whatever [`saker::Kv::open`] opens, behind [`KvStore`].
//!
//! Its calls wait, so that each lane's thread is the one that waits for what it submitted; that is for the clock of this machine
//! and never for virtual time. Queued puts are answered before they are stored: how they ended is told when the lane is
//! [drained](Lane::drain).

mod cache;
mod lane;
mod turnstile;

pub(crate) use cache::CacheStore;
pub(crate) use lane::DoorLane;
pub(crate) use turnstile::Turnstile;

use saker::Kv;
use saker_host::HostError;
use saker_lab::error::LabError;
use saker_sim::Instant;
use saker_store::{Completions, Doorbells, KvStore, Lane, Op, Order, Outcome, Refusal, Share, Submitted};

/// Time below the lanes is the machine's: nobody looks at it there.
const NOW: Instant = Instant::ZERO;

/// The handle of one thread.
#[derive(Debug)]
pub(crate) struct DoorStore<'k> {
    kv: Option<&'k mut Kv>,
    queued: bool,
}

impl<'k> DoorStore<'k> {
    /// `queued`: puts are queued up to the device's depth.
    pub fn new(kv: &'k mut Kv, queued: bool) -> Self {
        Self { kv: Some(kv), queued }
    }
}

/// A handle that threads share, which take turns.
#[derive(Debug)]
pub(crate) struct SharedStore<'t, 'k> {
    door: &'t Turnstile<'k>,
    queued: bool,
}

impl<'t, 'k> SharedStore<'t, 'k> {
    /// `queued`: puts are queued up to the device's depth.
    pub fn new(door: &'t Turnstile<'k>, queued: bool) -> Self {
        Self { door, queued }
    }
}

/// In which order such a lane and its device meet: each thread waits for its own.
const ORDER: Order =
    Order { doorbells: Doorbells::OfLane { looks_first: false }, completions: Completions::EachEnds };

impl<'k> KvStore for DoorStore<'k> {
    type Lane = DoorLane<&'k mut Kv>;

    fn open_lane(&mut self) -> Result<Self::Lane, Refusal> {
        self.kv.take().map(|kv| DoorLane::new(kv, self.queued)).ok_or(Refusal::Lanes)
    }

    fn capabilities(&self) -> Vec<&'static str> {
        lane::CAPABILITIES.to_vec()
    }

    fn order(&self) -> Order {
        ORDER
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        self.kv.as_ref().map(|kv| lane::counters(kv)).unwrap_or_default()
    }
}

impl<'t, 'k> KvStore for SharedStore<'t, 'k> {
    type Lane = DoorLane<&'t Turnstile<'k>>;

    fn open_lane(&mut self) -> Result<Self::Lane, Refusal> {
        Ok(DoorLane::new(self.door, self.queued))
    }

    fn capabilities(&self) -> Vec<&'static str> {
        lane::CAPABILITIES.to_vec()
    }

    fn order(&self) -> Order {
        ORDER
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        self.door.take(|kv| lane::counters(kv))
    }
}

/// Carries one operation out on a lane, to its end, and shows how it ended.
///
/// # Errors
/// [`LabError`]: the store refused it, or the lane cannot be used any more.
#[inline]
pub(crate) fn carry_out<L: Lane<Error = HostError>, R>(
    lane: &mut L,
    op: &Op,
    show: impl FnOnce(Outcome<'_>) -> R,
) -> Result<R, LabError> {
    let refusal = match lane.submit(Share::alone(op), NOW) {
        Submitted::Done(outcome) => return Ok(show(outcome)),
        Submitted::Refused(refusal) => refusal,
        // A lane whose calls wait has nothing on its way.
        Submitted::Stalled(_) | Submitted::Pending(_) => Refusal::Broken("the lane does not wait"),
    };
    Err(why(lane, refusal))
}

/// What is behind a refusal.
#[cold]
fn why<L: Lane<Error = HostError>>(lane: &mut L, refusal: Refusal) -> LabError {
    match lane.poll(NOW, |_| ()) {
        Err(error) => error.into(),
        Ok(_) => refusal.into(),
    }
}

/// Brings what was queued to its end.
///
/// # Errors
/// [`LabError`]: the first write that failed.
pub(crate) fn drain<L: Lane<Error = HostError>>(lane: &mut L) -> Result<(), LabError> {
    lane.drain(NOW).map(drop).map_err(LabError::from)
}

/// Key and value of the operation that comes next. They go into it and come back, so that nothing is copied.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

impl Buffers {
    /// A put of both.
    #[inline]
    pub fn put(&mut self) -> Op {
        Op::Put(std::mem::take(&mut self.key), std::mem::take(&mut self.value))
    }

    /// An operation of the key.
    #[inline]
    pub fn with_key(&mut self, op: impl FnOnce(Vec<u8>) -> Op) -> Op {
        op(std::mem::take(&mut self.key))
    }

    /// What an operation of theirs had.
    #[inline]
    pub fn back(&mut self, op: Op) {
        match op {
            Op::Put(key, value) => (self.key, self.value) = (key, value),
            Op::Get(key) | Op::Delete(key) | Op::Exists(key) => self.key = key,
            Op::List { from, .. } | Op::Seek { from, .. } => self.key = from,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
