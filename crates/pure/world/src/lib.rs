// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host and device joined, in virtual time or without time. Everything here is deterministic: the same seed
//! gives the same bytes, times and digest on any machine.
#![forbid(unsafe_code)]

pub mod alone;
pub mod calibrate;
mod driver;
mod gets;
pub mod joined;
pub mod layers;
mod measured;
mod of_device;
pub mod prepared;
pub mod result;
pub mod running;
pub mod stores;

pub use alone::Alone;
pub use calibrate::{Calibration, Load, calibrate, calibrate_at};
pub use gets::Gets;
pub use joined::{Below, Clocked, Inline};
pub use layers::{Layers, ValueLog};
pub use of_device::OfDevice;
pub use prepared::Prepared;
pub use result::{Job, ReadPath, RunResult};
pub use running::Running;
pub use saker_store::{Failure, Op, Outcome, Refusal};
pub use stores::{Carried, DiskStore, GroupLimits, StoreKind, run_virtual};
