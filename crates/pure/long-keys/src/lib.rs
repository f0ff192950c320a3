// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How pairs with keys of 17 to 255 bytes are kept on a device whose own keys have at most 16: the format that hosts write
//! through the standard commands, and that our device writes by itself for its indirect keys. So both find each other's
//! pairs, and a List shows them.
//!
//! A long key's pair is stored under a device key of 16 bytes: the mark `FFh 4Bh` and 112 bits of the key's xxh3-128
//! digest. The value there is an [`envelope`] of every pair whose key has that digest, so that a collision costs time but
//! never a pair, and a change of the envelope is one Store, which is atomic.
#![forbid(unsafe_code)]

mod digest;
pub mod envelope;

pub use digest::{
    DEVICE_KEY_BYTES, KeyDigest, MARK, NarrowDigest, Xxh3Digest, device_key, is_enveloped, is_marked,
};
pub use envelope::EnvelopeError;

/// The longest key in bytes.
pub const KEY_BYTES_MAX: usize = 255;
