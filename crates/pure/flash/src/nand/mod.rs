// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NAND: what cells hold, how long operations take, how they fail.

pub mod any;
pub mod cells;
pub mod compact;
pub mod fault;
pub mod memory;
pub mod timing;

pub use any::AnyCells;
pub use cells::{Cell, Cells, Lasting, Shape};
pub use compact::CompactCells;
pub use fault::{FaultPlan, Faults, PowerCut};
pub use memory::MemCells;
pub use timing::{FourParameter, NandModel, TimingModel, Timings};
