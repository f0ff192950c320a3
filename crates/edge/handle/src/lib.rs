// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What bindings to other languages stand on: devices that threads share, that refuse to be used behind a fork, whose scans and
//! transactions borrow nothing, and that tell each failure by a [`Class`].
//!
//! A binding adds its language's types and nothing else.

mod cache;
mod class;
mod counters;
mod fault;
mod image;
mod scan;
mod store;
mod transaction;
mod writes;

pub use cache::{Cache, CacheStats};
pub use class::Class;
pub use counters::counters;
pub use fault::Fault;
pub use image::create;
pub use saker::{
    Born, NamedSetting, Require, RetentionOptions, RetentionOrder, ScanOrder, SplitOutcome, Stats,
    TransactionEnd, TransactionId, WriteBatch,
};
pub use saker_sim::Duration;
pub use scan::{Pair, Scan, ScanWish};
pub use store::Store;
pub use transaction::Transaction;
pub use writes::Writes;
