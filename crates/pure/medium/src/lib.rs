//! What lies between stores and storage.
//!
//! A store (an engine over flash in the device, the same engine at the host over a block namespace, the
//! page-mapped block FTL) sees *segments* of *pages*: a segment is erased as a whole, its pages are
//! programmed once and in order. On flash a segment is a superblock; over a block namespace it is an extent.
//! What must survive before its page is programmed lives in the power-safe [`Ring`].
#![forbid(unsafe_code)]

pub mod addr;
pub mod advice;
pub mod crash;
pub mod crc;
pub mod flip;
pub mod header;
mod mark;
pub mod medium;
pub mod planted;
pub mod ring;
pub mod step;

pub use addr::{Geometry, PageAddr, SegmentId};
pub use flip::Flip;
pub use header::{HeaderError, PageHeader, Stream};
pub use medium::{Completion, Io, MediaError, Medium, Page, PowerHistory, SegmentView, Tag};
pub use ring::{Ring, RingMemory, SlotError, SlotId, SlotMend, SlotState, SlotView};
pub use step::{Reads, Stall, Step};
