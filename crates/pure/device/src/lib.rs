// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The NVMe device: registers, admin, queues, namespaces, data transfer, time.
//!
//! One device serves one host function. Two drivers run the same decoding, engines and flash: without time
//! (`off`: a command is served when it is seen) and with time (`virtual` and `real`: a command passes its
//! stages as events, each taking its resource when it is ready).
#![forbid(unsafe_code)]

mod answer;
pub mod config;
pub mod controller;
pub mod device;
pub mod execute;
mod fork;
mod groups;
pub mod immediate;
mod iterators;
mod long_keys;
mod methods;
pub mod namespace;
pub mod queues;
mod refusals;
pub mod stats;
pub mod tally;
pub mod timed;
pub mod trace;
pub mod transfer;
pub mod vendor;

pub use config::{DeviceConfig, NamespaceConfig, NamespaceKind};
pub use device::Carrier;
pub use device::{Attachment, Device};
pub use immediate::{Aside, Quick, Untimed};
pub use saker_engine::{Ask, Task};
pub use saker_engine::{EngineKind, PRICED_BYTES, Packing, Setting, Settings, Typed};
pub use saker_link::prefetch_address;
pub use saker_log::LogFlip;
pub use saker_log::recover::Damage;
pub use stats::{DeviceStats, Stats};
pub use tally::Tally;
pub use timed::{Costs, Timed, timings};
pub use trace::{CommandTrace, Part};
