// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Both ends of an authentication against each other, and against numbers that were computed elsewhere.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod combinations;
mod exchange;
mod golden;
mod order;
mod secrets;
mod spoilt;
mod timing;
