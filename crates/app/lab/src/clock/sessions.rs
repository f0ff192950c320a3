//! DiskKV with SAKER's host layer: every lane is a session. Writes are buffered; reads are gathered up to the depth and asked for
//! together, for which the lane's own thread waits.

use super::driver::OnClock;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::Attachment;
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Cover, Hub, Options, Refusal as NotNow, Session, SyncError, Write};
use saker_host::{
    CacheStats, ConnectOptions, Connection, HostError, KeyRange, KvError, KvQueue, Patience, Spin,
    TransferOptions,
};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::group::PairList;
use saker_runtime::pause::Pausing;
use saker_sim::{Free, Instant};
use saker_store::{
    Completed, Completions, Doorbells, Drain, Failure, KvStore, Lane, Op, Order, Outcome, Refusal, Share,
    Stall, StallCause, Submitted, Ticket, Work,
};
use saker_world::Job;
use saker_world::stores::batch::Takes;
use std::sync::Arc;

/// Sessions on a device that has a thread of its own.
pub(super) struct SessionsOnClock {
    hub: Arc<Hub<KvQueue>>,
    opened: usize,
    /// The device has iterators, by which sessions scan.
    scans: bool,
}

/// A session.
pub(super) struct SessionLane {
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

impl SessionsOnClock {
    /// A session for each thread of the job, with containers of `batch` writes.
    pub fn connect(build: &Build, host: &Attachment, job: &Job, batch: u16) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port(host), &mut Spin, options)?;
        let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let mut queue = || {
            let mut queue = connection.create_kv_queue(&mut Spin, 1, options)?;
            connection.set_transfer(&mut Spin, &mut queue, TransferOptions::default())?;
            Ok(queue)
        };
        let queues = (0..threads).map(|_| queue()).collect::<Result<Vec<KvQueue>, HostError>>()?;
        let options = Options { batch, volatile: false, cache: build.cache, ..Options::default() };
        Ok(Self { hub: Arc::new(Hub::new(queues, options)), opened: 0, scans: Takes::of(build).scans })
    }
}

impl KvStore for SessionsOnClock {
    type Lane = SessionLane;

    fn open_lane(&mut self) -> Result<SessionLane, Refusal> {
        let n = self.opened;
        if n == self.hub.lanes() {
            return Err(Refusal::Lanes);
        }
        self.opened += 1;
        let session =
            Session::new(Arc::clone(&self.hub), (n, n), Pausing::default(), u32::MAX, Patience::default());
        let (gets, answers) = (Vec::new(), Vec::new().into_iter());
        Ok(SessionLane {
            number: n,
            session,
            gets,
            answers,
            next_slot: 0,
            is_stalled: false,
            broken: None,
            takes_scans: self.scans,
            pairs: Vec::new(),
        })
    }

    fn capabilities(&self) -> Vec<&'static str> {
        let scans: &[_] = if self.scans { &["scan"] } else { &[] };
        [&["put", "get", "delete", "exists", "flush"], scans].concat()
    }

    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfLane { looks_first: false }, completions: Completions::AllEnd }
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        vec![("lanes", self.opened as u64)]
    }
}

impl OnClock for SessionsOnClock {
    fn traffic(&self, _: &[&SessionLane]) -> Traffic {
        let traffic = |n| self.hub.with_wire(n, |queue: &mut KvQueue| queue.stats().traffic());
        (0..self.hub.lanes()).fold(Traffic::default(), |sum, n| sum + traffic(n))
    }

    fn cache(&self) -> CacheStats {
        self.hub.cache_stats()
    }
}

impl SessionLane {
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
