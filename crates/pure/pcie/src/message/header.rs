// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every message begins with.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::fields::Fields;
use super::{HEADER_BYTES, MESSAGE_BYTES_MAX, MessageError};

/// Bits of a header's flags.
pub(super) mod flags {
    pub const TYPE: u32 = 0xF;
    pub const NO_REPLY: u32 = 1 << 4;
}

/// What every message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Echoed in the reply.
    pub id: u16,
    /// The command.
    pub command: u16,
    /// Bytes of the message, these included.
    pub size: u32,
    /// Flags.
    pub flags: u32,
    /// Of a reply that tells an error: errno.
    pub error: u32,
}

impl Header {
    /// The header in the first bytes of a message.
    ///
    /// # Errors
    /// [`MessageError::Size`] for a length that no message has: where the next one begins is not known then.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, MessageError> {
        let mut fields = Fields(bytes);
        let header = fields.header().ok_or(MessageError::Short)?;
        if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&(header.size as usize)) {
            return Err(MessageError::Size(header.size));
        }
        Ok(header)
    }

    /// Bytes behind the header.
    #[must_use]
    pub const fn body_bytes(&self) -> usize {
        (self.size as usize).saturating_sub(HEADER_BYTES)
    }

    /// Whether nobody waits for a reply.
    #[must_use]
    pub const fn wants_no_reply(&self) -> bool {
        self.flags & flags::NO_REPLY != 0
    }

    /// Whether it is a reply.
    #[must_use]
    pub const fn is_reply(&self) -> bool {
        self.flags & flags::TYPE == 1
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let words = [u32::from(self.id) | u32::from(self.command) << 16, self.size, self.flags, self.error];
        let mut bytes = [0; HEADER_BYTES];
        for (part, word) in bytes.chunks_exact_mut(4).zip(words) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
