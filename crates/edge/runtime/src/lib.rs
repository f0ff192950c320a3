// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices against the operating system: threads, the clock, waiting, panics, huge pages.

pub mod any;
mod aside;
pub mod cpus;
#[cfg(not(loom))]
mod desk;
#[cfg(loom)]
pub mod desk;
mod far_copy;
pub mod huge_pages;
pub mod panics;
pub mod pause;
mod pausing;
mod rest;
mod spare_memory;

pub use any::{AnyDevice, AnyDriver, DeviceThread, Dual};
pub use aside::Computing;
pub use huge_pages::install as use_huge_pages;
pub use rest::Rest;
pub use spare_memory::give_back as give_memory_back;
