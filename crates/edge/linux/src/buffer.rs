// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that the kernel reads and writes.

use memmap2::{Advice, MmapMut};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A page, at a page's boundary.
#[derive(Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// Pages that take no more segments than the kernel gives a PCIe controller, wherever they are in memory: `NVME_MAX_SEGS`, 127, in
/// `drivers/nvme/host/pci.c` of Linux 6.1. Of more pages neighbours have to be neighbours in memory.
const SCATTERED_MAX: usize = 126;
/// Bytes of a huge page.
const HUGE_BYTES: usize = 2 << 20;

/// Bytes that begin with a page: the kernel maps them in place. Many are in huge pages, if the kernel has any.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Memory,
    bytes: usize,
}

#[derive(Debug)]
enum Memory {
    Pages(Vec<Page>),
    /// A mapping of its own, and where the first huge page begins in it: memory that was in use before stays in small pages.
    Huge(MmapMut, usize),
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
        let huge = if pages > SCATTERED_MAX { huge(bytes) } else { None };
        let memory = huge.unwrap_or_else(|| Memory::Pages(vec![Page([0; 4096]); pages]));
        Self { memory, bytes }
    }

    /// A copy.
    pub fn copy_of(data: &[u8]) -> Self {
        let mut buffer = Self::new(data.len());
        buffer.bytes_mut().copy_from_slice(data);
        buffer
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Pages(pages) => &pages.as_bytes()[..self.bytes],
            Memory::Huge(mapped, at) => &mapped[*at..at + self.bytes],
        }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Pages(pages) => &mut pages.as_mut_bytes()[..self.bytes],
            Memory::Huge(mapped, at) => &mut mapped[*at..*at + self.bytes],
        }
    }
}

/// So many bytes in huge pages, untouched; nothing where the system refuses.
fn huge(bytes: usize) -> Option<Memory> {
    let whole = bytes.next_multiple_of(HUGE_BYTES);
    let mapped = MmapMut::map_anon(whole + HUGE_BYTES).ok()?;
    // A kernel without them has small ones.
    let _ = mapped.advise(Advice::HugePage);
    let address = mapped.as_ptr().addr();
    let at = address.next_multiple_of(HUGE_BYTES) - address;
    Some(Memory::Huge(mapped, at))
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
