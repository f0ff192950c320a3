// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that the kernel reads and writes.

use std::ptr;

use rustix::mm::{Advice, madvise};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A page, at a page's boundary.
#[derive(Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// Pages of one huge page.
const HUGE: usize = (2 << 20) / size_of::<Page>();

/// A huge page, if the kernel has one.
#[derive(Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(2097152))]
struct HugePage([Page; HUGE]);

/// More pages than this, at any offset in the first, take more segments than the kernel gives a PCIe controller (`NVME_MAX_SEGS`, 127 in
/// `drivers/nvme/host/pci.c` of Linux 6.1), unless they are neighbours in memory.
const SCATTERED_MAX: usize = 126;

/// Bytes that begin with a page: the kernel maps them in place. Many pages are in huge ones.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    memory: Memory,
    bytes: usize,
}

#[derive(Clone, Debug)]
enum Memory {
    Pages(Vec<Page>),
    Huge(Vec<HugePage>),
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Buffer {
    /// Zeros.
    pub fn new(bytes: usize) -> Self {
        let pages = bytes.div_ceil(size_of::<Page>());
        let memory = if pages > SCATTERED_MAX {
            Memory::Huge(huge(bytes.div_ceil(size_of::<HugePage>())))
        } else {
            Memory::Pages(vec![Page([0; 4096]); pages])
        };
        Self { memory, bytes }
    }

    /// A copy.
    pub fn copy_of(data: &[u8]) -> Self {
        let mut buffer = Self::new(data.len());
        buffer.bytes_mut().copy_from_slice(data);
        buffer
    }

    pub fn bytes(&self) -> &[u8] {
        let all = match &self.memory {
            Memory::Pages(pages) => pages.as_bytes(),
            Memory::Huge(pages) => pages.as_bytes(),
        };
        &all[..self.bytes]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let all = match &mut self.memory {
            Memory::Pages(pages) => pages.as_mut_bytes(),
            Memory::Huge(pages) => pages.as_mut_bytes(),
        };
        &mut all[..self.bytes]
    }
}

/// Huge pages of zeros. The kernel is asked for them before they are touched.
fn huge(count: usize) -> Vec<HugePage> {
    let mut pages: Vec<HugePage> = Vec::with_capacity(count);
    let (start, bytes) = (pages.as_mut_ptr(), count * size_of::<HugePage>());
    // SAFETY: the range is the vector's memory; advice changes none of its bytes. A kernel without huge pages refuses.
    let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
    // SAFETY: there is room for that many, and all-zero bytes are pages.
    unsafe {
        ptr::write_bytes(start, 0, count);
        pages.set_len(count);
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_with_a_page_and_have_the_exact_length() {
        for bytes in [0, 1, 4096, 4097, 126 << 12, (126 << 12) + 1, 2 << 20, 3 << 20] {
            let mut buffer = Buffer::copy_of(&vec![7; bytes]);
            assert_eq!((buffer.bytes().len(), buffer.bytes().as_ptr() as usize % 4096), (bytes, 0));
            buffer.bytes_mut().fill(9);
            assert!(buffer.bytes().iter().all(|byte| *byte == 9));
        }
    }
}
