// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The other end of a vfio-user socket: a driver in user space, with memory that it shares with the device.
//!
//! | module | holds |
//! |---|---|
//! | [`socket`] | messages, one after the other |
//! | [`memory`] | memory that both sides reach |
//! | [`function`] | the controller: registers, doorbells, queue pairs, the admin queue |
//! | [`relay`] | the host library's queues, served by the controller |

pub mod error;
pub mod function;
pub mod memory;
pub mod relay;
pub mod socket;

pub use error::VfioError;
pub use function::{Function, Pair};
pub use relay::{Options, Relay};
pub use socket::Socket;
