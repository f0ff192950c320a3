// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that the kernel reads and writes.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A page, at a page's boundary.
#[derive(Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// Bytes that begin with a page: the kernel maps them in place, and 2 MiB take no more segments than a controller of that
/// MDTS has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    pages: Vec<Page>,
    bytes: usize,
}

impl Buffer {
    /// Zeros.
    pub fn new(bytes: usize) -> Self {
        Self { pages: vec![Page([0; 4096]); bytes.div_ceil(size_of::<Page>())], bytes }
    }

    /// A copy.
    pub fn copy_of(data: &[u8]) -> Self {
        let mut buffer = Self::new(data.len());
        buffer.bytes_mut().copy_from_slice(data);
        buffer
    }

    pub fn bytes(&self) -> &[u8] {
        &self.pages.as_bytes()[..self.bytes]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.pages.as_mut_bytes()[..self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_with_a_page_and_have_the_exact_length() {
        for bytes in [0, 1, 4096, 4097, 2 << 20] {
            let mut buffer = Buffer::copy_of(&vec![7; bytes]);
            assert_eq!((buffer.bytes().len(), buffer.bytes().as_ptr() as usize % 4096), (bytes, 0));
            buffer.bytes_mut().fill(9);
            assert!(buffer.bytes().iter().all(|byte| *byte == 9));
        }
    }
}
