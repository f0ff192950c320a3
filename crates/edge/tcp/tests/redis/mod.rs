// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Redis clients over real sockets: alone, with each other, beside NVMe/TCP hosts.

pub mod client;
mod commands;
mod crowd;
mod engines;
mod errors;
mod faults;
mod kills;
mod put_off;
mod scans;
pub mod server;
mod shared;
