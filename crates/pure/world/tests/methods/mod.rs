// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every way to move a value, on both drivers: the same bytes, the exact traffic, and parts that never join what they do
//! not belong to.

mod bytes;
mod calibration;
mod cuts;
mod fragments;
mod fuzz;
mod lifecycle;
mod policy;
mod reads;
mod rig;
mod runs;
mod sgl;
mod traffic;
mod workloads;

use saker_testing::tier;
