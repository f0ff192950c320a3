// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Behaviour of the link, through its public interface.
#![cfg(not(loom))]

#[path = "link/batches.rs"]
mod batches;
#[path = "link/dma.rs"]
mod dma;
#[path = "link/payload.rs"]
mod payload;
#[path = "link/rings.rs"]
mod rings;
#[path = "link/slots.rs"]
mod slots;
#[path = "link/stress.rs"]
mod stress;
