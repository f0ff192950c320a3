// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The messages of DH-HMAC-CHAP (Base 2.0, section 8.13.5; fields as in torvalds/linux, include/linux/nvme.h,
//! `nvmf_auth_dhchap_*`). They travel as data of Authentication Send and Authentication Receive.
//!
//! A message is read strictly: reserved bytes are zero, lists hold known identifiers once each, what is announced to be
//! absent is absent, and nothing follows. So a message that was changed on its way is refused even where no response covers it. The
//! one field that has no meaning sometimes, and is not zero then, is the sequence number of a reply without a challenge.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod challenge;
mod failure;
mod negotiate;
mod reader;
mod reply;
mod success;

pub use challenge::Challenge;
pub use failure::{Explanation, Failure};
pub use negotiate::Negotiate;
pub use reply::Reply;
pub use success::{Success1, Success2};

/// AUTH_TYPE, byte 0.
pub mod auth_type {
    /// Messages that all protocols share.
    pub const COMMON: u8 = 0x00;
    /// Messages of DH-HMAC-CHAP.
    pub const DHCHAP: u8 = 0x01;
}

/// AUTH_ID, byte 1.
pub mod auth_id {
    /// AUTH_Negotiate, of the common messages.
    pub const NEGOTIATE: u8 = 0x00;
    /// DH-HMAC-CHAP_Challenge.
    pub const CHALLENGE: u8 = 0x01;
    /// DH-HMAC-CHAP_Reply.
    pub const REPLY: u8 = 0x02;
    /// DH-HMAC-CHAP_Success1.
    pub const SUCCESS1: u8 = 0x03;
    /// DH-HMAC-CHAP_Success2.
    pub const SUCCESS2: u8 = 0x04;
    /// AUTH_Failure2, of the common messages: the host's.
    pub const FAILURE2: u8 = 0xF0;
    /// AUTH_Failure1, of the common messages: the controller's.
    pub const FAILURE1: u8 = 0xF1;
}

/// Bytes of the longest message: a reply with two values of 64 bytes and a public value of 8192 bits.
pub const MESSAGE_BYTES_MAX: usize = 16 + 2 * HASH_BYTES_MAX + GROUP_BYTES_MAX;
/// Bytes of the longest hash.
pub const HASH_BYTES_MAX: usize = 64;
/// Bytes of the longest public value.
pub const GROUP_BYTES_MAX: usize = 1024;

/// HashID: the hash function of HMAC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum HashId {
    /// SHA-256.
    Sha256 = 1,
    /// SHA-384.
    Sha384 = 2,
    /// SHA-512.
    Sha512 = 3,
}

impl HashId {
    /// All.
    pub const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    /// The hash of a number on the wire.
    #[must_use]
    pub fn of(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| *hash as u8 == id)
    }

    /// Bytes of its result.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}

/// DHgID: the Diffie-Hellman group (RFC 7919).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum GroupId {
    /// None: challenge and response without Diffie-Hellman.
    Null = 0,
    /// 2048 bits.
    Ffdhe2048 = 1,
    /// 3072 bits.
    Ffdhe3072 = 2,
    /// 4096 bits.
    Ffdhe4096 = 3,
    /// 6144 bits.
    Ffdhe6144 = 4,
    /// 8192 bits.
    Ffdhe8192 = 5,
}

impl GroupId {
    /// All.
    pub const ALL: [Self; 6] =
        [Self::Null, Self::Ffdhe2048, Self::Ffdhe3072, Self::Ffdhe4096, Self::Ffdhe6144, Self::Ffdhe8192];

    /// The group of a number on the wire.
    #[must_use]
    pub fn of(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|group| *group as u8 == id)
    }

    /// Bytes of its public values and shared secrets; none of [`GroupId::Null`].
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Ffdhe2048 => 256,
            Self::Ffdhe3072 => 384,
            Self::Ffdhe4096 => 512,
            Self::Ffdhe6144 => 768,
            Self::Ffdhe8192 => 1024,
        }
    }

    /// Its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Ffdhe2048 => "ffdhe2048",
            Self::Ffdhe3072 => "ffdhe3072",
            Self::Ffdhe4096 => "ffdhe4096",
            Self::Ffdhe6144 => "ffdhe6144",
            Self::Ffdhe8192 => "ffdhe8192",
        }
    }
}

/// AUTH_TYPE and AUTH_ID of a message, if it has them.
#[must_use]
pub fn kind_of(message: &[u8]) -> Option<(u8, u8)> {
    message.first_chunk().map(|[auth_type, auth_id]| (*auth_type, *auth_id))
}
