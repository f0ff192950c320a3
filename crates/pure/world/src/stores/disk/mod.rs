// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DiskKV: the store is in the device. A lane is a queue pair on its namespace; an operation is a command, or several are one group command.

mod command;
mod lane;
mod list;
mod scan;
mod sending;
mod series;

pub use lane::DiskLane;
pub use sending::STAGED_BYTES;

use super::batch::Takes;
use super::{Counters, GroupLimits, prices, retrieve_bytes};
use crate::joined::{Below, Clocked, Inline};
use crate::layers::ValueLog;
use crate::measured::Measured;
use crate::result::{Job, RunResult};
use saker_assembly::{Build, QUEUE_ENTRIES_MIN, port};
use saker_device::{Attachment, Device, Timed, Untimed};
use saker_host::connect::KvQueueOptions;
use saker_host::transfer::Available;
use saker_host::{ConnectOptions, Connection, HostError, KvQueue, Port, TransferOptions};
use saker_link::Traffic;
use saker_sim::{CpuPrices, Instant};
use saker_store::{Completions, Doorbells, KvStore, Lane as _, Order, Prices, Refusal};
use sending::Sending;

/// DiskKV over a device that is here or elsewhere.
#[derive(Debug)]
pub struct DiskStore<B> {
    below: B,
    /// Queue pairs of lanes that are not open yet, the last one first.
    queues: Vec<KvQueue>,
    opened: usize,
    available: Available,
    sending: Sending,
    prices: Prices,
    cpu: CpuPrices,
    page_bytes: u32,
    before: Counters,
}

impl DiskStore<Clocked> {
    /// A new device in virtual time, with a queue pair for each thread of the jobs.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn timed(build: &Build, jobs: &[Job], groups: Option<GroupLimits>) -> Result<Self, HostError> {
        let Some(first) = jobs.first() else { return Err(saker_host::ProtocolError::Queues.into()) };
        let host = build.attach(first.threads.max(1) as u16, first.depth.max(1));
        let by_methods = jobs.iter().any(|job| job.transfer != TransferOptions::default());
        let mut store = Self::on(build.timed(host), build, first, by_methods)?;
        store.sending =
            Sending { groups, retrieve_bytes: retrieve_bytes(jobs, STAGED_BYTES), ..store.sending };
        Ok(store)
    }

    /// The same, where retrieves ask for values of up to so many bytes.
    #[must_use]
    pub fn reading(mut self, bytes: u32) -> Self {
        self.sending.retrieve_bytes = self.sending.retrieve_bytes.max(bytes);
        self
    }

    /// On a device whose host has room for the threads and the depth of the job.
    pub(crate) fn on(
        device: Device<Timed>,
        build: &Build,
        job: &Job,
        by_methods: bool,
    ) -> Result<Self, HostError> {
        let port = port(device.attachment());
        Self::connect(Clocked(device), port, build, job, by_methods)
    }

    pub(crate) fn device(&mut self) -> &mut Device<Timed> {
        &mut self.below.0
    }
}

impl DiskStore<Inline> {
    /// A new device without time, with a queue pair for each thread of the job.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn untimed(build: &Build, job: &Job) -> Result<Self, HostError> {
        let host = build.attach(job.threads.max(1) as u16, job.depth.max(1));
        let port = port(&host);
        Self::connect(Inline(build.untimed(host)), port, build, job, false)
    }

    pub(crate) fn device(&mut self) -> &mut Device<Untimed> {
        &mut self.below.0
    }
}

impl<B: Below> DiskStore<B> {
    /// On a device elsewhere that is attached to `host`; groups as told.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn over(
        below: B,
        host: &Attachment,
        build: &Build,
        jobs: &[Job],
        groups: Option<GroupLimits>,
    ) -> Result<Self, HostError> {
        let Some(first) = jobs.first() else { return Err(saker_host::ProtocolError::Queues.into()) };
        let mut store = Self::connect(below, port(host), build, first, false)?;
        store.sending =
            Sending { groups, retrieve_bytes: retrieve_bytes(jobs, STAGED_BYTES), ..store.sending };
        Ok(store)
    }

    fn connect(
        mut below: B,
        port: Port,
        build: &Build,
        job: &Job,
        by_methods: bool,
    ) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut below, options)?;
        let options = KvQueueOptions { entries: queue_entries(by_methods, depth), slots: depth };
        let queue = |_| connection.create_kv_queue(&mut below, 1, options);
        let mut queues = (0..threads).map(queue).collect::<Result<Vec<_>, _>>()?;
        let available = match queues.first() {
            Some(queue) if by_methods => {
                let entries = queue.pair().sq_entries();
                connection.transfer_methods(&mut below, entries)?
            }
            _ => Available::default(),
        };
        queues.reverse();
        Ok(Self {
            below,
            queues,
            opened: 0,
            available,
            sending: Sending::new(STAGED_BYTES, Takes::of(build)),
            prices: prices(build),
            cpu: CpuPrices::from_picos(build.profile.host.cpu.picos()),
            page_bytes: build.shape.geometry.page_bytes,
            before: Counters::default(),
        })
    }
}

fn queue_entries(by_methods: bool, depth: u16) -> u32 {
    let least = u32::from(depth) + 1;
    if by_methods { least.max(QUEUE_ENTRIES_MIN) } else { least }
}

impl<B: Below> KvStore for DiskStore<B> {
    type Lane = DiskLane;

    fn open_lane(&mut self) -> Result<DiskLane, Refusal> {
        let queue = self.queues.pop().ok_or(Refusal::Lanes)?;
        self.opened += 1;
        Ok(DiskLane::new(self.opened - 1, queue, self.sending, self.cpu))
    }

    fn capabilities(&self) -> Vec<&'static str> {
        self.sending.names()
    }

    /// A lane rings before it does anything else; completions it finds on the way it takes first.
    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfLane { looks_first: true }, completions: Completions::EachEnds }
    }

    fn prices(&self) -> Prices {
        self.prices
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        vec![("lanes", self.opened as u64)]
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.below.next_deadline()
    }

    fn advance(&mut self, now: Instant) -> bool {
        self.below.advance(now) > 0
    }

    #[inline]
    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        self.below.go_on(until)
    }

    fn drive(&mut self) {
        self.below.drive();
    }

    /// A job pays for what the device does because of it.
    fn settle(&mut self) {
        while self.below.go_on(Instant::FAR).is_some() {}
    }
}

impl Measured for DiskStore<Clocked> {
    fn begin(&mut self, lanes: &mut [DiskLane], job: &Job) {
        for lane in lanes.iter_mut() {
            lane.set_transfer(&job.transfer, self.available);
            // Nobody pays for a Flush between jobs.
            lane.work();
        }
        self.before = Counters::of(&mut self.below.0, traffic(lanes));
    }

    fn finish(&mut self, lanes: &mut [DiskLane], result: &mut RunResult) {
        let after = Counters::of(&mut self.below.0, traffic(lanes));
        after.note(&self.before, self.page_bytes, result);
        after.note_device(&self.before, result);
        let snapshot = self.below.0.stats();
        result.value_log = ValueLog::of(&snapshot);
        result.counters = snapshot.namespaces.into_iter().flat_map(|n| n.counters).collect();
        result.traces = self.below.0.take_traces();
    }

    fn digest(&self) -> u64 {
        self.below.0.digest()
    }
}

fn traffic(lanes: &[DiskLane]) -> Traffic {
    lanes.iter().fold(Traffic::default(), |sum, lane| sum + lane.traffic())
}
