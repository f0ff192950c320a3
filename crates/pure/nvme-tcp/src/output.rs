// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes on their way to the socket.

use std::collections::VecDeque;

use crate::buffers::Buffers;

/// Data of at least this length keeps its buffer; shorter data is copied behind what is there.
const OWN_CHUNK_BYTES: usize = 8 << 10;

/// Copied data is gathered in chunks of about this length.
const CHUNK_BYTES: usize = 16 << 10;

/// A queue of bytes.
#[derive(Debug, Default)]
pub struct Output {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are sent.
    sent: usize,
    pending: usize,
    /// An empty buffer for the next chunk.
    spare: Vec<u8>,
}

impl Output {
    /// Bytes that wait.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Bytes of memory: those that wait, and those of the first piece that are sent, for a piece goes as a whole.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.pending + self.sent
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// The pieces that wait, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut skip = self.sent;
        self.chunks.iter().map(move |chunk| chunk.get(std::mem::take(&mut skip)..).unwrap_or_default())
    }

    /// The first `bytes` bytes have been sent; more than wait are taken as all.
    pub(crate) fn consume(&mut self, bytes: usize, buffers: &mut Buffers) {
        self.pending = self.pending.saturating_sub(bytes);
        self.sent += bytes;
        while let Some(first) = self.chunks.front()
            && self.sent >= first.len()
        {
            self.sent -= first.len();
            if let Some(chunk) = self.chunks.pop_front() {
                self.spent(chunk, buffers);
            }
        }
        if self.chunks.is_empty() {
            self.sent = 0;
        }
    }

    fn spent(&mut self, mut chunk: Vec<u8>, buffers: &mut Buffers) {
        if chunk.capacity() <= 2 * CHUNK_BYTES {
            chunk.clear();
            self.spare = chunk;
        } else {
            buffers.give(chunk);
        }
    }

    /// Appends a copy.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pending += bytes.len();
        match self.chunks.back_mut() {
            Some(last) if last.len() + bytes.len() <= CHUNK_BYTES => last.extend_from_slice(bytes),
            _ => {
                let mut chunk = std::mem::take(&mut self.spare);
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(chunk);
            }
        }
    }

    /// Appends a buffer, without a copy if it is long.
    pub(crate) fn push_owned(&mut self, bytes: Vec<u8>) {
        if bytes.len() < OWN_CHUNK_BYTES {
            return self.push(&bytes);
        }
        self.pending += bytes.len();
        self.chunks.push_back(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order_whatever_is_taken_at_once() {
        let mut output = Output::default();
        let mut expected = Vec::new();
        for n in 0..50_usize {
            let piece = vec![n as u8; n * 997 % 20_011];
            expected.extend_from_slice(&piece);
            if n % 3 == 0 { output.push(&piece) } else { output.push_owned(piece) }
        }
        assert_eq!(output.pending(), expected.len());
        let mut sent = Vec::new();
        while !output.is_empty() {
            let piece = output.pieces().find(|piece| !piece.is_empty()).unwrap_or_default();
            let take = piece.len().min(7_001);
            sent.extend_from_slice(piece.get(..take).unwrap_or_default());
            output.consume(take, &mut Buffers::default());
        }
        assert!(sent == expected, "the same bytes");
        assert_eq!(output.pieces().count(), 0, "no chunk is kept");
    }
}
