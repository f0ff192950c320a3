// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clockwork every model runs on: time as an argument, events in a total order, resources that
//! are reserved only when a step is ready, seeds in a tree, digests of whole runs.
#![forbid(unsafe_code)]

pub mod busy;
pub mod digest;
pub mod event;
pub mod lanes;
pub mod meter;
pub mod seed;
pub mod server;
pub mod time;

pub use busy::{Activity, Busy, CoreBusy};
pub use digest::Digest;
pub use event::EventQueue;
pub use lanes::{Class, Lanes, OVERTAKERS_MAX};
pub use meter::{CpuMeter, CpuPrices, Free, Meter, Unit};
pub use seed::{Chance, Rng, Seed};
pub use server::{Gate, Server};
pub use time::{Duration, Instant, earliest};
