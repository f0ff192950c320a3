// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fields of a message, one behind the other.

use super::Explanation;

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// A reader behind AUTH_TYPE and AUTH_ID, which have to be these, and the two reserved bytes that follow; and T_ID.
    pub fn open(message: &'a [u8], kind: (u8, u8)) -> Result<(Self, u16), Explanation> {
        let mut reader = Self(message);
        if (reader.byte()?, reader.byte()?) != kind {
            return Err(Explanation::IncorrectMessage);
        }
        reader.zeros(2)?;
        let transaction = reader.word()?;
        Ok((reader, transaction))
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Explanation> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(Explanation::IncorrectPayload)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Explanation> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Explanation::IncorrectPayload)?;
        self.0 = rest;
        Ok(*head)
    }

    pub fn byte(&mut self) -> Result<u8, Explanation> {
        self.array().map(|[byte]| byte)
    }

    pub fn word(&mut self) -> Result<u16, Explanation> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn double_word(&mut self) -> Result<u32, Explanation> {
        self.array().map(u32::from_le_bytes)
    }

    /// A field that is 0 or 1.
    pub fn flag(&mut self) -> Result<bool, Explanation> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Explanation::IncorrectPayload),
        }
    }

    pub fn zeros(&mut self, count: usize) -> Result<(), Explanation> {
        let are_zero = self.bytes(count)?.iter().all(|byte| *byte == 0);
        if are_zero { Ok(()) } else { Err(Explanation::IncorrectPayload) }
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<(), Explanation> {
        if self.0.is_empty() { Ok(()) } else { Err(Explanation::IncorrectPayload) }
    }
}

/// The first six bytes of a message.
pub(super) fn begin((auth_type, auth_id): (u8, u8), transaction: u16) -> Vec<u8> {
    let mut message = vec![auth_type, auth_id, 0, 0];
    message.extend_from_slice(&transaction.to_le_bytes());
    message
}
