// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data of List (KV, List command: "List Data Structure" and "Key Data Structure").
//!
//! A u32 NRK, then NRK entries: a u16 KL, the key, and zeros up to a multiple of four bytes. The padding belongs to
//! each entry; a writer has room for an entry only if its padding fits too, a reader forgives its absence at the end.

use crate::key::Key;

/// Bytes of NRK, the number of returned keys.
pub const HEAD_BYTES: usize = 4;

const KL_BYTES: usize = 2;

/// Bytes of the entry of a key of `key_len` bytes, padding included: a multiple of 4.
#[inline]
#[must_use]
pub const fn entry_bytes(key_len: usize) -> usize {
    (KL_BYTES + key_len + 3) & !3
}

/// The buffer cannot take more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the list buffer is full")]
pub struct ListFull;

/// Fills a buffer with a List answer. After every call the buffer holds a complete answer.
#[derive(Debug)]
pub struct ListWriter<'a> {
    head: &'a mut [u8; HEAD_BYTES],
    rest: &'a mut [u8],
    count: u32,
    bytes: usize,
}

impl<'a> ListWriter<'a> {
    /// An answer of no keys; [`ListFull`] if the buffer has fewer than 4 bytes.
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Result<Self, ListFull> {
        let (head, rest) = buffer.split_first_chunk_mut().ok_or(ListFull)?;
        *head = [0; HEAD_BYTES];
        Ok(Self { head, rest, count: 0, bytes: HEAD_BYTES })
    }

    /// Appends a key; [`ListFull`] leaves the answer as it was.
    #[inline]
    pub fn push(&mut self, key: &Key) -> Result<(), ListFull> {
        let stride = entry_bytes(key.len());
        if stride > self.rest.len() {
            return Err(ListFull);
        }
        let (entry, rest) = core::mem::take(&mut self.rest).split_at_mut(stride);
        write_entry(entry, key);
        self.rest = rest;
        self.bytes += stride;
        self.count += 1;
        *self.head = self.count.to_le_bytes();
        Ok(())
    }

    /// Keys written.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of the answer so far: what there is to transfer.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// `entry` has exactly the bytes of the key's entry.
#[inline]
fn write_entry(entry: &mut [u8], key: &Key) {
    let (kl, text) = entry.split_at_mut(KL_BYTES);
    kl.copy_from_slice(&(key.len() as u16).to_le_bytes());
    let (text, padding) = text.split_at_mut(key.len());
    text.copy_from_slice(key.as_bytes());
    padding.fill(0);
}

/// What is wrong with a List answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// The buffer ends within NRK or within an entry that NRK promised.
    #[error("the list is cut off")]
    Truncated,
    /// KL is 0 or above 16.
    #[error("a listed key has {0} bytes")]
    KeyLength(u16),
}

/// Reads a List answer of any bytes: every key, or one error, which is the last item.
#[derive(Clone, Debug)]
pub struct ListReader<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> ListReader<'a> {
    /// Reads NRK; an error if there are fewer than 4 bytes.
    pub fn new(answer: &'a [u8]) -> Result<Self, ListError> {
        let (head, rest) = answer.split_first_chunk().ok_or(ListError::Truncated)?;
        Ok(Self { rest, left: u32::from_le_bytes(*head) })
    }

    /// NRK less the keys already read: a claim of the controller, not bounded by the buffer.
    #[must_use]
    pub const fn remaining(&self) -> u32 {
        self.left
    }

    fn entry(&mut self) -> Result<Key, ListError> {
        let (kl, rest) = self.rest.split_first_chunk().ok_or(ListError::Truncated)?;
        let kl = u16::from_le_bytes(*kl);
        if kl == 0 || usize::from(kl) > Key::MAX_LEN {
            return Err(ListError::KeyLength(kl));
        }
        let text = rest.get(..usize::from(kl)).ok_or(ListError::Truncated)?;
        self.rest = self.rest.get(entry_bytes(text.len())..).unwrap_or_default();
        Key::new(text).map_err(|_| ListError::KeyLength(kl))
    }
}

impl Iterator for ListReader<'_> {
    type Item = Result<Key, ListError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.entry();
        if entry.is_err() {
            self.left = 0;
        }
        Some(entry)
    }
}
