// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The function from outside, as drivers and clients see it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod config;
mod fuzz;
mod memory;
mod messages;
mod support;
