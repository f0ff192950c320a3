// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Command identifiers that own what a command in flight needs.

mod pool;
mod queue;
mod staging;

pub use pool::{PoolError, SlotPool};
pub use queue::{Completion, CompletionError, RejectReason, Rejected, SlotQueue};
pub use staging::{LIST_ENTRIES, STAGING_BYTES, Slot};
