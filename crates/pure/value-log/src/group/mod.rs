// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: many pairs in one record.
//!
//! The payload is the record. It lands in the log, is parsed there ([`Plan`]), its members are sealed ([`seal`]), and entries of
//! the engine point at them. Recovery and collections walk its members like records of their own; what a collection keeps
//! becomes one. Members count with what they take alone, so moving them out never needs more room than they had.

mod answers;
mod members;
mod plan;
pub mod seal;
mod seen;

pub use answers::ToAnswers;
pub use members::{member_loc, seal_members};
pub use plan::{Placed, Plan, Planned, counted_bytes};
pub use seen::Seen;

/// Longest payload of a group, in bytes.
pub const GROUP_BYTES_MAX: u32 = 1 << 20;
const _: () = assert!(GROUP_BYTES_MAX <= crate::record_addr::MEMBER_BYTES_MAX + 4);

/// What metering charges for the keys of a group (HotStorage'19, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyCost {
    /// Every pair its own index update.
    #[default]
    PerPair,
    /// One for all of them, and the move of an entry each.
    Batched,
}
