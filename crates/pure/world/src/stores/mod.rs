// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores over a device, as [`KvStore`](saker_store::KvStore)s, and one entry that runs jobs on any of them in virtual time.

pub mod adoc;
pub mod batch;
pub mod disk;
pub mod groups;
pub mod host_kv;
mod host_medium;
mod host_ops;
pub mod hosted;
pub mod hybrid;
pub mod sessions;
#[cfg(test)]
mod tests;

pub use disk::{DiskLane, DiskStore};
pub use groups::{Carried, Group, GroupLimits};
pub use host_kv::{HostLane, HostStore};
pub use hybrid::{Dual, HybridStore};
pub use sessions::{SessionLane, SessionStore};

use crate::driver::Driver;
use crate::layers::Layers;
use crate::measured::Measured;
use crate::of_device::OfDevice;
use crate::result::{Job, RunResult};
use adoc::AdocOptions;
use saker_assembly::Build;
use saker_device::{Device, Timed};
use saker_engine::write_gate::Stalls;
use saker_host::HostError;
use saker_hybrid::Options;
use saker_link::Traffic;
use saker_sim::{Busy, Duration};
use saker_store::{Op, Prices};

/// A store, and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// DiskKV: the store is in the device; each thread has a queue pair, and each operation is a command.
    Disk,
    /// The same with up to so many puts or gets in one group command: what an application that has them together sends. A job's
    /// depth counts commands; an operation takes as long as its group.
    Groups {
        /// Operations of a group.
        operations: usize,
    },
    /// As groups, with puts in transactions.
    Transactions {
        /// Operations of a transaction.
        operations: usize,
    },
    /// As groups, with puts by Bulk Put (KV-CSD). A put takes until it is stored, though a host would answer it in its buffer.
    Bulk {
        /// Puts of a buffer.
        operations: usize,
    },
    /// DiskKV behind SAKER's host layer: each thread has a session, with containers of so many writes, and up to the depth of
    /// containers and reads in flight. A put is complete when it is buffered; a job ends when all sessions have synced.
    Sessions {
        /// Writes of a container.
        batch: u16,
    },
    /// HostKV: the store is at the host, over block namespace 1 of the device. A thread has up to the depth of operations in
    /// flight: puts complete in the host's buffer, gets wait for their blocks.
    Host,
    /// The same, with a part of the flash behind key-value commands: writes that HostKV would stop go there, and come back later.
    Hybrid(Options),
}

impl StoreKind {
    /// Its name.
    pub fn name(self) -> String {
        match self {
            Self::Disk => "DiskKV".to_owned(),
            Self::Groups { operations } => format!("DiskKV group x{operations}"),
            Self::Transactions { operations } => format!("DiskKV transaction x{operations}"),
            Self::Bulk { operations } => format!("DiskKV bulk x{operations}"),
            Self::Sessions { batch } => format!("DiskKV+SAKER x{batch}"),
            Self::Host => "HostKV".to_owned(),
            Self::Hybrid(options) => format!("Hybrid {}", options.rollback.name()),
        }
    }

    /// How many operations a command carries, and which command, where several go together.
    pub fn together(self) -> Option<(usize, Carried)> {
        match self {
            Self::Groups { operations } => Some((operations, Carried::Group)),
            Self::Transactions { operations } => Some((operations, Carried::Transaction)),
            Self::Bulk { operations } => Some((operations, Carried::Bulk)),
            Self::Disk | Self::Sessions { .. } | Self::Host | Self::Hybrid(_) => None,
        }
    }
}

/// Runs jobs one after the other on one store of that kind, in virtual time; all have the threads and the depth of the first.
/// The same arguments give the same results on any machine.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_virtual(kind: StoreKind, build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    match kind {
        StoreKind::Disk
        | StoreKind::Groups { .. }
        | StoreKind::Transactions { .. }
        | StoreKind::Bulk { .. } => {
            let limits = kind.together().map(|(n, carried)| GroupLimits::of(build, jobs, n).by(carried));
            run_on(DiskStore::timed(build, jobs, limits)?, build, first, jobs)
        }
        StoreKind::Sessions { batch } => {
            run_on(SessionStore::timed(build, first, batch)?, build, first, jobs)
        }
        StoreKind::Host => run_on(HostStore::timed(build, first)?, build, first, jobs),
        StoreKind::Hybrid(options) => {
            run_hybrid(build, &Dual { options, ..Dual::default() }, jobs).map(|(results, _)| results)
        }
    }
}

/// Runs jobs on DiskKV as [`run_virtual`] does, and keeps of each result what `told` takes from it: histograms of many jobs take much memory.
pub(crate) fn run_disk<T>(
    build: &Build,
    jobs: &[Job],
    mut told: impl FnMut(&RunResult) -> T,
) -> Result<Vec<T>, HostError> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let mut driver = Driver::new(DiskStore::timed(build, jobs, None)?, build, first)?;
    Ok(jobs.iter().map(|job| told(&driver.run(job))).collect())
}

/// The same on HostKV with a tuner. Also tells how often it changed threads, and memtables.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_tuned(
    build: &Build,
    options: AdocOptions,
    jobs: &[Job],
) -> Result<(Vec<RunResult>, [u64; 2]), HostError> {
    let first = jobs.first().ok_or(saker_host::ProtocolError::Queues)?;
    let mut driver = Driver::new(HostStore::timed(build, first)?.tuned(options), build, first)?;
    let results = jobs.iter().map(|job| driver.run(job)).collect();
    Ok((results, driver.store.changes()))
}

/// The same on a hybrid with all choices told. What is left behind comes back before this returns: shows the store then, too.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_hybrid(
    build: &Build,
    dual: &Dual,
    jobs: &[Job],
) -> Result<(Vec<RunResult>, HybridStore), HostError> {
    let first = jobs.first().ok_or(saker_host::ProtocolError::Queues)?;
    let mut driver = Driver::new(HostStore::hybrid(build, dual, first)?, build, first)?;
    let results = jobs.iter().map(|job| driver.run(job)).collect();
    Ok((results, driver.store))
}

fn run_on<S: Measured>(
    store: S,
    build: &Build,
    like: &Job,
    jobs: &[Job],
) -> Result<Vec<RunResult>, HostError> {
    let mut driver = Driver::new(store, build, like)?;
    Ok(jobs.iter().map(|job| driver.run(job)).collect())
}

/// What is counted at the device, and on the way to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub commands: u64,
    pub traffic: Traffic,
    pub pages: u64,
    pub pages_read: u64,
    pub copied_bytes: u64,
    pub layers: Layers,
    pub stalls: Stalls,
    pub busy: Busy,
    pub of_device: OfDevice,
}

impl Counters {
    /// All of a device, and what the host counts.
    pub fn of(device: &mut Device<Timed>, host: Traffic) -> Self {
        let s = device.stats();
        Self {
            commands: s.device.commands,
            traffic: s.device.traffic + host,
            pages: s.flash.pages_programmed,
            pages_read: s.flash.pages_read,
            copied_bytes: s.device.copied_bytes,
            layers: Layers::of(&s),
            of_device: OfDevice::of(&s),
            stalls: s
                .namespaces
                .into_iter()
                .map(|n| n.stalls)
                .find(|stalls| !stalls.is_empty())
                .unwrap_or_default(),
            busy: device.busy(),
        }
    }

    /// Notes what was counted since `before`.
    pub fn note(&self, before: &Self, page_bytes: u32, result: &mut RunResult) {
        result.commands = self.commands - before.commands;
        result.note_traffic(self.traffic - before.traffic);
        result.nand_pages = self.pages - before.pages;
        result.nand_bytes = result.nand_pages * u64::from(page_bytes);
        result.stalls = self.stalls.since(&before.stalls);
        result.device_busy = self.busy.since(&before.busy);
        result.device = self.of_device.since(&before.of_device);
    }

    /// The same for what stores in the device count.
    pub fn note_device(&self, before: &Self, result: &mut RunResult) {
        result.copied_bytes = self.copied_bytes - before.copied_bytes;
        result.layers = self.layers - before.layers;
    }
}

/// The host's prices in a profile.
pub fn prices(build: &Build) -> Prices {
    let ns = Duration::from_nanos;
    let (host, transfer) = (&build.profile.host, &build.profile.transfer);
    Prices {
        command: ns(host.submit_ns.get()),
        doorbell: ns(build.profile.link.doorbell_write_ns.get()),
        completion: ns(host.poll_ns.get() + host.complete_ns.get()),
        page: ns(transfer.host_page_map_ns.get()),
        mmio_store: ns(transfer.mmio_store_ns.get()),
    }
}

/// Bytes that a retrieve asks for: `least`, or the longest value that the jobs store.
pub fn retrieve_bytes(jobs: &[Job], least: u32) -> u32 {
    let stored = jobs.iter().flat_map(|job| &job.operations).map(|operation| match operation {
        Op::Put(_, value) => value.len() as u32,
        _ => 0,
    });
    stored.max().unwrap_or(0).max(least)
}
