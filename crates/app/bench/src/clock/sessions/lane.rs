// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A session of a thread against the clock.

use saker_host::session::{Cover, Refusal as NotNow, Session, SyncError, Write};
use saker_host::{HostError, KeyRange, KvError, KvQueue};
use saker_nvme::Key;
use saker_nvme::group::PairList;
use saker_runtime::pause::Pausing;
use saker_sim::{Free, Instant};
use saker_store::{
    Completed, Drain, Failure, Lane, Op, Outcome, Refusal, Share, Stall, StallCause, Submitted, Ticket, Work,
};

/// A session.
pub struct SessionLane {
    number: usize,
    session: Session<KvQueue, Pausing>,
    /// Keys to be read; a ticket's slot is its key's place.
    gets: Vec<Key>,
    /// What was read and not told yet, and the slot of the next.
    answers: std::vec::IntoIter<Option<Vec<u8>>>,
    next_slot: u32,
    /// A write had no room; reads that are gathered go on waiting.
    is_stalled: bool,
    broken: Option<HostError>,
    takes_scans: bool,
    /// What the last scan found.
    pairs: Vec<u8>,
}

impl SessionLane {
    pub fn new(number: usize, session: Session<KvQueue, Pausing>, takes_scans: bool) -> Self {
        Self {
            number,
            session,
            gets: Vec::new(),
            answers: Vec::new().into_iter(),
            next_slot: 0,
            is_stalled: false,
            broken: None,
            takes_scans,
            pairs: Vec::new(),
        }
    }

    /// In place, and only once on the way of a put.
    #[inline(always)]
    fn write(&mut self, key: &[u8], write: Write<'_>) -> Submitted<'static> {
        let Ok(name) = Key::new(key) else { return refused_key(key) };
        match self.session.hub().write(self.number, &name, write, Cover::Session, &mut Free) {
            Ok(()) => Submitted::Done(Outcome::DONE),
            Err(NotNow::Busy | NotNow::Changed) => {
                self.is_stalled = true;
                Submitted::Stalled(Stall::until_completion(StallCause::Buffers))
            }
            Err(NotNow::Broken(error)) => self.break_down(error),
        }
    }

    #[inline(never)]
    fn delete(&mut self, key: &[u8]) -> Submitted<'static> {
        self.write(key, None)
    }

    fn get(&mut self, key: &[u8]) -> Submitted<'static> {
        if self.answers.len() > 0 {
            return Submitted::Stalled(Stall::until_completion(StallCause::Queue));
        }
        let Ok(name) = Key::new(key) else { return refused_key(key) };
        self.gets.push(name);
        Submitted::Pending(Ticket { slot: self.gets.len() as u32 - 1, operations: 1 })
    }

    fn exists(&mut self, key: &[u8]) -> Submitted<'static> {
        let Ok(name) = Key::new(key) else { return refused_key(key) };
        match self.session.exists(&name) {
            Ok(true) => Submitted::Done(Outcome::DONE),
            Ok(false) => Submitted::Done(Outcome::Absent),
            Err(error) => self.break_down(error),
        }
    }

    /// The lane's own thread waits for it.
    fn scan(&mut self, from: &[u8], entries: u32) -> Submitted<'_> {
        let mut list = PairList::default();
        let range = KeyRange { from, ..KeyRange::default() };
        let scanned = self.session.scan_range(&range, |key, value| {
            if list.len() < entries {
                list.push(key.as_bytes(), value);
            }
            list.len() < entries
        });
        match scanned {
            Ok(()) => {
                self.pairs = list.finish();
                Submitted::Done(Outcome::Pairs { data: &self.pairs })
            }
            Err(HostError::Kv(error)) => {
                let full = matches!(error, KvError::Full);
                Submitted::Done(Outcome::Failed(if full { Failure::Capacity } else { UNREAD }))
            }
            Err(error) => self.break_down(error),
        }
    }

    fn flush(&mut self) -> Submitted<'static> {
        match self.session.flush() {
            Ok(()) => Submitted::Done(Outcome::DONE),
            Err(error) => {
                self.broken = Some(error);
                Submitted::Done(Outcome::Failed(Failure::Other("the Flush failed")))
            }
        }
    }

    fn break_down(&mut self, error: HostError) -> Submitted<'static> {
        self.broken = Some(error);
        Submitted::Refused(Refusal::Broken("the session cannot be used any more"))
    }
}

/// Why a scan failed.
const UNREAD: Failure = Failure::Other("the pairs cannot be read");

fn refused_key(key: &[u8]) -> Submitted<'static> {
    Submitted::Refused(Refusal::KeyLength(key.len()))
}

impl Lane for SessionLane {
    type Error = HostError;

    #[inline]
    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        match share.first() {
            Some(Op::Put(key, value)) => self.write(key, Some(value)),
            Some(Op::Get(key)) => self.get(key),
            Some(Op::Delete(key)) => self.delete(key),
            Some(Op::Exists(key)) => self.exists(key),
            Some(Op::Flush) => self.flush(),
            Some(Op::Scan { from, entries, snapshot: None }) if self.takes_scans => self.scan(from, *entries),
            Some(other) => Submitted::Refused(Refusal::Unsupported(other.name())),
            None => Submitted::Refused(Refusal::Unsupported("nothing")),
        }
    }

    /// Makes room where a write had none.
    fn look(&mut self, _: Instant) -> bool {
        if std::mem::take(&mut self.is_stalled) {
            let hub = self.session.hub();
            hub.advance(self.number, &mut Free);
            if hub.parked_bytes() > hub.options().parked_bytes_max / 2 {
                hub.push_out_all(&mut Free);
            }
        }
        self.answers.len() > 0 || self.broken.is_some()
    }

    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, HostError> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        let Some(value) = self.answers.next() else { return Ok(None) };
        let slot = self.next_slot;
        self.next_slot += 1;
        let outcome = value.as_deref().map_or(Outcome::Absent, Outcome::value);
        let ticket = Ticket { slot, operations: 1 };
        Ok(Some(visit(Completed { lane: self.number, ticket, outcome })))
    }

    /// What was gathered is read together.
    fn ring(&mut self) {
        if self.is_stalled || self.gets.is_empty() {
            return;
        }
        match self.session.multi_get(&self.gets) {
            Ok(values) => (self.answers, self.next_slot) = (values.into_iter(), 0),
            Err(error) => self.broken = Some(error),
        }
        self.gets.clear();
    }

    fn work(&mut self) -> Work {
        Work::default()
    }

    fn in_flight(&self) -> usize {
        self.gets.len() + self.answers.len()
    }

    /// Gets that are sent together begin together.
    #[inline]
    fn joins(&self, operation: &Op) -> bool {
        !self.gets.is_empty() && matches!(operation, Op::Get(_))
    }

    /// All its writes have come to their end.
    fn drain(&mut self, _: Instant) -> Result<Drain, HostError> {
        match self.session.sync() {
            Ok(()) => Ok(Drain::Synced { failed: 0 }),
            Err(SyncError::Failed(failures)) => Ok(Drain::Synced { failed: failures.len() as u64 }),
            Err(SyncError::Unknown(error)) => Err(error),
        }
    }
}
