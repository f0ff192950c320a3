// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One client on one device in virtual time, one command after the other.

use crate::error::LabError;
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Attachment, Costs, Device, Timed, timings};
use saker_flash::Flash;
use saker_host::connect::KvQueueOptions;
use saker_host::{
    ClientOptions, ConnectOptions, Connection, Driver, KvClient, KvQueue, Patience, TransferOptions,
};
use saker_link::Traffic;
use saker_profile::Profile;
use saker_segment_store::{PageBuffer, PageBufferMemory};
use saker_sim::Duration;
use saker_world::Clocked;

const PATIENCE: Patience = Patience { polls_max: 100_000_000 };
/// Commands in flight at most; single operations that are to overlap do.
pub const DEPTH: u16 = 64;

/// A device with its client.
pub struct Serial {
    build: Build,
    /// The client; its turn is the device.
    pub client: KvClient<Clocked>,
    connection: Connection,
}

/// What a piece of work took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Took {
    /// Virtual time.
    pub time: Duration,
    /// What crossed the link.
    pub traffic: Traffic,
    /// Commands.
    pub commands: u64,
    /// Pages programmed.
    pub pages: u64,
}

/// A client of a device, whoever drives it. Values go by PRPs.
///
/// # Errors
/// [`LabError`].
pub fn connect<T: Driver>(host: &Attachment, mut driver: T) -> Result<(KvClient<T>, Connection), LabError> {
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(host), &mut driver, options)?;
    let options = ClientOptions { depth: DEPTH, patience: PATIENCE, ..ClientOptions::default() };
    let mut client = KvClient::open(&mut connection, driver, 1, options)?;
    client.set_transfer(&mut connection, TransferOptions::default())?;
    Ok((client, connection))
}

/// A queue pair of a device, for sessions. Values go by PRPs.
///
/// # Errors
/// [`LabError`].
pub fn queue<T: Driver>(host: &Attachment, driver: &mut T) -> Result<KvQueue, LabError> {
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(host), driver, options)?;
    let options = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
    let mut queue = connection.create_kv_queue(driver, 1, options)?;
    connection.set_transfer(driver, &mut queue, TransferOptions::default())?;
    Ok(queue)
}

impl Serial {
    /// A new device of that profile with `bytes` bytes of flash. Values go by PRPs.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn open(profile: &Profile, bytes: u64, seed: u64) -> Result<Self, LabError> {
        Self::of(Build::kv(profile, bytes, seed)?)
    }

    /// The device of a build.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn of(build: Build) -> Result<Self, LabError> {
        let host = build.attach(2, DEPTH);
        let device = build.timed(host.clone());
        Self::join(build, &host, device)
    }

    fn join(build: Build, host: &Attachment, device: Device<Timed>) -> Result<Self, LabError> {
        let (client, connection) = connect(host, Clocked(device))?;
        Ok(Self { build, client, connection })
    }

    /// Power is cut now; the same flash in a device that has recovered.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn after_cut(mut self, seed: u64) -> Result<Self, LabError> {
        let device = &self.client.driver_mut().0;
        Self::left_by(self.build, device, seed)
    }

    /// What `device` would be if power were cut now and came back; the device goes on.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn left_by(build: Build, device: &Device<Timed>, seed: u64) -> Result<Self, LabError> {
        let (media, ring) = device.cut(seed);
        let g = &build.shape.geometry;
        let memory = PageBufferMemory::from_bytes(ring.memory());
        let ring = PageBuffer::new(memory, build.ring_slots(), g.page_bytes, g.oob_bytes);
        let flash = Flash::power_on(media, ring, Some(timings(&build.profile)), build.faults);
        let host = build.attach(2, DEPTH);
        let device = Device::timed(flash, build.device_config(), host.clone(), Costs::of(&build.profile));
        Self::join(build, &host, device)
    }

    /// The device's time.
    pub fn now(&mut self) -> saker_sim::Instant {
        self.client.driver_mut().0.now()
    }

    /// The connection, for admin commands.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Does `work` and tells what it took.
    ///
    /// # Errors
    /// As `work`.
    pub fn time(
        &mut self,
        work: impl FnOnce(&mut KvClient<Clocked>) -> Result<(), LabError>,
    ) -> Result<Took, LabError> {
        let before = self.counted();
        work(&mut self.client)?;
        let after = self.counted();
        Ok(Took {
            time: after.0.since(before.0),
            traffic: after.1.traffic - before.1.traffic,
            commands: after.1.commands - before.1.commands,
            pages: after.1.pages - before.1.pages,
        })
    }

    fn counted(&mut self) -> (saker_sim::Instant, Took) {
        let stats = self.client.stats();
        let device = &mut self.client.driver_mut().0;
        let snapshot = device.stats();
        let mut traffic = snapshot.device.traffic;
        (traffic.sq_doorbells, traffic.cq_doorbells) = (stats.sq_doorbells, stats.cq_doorbells);
        let took = Took {
            time: Duration::ZERO,
            traffic,
            commands: snapshot.device.commands,
            pages: snapshot.flash.pages_programmed,
        };
        (device.now(), took)
    }
}
