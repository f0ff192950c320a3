// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flash that behaves: NAND that must be erased before it is programmed and is programmed in order, its
//! timing, its faults, superblocks handed out to owners, and the page-mapped FTL of block namespaces.
#![forbid(unsafe_code)]

pub mod flash;
pub mod ftl;
pub mod nand;
pub mod packing;
pub mod page_map;

pub use flash::{Flash, FlashStats, NamespaceSegments, Pinned, ReadBatch, SyncNumber};
pub use ftl::Superblocks;
pub use nand::{
    AnyCells, Cell, Cells, FaultPlan, Lasting, MemCells, NandModel, PowerCut, TimingModel, Timings,
};
pub use page_map::{BlockError, PageMap};
