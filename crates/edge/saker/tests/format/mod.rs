// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format NVM joined with whatever else a device does, on every engine and on block namespaces, in memory and on images.
//!
//! `crates/edge/tcp/tests/loopback/format.rs` does it over the network, `tests/format_kill.rs` kills processes in it, and
//! `crates/pure/world/tests/stress/format.rs` cuts power at every event of it.

use crate::support::settings;

mod cut;
mod faults;
mod history;
mod joined;
pub mod rig;
