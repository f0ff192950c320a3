// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The server over its socket.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod attacks;
mod blocks;
mod clients;
mod durability;
mod killed;
mod memory;
mod memory_buffer;
mod pairs;
mod rig;
mod transactions;
mod unplug;
mod vendor;
