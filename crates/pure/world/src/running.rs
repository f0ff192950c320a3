// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is given one job after the other, so that long runs need not be in memory as a whole.

use crate::driver::Driver;
use crate::joined::Clocked;
use crate::result::{Job, RunResult};
use crate::stores::DiskStore;
use saker_assembly::Build;
use saker_device::{Device, Stats, Timed};
use saker_host::{HostError, TransferOptions};

/// A device in virtual time with its application threads. The same jobs give the same results on any machine.
pub struct Running {
    driver: Driver<DiskStore<Clocked>>,
}

impl Running {
    /// A device of that build, for jobs with the threads and the depth of `like`, whose values are read by a page.
    ///
    /// # Errors
    /// [`HostError`] if the device cannot be connected to.
    pub fn start(build: &Build, like: &Job) -> Result<Self, HostError> {
        let host = build.attach(like.threads.max(1) as u16, like.depth.max(1));
        Self::on(build.timed(host), build, like)
    }

    pub(crate) fn on(device: Device<Timed>, build: &Build, like: &Job) -> Result<Self, HostError> {
        let by_methods = like.transfer != TransferOptions::default();
        let store = DiskStore::on(device, build, like, by_methods)?;
        Ok(Self { driver: Driver::new(store, build, like)? })
    }

    /// Runs a job to its end.
    pub fn run(&mut self, job: &Job) -> RunResult {
        self.driver.run(job)
    }

    /// Lets the device do what it does without the host, until nothing is left.
    pub fn settle(&mut self) {
        let device = self.driver.store.device();
        while let Some(at) = device.next_deadline() {
            device.advance(at);
        }
    }

    /// The device's counters.
    pub fn stats(&mut self) -> Stats {
        self.driver.store.device().stats()
    }
}
