// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A key-value namespace for Redis clients: RESP on sockets, on the thread that owns the device.
//!
//! A pipeline that has come becomes groups of the device, and its answers one write to the socket. A command is answered when the device
//! has answered: there is no state between them that a kill could lose. The protocol is [`saker_resp`], the way to the device
//! [`saker_host::KvStoreClient`].
//!
//! | module | holds |
//! |---|---|
//! | `front`, `listen` | what all connections share, and how they come |
//! | `connection` | one socket |
//! | `batch` | the commands that came with one read, in their order |
//! | `run`, `keys`, `pace` | operations that become one group, which and how many |
//! | `teller` | their answers, in the order of the commands |
//! | `session` | what a connection has said: version, name, password |
//! | `store` | commands of pairs that are no group |
//! | `cursors` | where scans stand |
//! | `clients` | who is connected, and what they hold together |
//! | `errors`, `refusals` | what the device refuses, and what does not reach it, in Redis's words |
//! | `about` | what is told of the server |
#![deny(unsafe_code)]

mod about;
mod batch;
mod clients;
mod connection;
mod cursors;
mod device;
mod errors;
mod front;
mod keys;
mod listen;
mod pace;
mod refusals;
mod run;
mod session;
mod store;
mod teller;

pub use device::{Device, Facts, Turn};
pub use front::{Front, Settings};
pub use listen::listen;
