// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host memory as the device sees it.

mod arena;
pub(crate) mod copy;
mod error;
mod foreign;
mod gate;
mod mapping;
mod pages;
mod pieces;
mod prps;
mod region;
mod space;
mod window;

pub use error::{ArenaFull, DmaError, DmaFault, MapError};
pub use foreign::{ForeignError, ForeignMemory, ForeignOwner};
pub use pieces::{gather, gather_into, scatter};
pub use prps::prp_pieces;
pub use region::DmaRegion;
pub use space::DmaSpace;
pub use window::Window;

/// Bytes of a memory page: the unit of arena allocation and of PRP entries (CC.MPS = 0).
pub const PAGE_BYTES: usize = 4096;

/// IOVA of the arena's first byte.
pub const ARENA_IOVA: u64 = 0x1000_0000;

/// IOVA of the first window.
pub const WINDOW_IOVA: u64 = 1 << 45;

/// Distance between the IOVAs of neighbouring windows. A power of two, so that an address becomes a window by a
/// shift; what a buffer does not fill is a guard in which every access fails.
pub const WINDOW_STRIDE: u64 = 4 << 20;

/// Longest buffer, in bytes, that a window takes at any offset within its first page.
pub const WINDOW_BYTES_MAX: usize = 2 << 20;

// A u32 count of arena pages never reaches the windows; a u32 count of windows never wraps the address space.
const _: () = assert!(ARENA_IOVA + (u32::MAX as u64 + 1) * (PAGE_BYTES as u64) < WINDOW_IOVA);
const _: () = assert!(WINDOW_STRIDE.is_power_of_two() && WINDOW_STRIDE < u64::MAX >> 33);
const _: () = assert!((WINDOW_BYTES_MAX + PAGE_BYTES) as u64 <= WINDOW_STRIDE);

/// Where in its first IOVA page a mapped buffer starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the buffer's own offset within its 4-KiB page, so that PRP rules look as they do with real memory.
    Natural,
    /// At this offset (taken modulo the page), whatever the buffer's address. Runs that have to be repeated byte
    /// for byte need it: real addresses differ from run to run.
    At(u16),
}
