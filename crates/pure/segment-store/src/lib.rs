// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What lies between stores and storage.
//!
//! A store (an engine over flash in the device, the same engine at the host over a block namespace, the
//! page-mapped block FTL) sees *segments* of *pages*: a segment is erased as a whole, its pages are
//! programmed once and in order. On flash a segment is a superblock; over a block namespace it is an extent.
//! What must survive before its page is programmed lives in the power-safe [`PageBuffer`].
#![forbid(unsafe_code)]

pub mod addr;
pub mod advice;
mod checked;
pub mod crash;
pub mod crc;
pub mod flip;
pub mod header;
mod looked;
mod mark;
pub mod page_buffer;
pub mod planted;
pub mod segment_store;
pub mod step;
pub mod zeros;

pub use addr::{Geometry, PageAddr, SegmentId};
pub use checked::Checked;
pub use flip::Flip;
pub use header::{HeaderError, PageHeader, Stream};
pub use looked::Looked;
pub use page_buffer::{PageBuffer, PageBufferMemory, SlotError, SlotId, SlotMend, SlotState, SlotView};
pub use segment_store::{
    CellError, Completion, Io, Order, Page, PowerHistory, SegmentStore, SegmentView, Tag,
};
pub use step::{Reads, Stall, Step};
pub use zeros::is_zero;
