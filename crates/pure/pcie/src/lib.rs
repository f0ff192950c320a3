// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An NVMe controller as a PCIe function, and the vfio-user messages that reach it.
//!
//! The device ([`saker_link`]'s registers, doorbells and memory behind the BAR, and whatever serves them) knows nothing of
//! PCIe. Here is what a driver sees of it: configuration space with its capabilities, BARs, interrupt vectors, resets. Whatever
//! a driver or a client sends becomes an error or is ignored, never a panic, and no memory grows with it.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | configuration space: header, power management, MSI-X, PCI Express |
//! | [`bar`] | where registers, doorbells and tables are in the BARs |
//! | [`function`] | what an access to a region does |
//! | [`lines`] | stores of a driver, joined to whole lines |
//! | [`memory`] | the controller memory buffer |
//! | [`message`] | the requests of a vfio-user client |
//! | [`reply`] | the answers |
#![forbid(unsafe_code)]

pub mod bar;
pub mod config;
pub mod function;
pub mod lines;
pub mod memory;
pub mod message;
pub mod reply;

pub use function::{Effect, Function};
pub use memory::MemoryBuffer;
pub use message::{Header, MessageError, Request};
