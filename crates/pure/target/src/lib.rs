// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An NVM subsystem over Fabrics without sockets: who may connect, and what the controllers of the hosts answer.
//!
//! Each host that connects gets a controller of its own (the dynamic controller model, Base 2.0, section 6.1). What a
//! controller says of itself, its features, logs and events are decided by the device's own
//! [`Controller`](saker_device::controller::Controller); here is what Fabrics adds: Connect, properties, keep alive, and
//! what several controllers of one device have to agree on. I/O commands are checked here and executed by the device.
//!
//! | module | decides |
//! |---|---|
//! | `subsystem` | which hosts and queues are connected |
//! | `association` | one host's controller: properties, admin commands, events |
//! | `identify` | what Fabrics changes in Identify Controller |
//! | `io` | whether an I/O command has the data it needs |
//! | `discovery` | log page 70h |
//! | `policy` | what each host has to prove and may do |
//! | `rights` | which commands a host may use |
//! | `authentication` | queues that have to authenticate |
//! | `traffic` | in which order commands go to the device, and which of them wait for a limit |
#![forbid(unsafe_code)]

mod association;
mod authentication;
mod discovery;
mod identify;
mod io;
mod kind;
mod policy;
mod rights;
mod subsystem;
mod traffic;

pub use authentication::{AUTH_BYTES_MAX, AuthFailure, AuthReaction};
pub use discovery::Portal;
pub use io::{IoCommand, check as check_io};
pub use kind::Kind;
pub use policy::{HostPolicy, Policies};
pub use rights::{AdminRights, Rights};
pub use saker_device::controller::Access;
pub use subsystem::{Bound, Hosts, Refusal, Subsystem, SubsystemConfig};
pub use traffic::{Charge, HostId, Limit, NamespaceRates, Rate, Rates, Traffic, Waited, Window};

use saker_nvme::Sqe;
use saker_nvme::Status;

/// Names a connection: given by who owns the sockets.
pub type ConnectionId = u64;

/// Entries of the longest queue.
pub const QUEUE_ENTRIES_MAX: u16 = 1024;
/// I/O queues of a controller.
pub const IO_QUEUES_MAX: u16 = 64;
/// Bytes of the longest transfer: MDTS.
pub const TRANSFER_BYTES_MAX: u32 = 2 << 20;
/// Bytes of in-capsule data of an I/O command: IOCCSZ, without the entry.
pub const CAPSULE_DATA_BYTES: u32 = 8 << 10;

/// What becomes of a command of an admin queue, or a Fabrics command of an I/O queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reaction {
    /// It completes now.
    Complete(Answer),
    /// It is an Asynchronous Event Request: it completes with an event.
    Hold,
    /// The device executes this admin command (which has no data) and its status is the answer.
    Device(Sqe),
    /// The device executes a Flush of all namespaces; then [`Subsystem::shutdown_done`], and the answer is success.
    FlushThenShutdown,
    /// It completes, then the connection ends.
    CompleteAndClose(Answer),
}

/// A completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Status.
    pub status: Status,
    /// DW0 and DW1.
    pub result: u64,
    /// Bytes for the host.
    pub data: Vec<u8>,
}

impl Answer {
    /// Success with a result.
    #[must_use]
    pub const fn result(result: u64) -> Self {
        Self { status: Status::SUCCESS, result, data: Vec::new() }
    }

    /// A status and nothing else.
    #[must_use]
    pub const fn status(status: Status) -> Self {
        Self { status, result: 0, data: Vec::new() }
    }
}
