// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions of many clients, judged by a checker of histories. Tests only: threads run one at a time.

mod actors;
mod checker;
mod device;
mod fake;
mod histories;
mod log;
mod planted;
mod shards;

use saker_testing::tier;
