// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Both ends of NVMe/TCP against each other, against bytes by hand, and against damaged bytes.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod fuzz;
mod pairs;
mod refusals;
mod support;
