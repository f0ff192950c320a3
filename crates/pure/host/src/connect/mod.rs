// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Enabling a controller and what goes over its admin queue.

mod admin;
mod counters;
mod enable;
mod features;
mod identify;
mod methods;
mod queues;
mod settings;
mod write_stalls;

pub use admin::AdminTicket;
pub use queues::KvQueueOptions;
pub use settings::NamedSettings;

use std::collections::BTreeSet;
use std::sync::Arc;

use saker_link::{BarBuffer, DmaRegion, DmaSpace, Doorbells, Registers};
use saker_nvme::identify::Controller;

use crate::driver::{Driver, Patience};
use crate::error::HostError;
use admin::AdminQueue;

/// Where a controller's registers, doorbells and the memory it reaches are.
#[derive(Clone, Debug)]
pub struct Port {
    /// The host's memory as the device sees it.
    pub space: Arc<DmaSpace>,
    /// The register block.
    pub registers: Arc<Registers>,
    /// The doorbells.
    pub doorbells: Arc<Doorbells>,
    /// The device's memory that the host stores to.
    pub bar: Arc<BarBuffer>,
}

/// How to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Entries of each admin queue, 2 to 4096.
    pub admin_entries: u16,
    /// I/O queue pairs to ask for (Set Features 07h), 1 to 65,535. The controller may grant less.
    pub io_queues: u16,
    /// How long to wait for the controller.
    pub patience: Patience,
}

impl ConnectOptions {
    /// Entries of each admin queue if nothing else is asked for.
    pub const ADMIN_ENTRIES: u16 = 32;
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self { admin_entries: Self::ADMIN_ENTRIES, io_queues: 1, patience: Patience::default() }
    }
}

/// An enabled controller and its admin queue. I/O queues go their own ways once they are created.
#[derive(Debug)]
pub struct Connection {
    port: Port,
    admin: AdminQueue,
    /// One page for the data of Identify.
    page: DmaRegion,
    patience: Patience,
    queue_entries_max: u32,
    queues_granted: u16,
    queues_used: BTreeSet<u16>,
    controller: Box<Controller>,
}

impl Connection {
    /// Enables the controller for all I/O command sets, identifies it, chooses a combination of command sets that has the
    /// key-value set, and agrees on the number of queues.
    ///
    /// # Errors
    /// [`HostError`]: the controller does not become ready, is not suited, or refuses a command.
    pub fn connect(port: Port, driver: &mut impl Driver, options: ConnectOptions) -> Result<Self, HostError> {
        let cap = enable::capabilities(&port.registers)?;
        let admin = AdminQueue::new(&port, enable::admin_entries(cap, options.admin_entries))?;
        enable::enable(&port.registers, admin.pair(), driver, options.patience)?;
        let mut connection = Self {
            page: port.space.alloc_pages(1)?,
            port,
            admin,
            patience: options.patience,
            queue_entries_max: u32::from(cap.mqes()) + 1,
            queues_granted: 0,
            queues_used: BTreeSet::new(),
            controller: Box::new(Controller::new()),
        };
        connection.controller = connection.identify_controller(driver)?;
        connection.choose_command_sets(driver)?;
        connection.queues_granted = connection.request_queues(driver, options.io_queues)?;
        Ok(connection)
    }

    /// What Identify Controller returned when the connection was made.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Registers, doorbells and memory of the controller.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// I/O queue pairs that the controller granted.
    pub fn queues_granted(&self) -> u16 {
        self.queues_granted
    }

    /// Bytes that one command may transfer (MDTS); `None` without limit.
    pub fn transfer_bytes_max(&self) -> Option<u64> {
        self.controller.max_transfer_bytes(0)
    }

    /// Tells the controller to shut down normally and waits until it has (CC.SHN, CSTS.SHST). I/O queues are of no use
    /// afterwards.
    ///
    /// # Errors
    /// [`HostError::Timeout`].
    pub fn shut_down(self, driver: &mut impl Driver) -> Result<(), HostError> {
        enable::shut_down(&self.port.registers, driver, self.patience)
    }
}
