// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What several rooms of this program need.

pub mod batches;
pub mod formats;
pub mod held_back;
mod pairs;
pub mod put_off;
pub mod settings;
pub mod transfers;

pub use pairs::{is_soak, key, value};

/// Each operation of the flash takes 5 ms by the clock: background work does not keep up with writers, even with those that get a small
/// share of a busy processor.
pub const SLOW: &str = "&timing=real&fault.spike=1/1&fault.spike_ns=5000000";
