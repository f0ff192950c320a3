// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of 1 to 255 bytes on any key-value device.
//!
//! A key of 17 to 255 bytes is stored under a device key of 16 bytes: the mark `FFh 4Bh` and 112 bits of the key's
//! xxh3-128 digest. The value there is an [`envelope`] of every pair whose key has that digest, so that a collision costs
//! time but never a pair, and a change of the envelope is one Store, which is atomic. A key of exactly 16 bytes that
//! begins with the mark takes the same way; so every device key of 16 bytes with the mark is an envelope, and no other is.
//!
//! Devices that take long keys by pointer do that by themselves, in one command each; then this module only chooses the
//! way. Elsewhere, writing such a key reads the envelope first. A device cannot compare and swap, so two clients that
//! write keys of one digest at the same moment can lose one of the writes: keep the long keys of a namespace there to one
//! writing client.

mod groups;
mod keys;
mod moment;
mod page;
mod route;
mod scan;
mod store;
mod transaction_scan;
mod transaction_set;
mod transactions;

pub use keys::StoreKeys;
pub use moment::Moment;
pub use saker_long_keys::{
    EnvelopeError, KEY_BYTES_MAX, KeyDigest, MARK, Xxh3Digest, envelope, is_enveloped,
};
pub use scan::{ScanCursor, ScanOptions, ScanOrder, ScanPairs};
pub use store::KvStoreClient;
pub use transaction_scan::RangeFound;
pub use transaction_set::{Require, TransactionSet, Versioned, bounds};
