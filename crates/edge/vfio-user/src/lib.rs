// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device of [`saker`] as a PCIe function: a vfio-user server on a UNIX socket. QEMU plugs it into a guest, SPDK's NVMe driver
//! attaches to it in user space.
//!
//! The device is attached to the client's memory itself: rings, PRP lists and data are where the client's driver put them, and
//! the engines serve them as they serve a host in this process. Each device has a thread, with the socket of the client that
//! uses it; others wait until that one has gone.
//!
//! | module | holds |
//! |---|---|
//! | [`server`] | sockets, start and stop |
//! | `engine` | the thread of a device |
//! | `requests` | what a client asks |
//! | `session` | messages on a socket |
//! | `memory` | a client's memory in this process |
//! | `bus_error` | a client that cuts its memory off |
//! | `doorbells` | memory of ours that a client may map |
//! | `vectors` | interrupts |
//! | `probe` | what its thread is asked from outside |

mod bus_error;
mod doorbells;
mod engine;
mod error;
mod memory;
mod probe;
mod refused;
mod requests;
pub mod server;
mod session;
mod vectors;

pub use error::ServeError;
pub use probe::Probe;
pub use server::{Served, Server};
