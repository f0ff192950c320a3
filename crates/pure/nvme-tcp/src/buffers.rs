// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of long transfers, used again by the next ones. An allocator gives so much memory back to the operating system each
//! time, and its pages are made, zeroed, anew for each transfer: more work than the transfer itself.

/// Shorter ones are not worth it.
const BUFFER_BYTES_MIN: usize = 16 << 10;

/// Bytes kept at most.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// Buffers that are not in use.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    kept: Vec<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    /// Bytes of memory kept.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// An empty buffer with room for `bytes` bytes.
    pub fn take_empty(&mut self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.take(bytes).unwrap_or_else(|| Vec::with_capacity(bytes));
        buffer.clear();
        buffer
    }

    /// A full buffer for data that is to come from elsewhere; an empty one if that is not worth it.
    pub fn take_for_answer(&mut self, bytes: u32) -> Vec<u8> {
        let bytes = bytes as usize;
        if bytes < BUFFER_BYTES_MIN { Vec::new() } else { self.take_full(bytes) }
    }

    /// A buffer of `bytes` bytes, whatever they are.
    pub fn take_full(&mut self, bytes: usize) -> Vec<u8> {
        let Some(mut buffer) = self.take(bytes) else { return vec![0; bytes] };
        buffer.resize(bytes, 0);
        buffer
    }

    fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let at = self.kept.iter().rposition(|buffer| buffer.capacity() >= bytes)?;
        let buffer = self.kept.swap_remove(at);
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps a buffer for the next transfer, if it is worth it.
    pub fn give(&mut self, buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        if bytes >= BUFFER_BYTES_MIN && self.bytes + bytes <= KEPT_BYTES_MAX {
            self.bytes += bytes;
            self.kept.push(buffer);
        }
    }

    /// A buffer that is about as long as what is in it. A short answer in a long buffer would hold much more memory than
    /// it counts while a host does not read it.
    pub fn fitted(&mut self, data: Vec<u8>) -> Vec<u8> {
        if data.capacity() < BUFFER_BYTES_MIN || data.capacity() <= 2 * data.len() {
            return data;
        }
        let exact = data.as_slice().to_vec();
        self.give(data);
        exact
    }

    /// Gives all memory back.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_go_round_and_are_bounded() {
        let mut buffers = Buffers::default();
        buffers.give(vec![7; BUFFER_BYTES_MIN - 1]);
        assert_eq!(buffers.bytes(), 0, "not worth it");
        let first = vec![7; 1 << 20];
        let place = first.as_ptr();
        buffers.give(first);
        assert!(buffers.take_empty((1 << 20) + 1).is_empty(), "none is long enough");
        let again = buffers.take_full(1000);
        assert_eq!((again.as_ptr(), again.len(), buffers.bytes()), (place, 1000, 0));
        buffers.give(again);
        let longer = buffers.take_full(1 << 20);
        assert_eq!((longer.as_ptr(), longer.len()), (place, 1 << 20));
        buffers.give(longer);
        assert!(buffers.take_empty(1 << 20).is_empty());
        for _ in 0..20 {
            buffers.give(vec![1; 1 << 20]);
        }
        assert_eq!(buffers.bytes(), KEPT_BYTES_MAX);
        buffers.clear();
        assert_eq!(buffers.take_full(5), [0; 5]);
    }

    #[test]
    fn a_short_answer_does_not_hold_a_long_buffer() {
        let mut buffers = Buffers::default();
        let mut long = vec![7; 1 << 20];
        long.truncate(9_000);
        let fitted = buffers.fitted(long);
        assert_eq!((fitted.len(), fitted.capacity() < 20_000, buffers.bytes()), (9_000, true, 1 << 20));
        let half = Vec::from_iter(std::iter::repeat_n(7, 600_000));
        let place = half.as_ptr();
        let same = buffers.fitted(half);
        assert_eq!(same.as_ptr(), place, "not worth a copy");
    }
}
