// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device on the network as if it were in this process.
//!
//! The host library talks to rings, doorbells and registers. [`Remote`] stands behind them and relays: a register write
//! becomes a property command, an I/O queue pair a connection, an entry a command capsule. So every call of the host
//! library works over NVMe/TCP, and nothing of it knows.
//!
//! **When a connection is lost**, `Remote` connects again, waiting longer after each failure. Commands that only read are
//! sent again. Writes whose answer is missing complete with "Command Aborted By Host" (SCT 3, SC 71h): whether they took
//! place is not known, and sending them again could undo what another host wrote in between. Flush counts as a write:
//! after a restart of the target it could no longer vouch for what was completed before.
#![forbid(unsafe_code)]

mod authenticate;
mod back_off;
mod connect;
mod error;
mod queue;
mod relay;
mod remote;
mod secrets;
mod wire;

pub use connect::Options;
pub use error::RemoteError;
pub use remote::Remote;
pub use saker_auth::{HashId, HostSecrets, Secret, SecretError};
pub use saker_nvme_tcp::Digests;
pub use secrets::{SecretFileError, random_bytes, read_secrets};
