// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bytes of a page buffer.

use std::ops::{Deref, DerefMut};
use zerocopy::IntoBytes;

/// Where the bytes of a page buffer live.
pub enum PageBufferMemory {
    /// Ordinary memory, in words so that it is aligned: as lasting as the process.
    Heap(Vec<u64>),
    /// A shared mapping of an image file: outlives the process.
    Mapped(Box<dyn DerefMut<Target = [u8]> + Send>),
}

impl Deref for PageBufferMemory {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(words) => words.as_bytes(),
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for PageBufferMemory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(words) => words.as_mut_bytes(),
            Self::Mapped(bytes) => bytes,
        }
    }
}

/// A fork is always heap memory.
impl Clone for PageBufferMemory {
    fn clone(&self) -> Self {
        Self::from_bytes(self)
    }
}

impl PageBufferMemory {
    /// Heap memory with those bytes, rounded up to whole words.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        Self::Heap(words)
    }
}

impl std::fmt::Debug for PageBufferMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PageBufferMemory({} bytes)", self.len())
    }
}
