// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DiskKV with SAKER's host layer: every lane is a session. Writes are buffered; reads are gathered up to the depth and asked for
//! together, for which the lane's own thread waits.

mod lane;

use super::driver::OnClock;
use lane::SessionLane;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::Attachment;
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Hub, Options, Session};
use saker_host::{
    CacheStats, ConnectOptions, Connection, HostError, KvQueue, Patience, Spin, TransferOptions,
};
use saker_link::Traffic;
use saker_runtime::pause::Pausing;
use saker_store::{Completions, Doorbells, KvStore, Order, Refusal};
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
        Ok(SessionLane::new(n, session, self.scans))
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
