// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `saker top` makes of a device's counters.

pub mod lines;
pub mod look;
pub mod screen;
