// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DH-HMAC-CHAP (Base 2.0, section 8.13.5): who a host and a controller are, proved without showing a secret.
//!
//! Both ends are state machines over messages. They know no socket, no clock and no source of randomness: what is to be
//! unpredictable comes in as [`Randomness`]. What takes long (exponents, responses) is [`Work`] that can be done on another thread.
//!
//! | module | holds |
//! |---|---|
//! | `secret` | `DHHC-1:...`: reading, checking, making |
//! | `hash` | HMAC, and comparison in constant time |
//! | `group`, `primes` | Diffie-Hellman |
//! | `response` | what a response is computed of |
//! | [`controller`] | the controller's end |
//! | [`host`] | the host's end |
//!
//! Facts are those of torvalds/linux, drivers/nvme/common/auth.c, drivers/nvme/target/auth.c and fabrics-cmd-auth.c, and
//! drivers/nvme/host/auth.c.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod controller;
mod group;
mod hash;
pub mod host;
mod primes;
mod response;
mod secret;
#[cfg(test)]
mod tests;

pub use controller::{Controller, Credentials, Outcome, Work, Worked};
pub use host::{Host, HostError, HostSecrets};
pub use response::Names;
pub use saker_nvme::fabrics::dhchap::{Explanation, GroupId, HashId};
pub use secret::{Secret, SecretError};

use zeroize::{Zeroize, ZeroizeOnDrop};

/// What one authentication needs of unpredictable bytes: from the operating system, and never used twice.
pub struct Randomness {
    /// Of the private exponent.
    pub private: [u8; PRIVATE_BYTES],
    /// Of the challenge.
    pub challenge: [u8; 64],
    /// Of the sequence number, where it begins.
    pub sequence: [u8; 4],
}

/// Bytes of a private exponent: twice the strength of the largest group, 200 bits (RFC 7919, section 5.2), and more.
pub const PRIVATE_BYTES: usize = 64;

impl Randomness {
    /// Takes apart what a source of random bytes has given.
    #[must_use]
    pub fn new(bytes: &[u8; PRIVATE_BYTES + 68]) -> Self {
        let mut new = Self { private: [0; PRIVATE_BYTES], challenge: [0; 64], sequence: [0; 4] };
        let places = new.private.iter_mut().chain(&mut new.challenge).chain(&mut new.sequence);
        places.zip(bytes).for_each(|(place, byte)| *place = *byte);
        new
    }

    /// SEQNUM: never 0, which would say that there is none.
    fn sequence(&self) -> u32 {
        u32::from_le_bytes(self.sequence).max(1)
    }
}

impl Drop for Randomness {
    fn drop(&mut self) {
        self.private.zeroize();
        self.challenge.zeroize();
    }
}

impl ZeroizeOnDrop for Randomness {}

impl core::fmt::Debug for Randomness {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Randomness")
    }
}
