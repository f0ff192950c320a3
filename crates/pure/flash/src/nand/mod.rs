//! NAND: what cells hold, how long operations take, how they fail.

pub mod cells;
pub mod fault;
pub mod media;
pub mod memory;
pub mod timing;

pub use cells::Cells;
pub use fault::{FaultPlan, Faults, PowerCut};
pub use media::{Cell, Media, Shape};
pub use memory::MemMedia;
pub use timing::{FourParameter, NandModel, TimingModel, Timings};
