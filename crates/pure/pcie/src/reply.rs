// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The answers to a vfio-user client, as bytes.

use crate::bar::{self, DOORBELLS, PAGE_BYTES, irq, region};
use crate::message::{DATA_BYTES_MAX, DESCRIPTORS_MAX, HEADER_BYTES, Header};

/// Regions of memory that a client may map at a time.
pub const DMA_MAPS_MAX: usize = 4096;

const REPLY: u32 = 1;
const ERROR: u32 = 1 << 5;

/// linux/vfio.h.
mod vfio {
    pub const DEVICE_RESET: u32 = 1;
    pub const DEVICE_PCI: u32 = 2;
    pub const REGION_READ: u32 = 1;
    pub const REGION_WRITE: u32 = 2;
    pub const REGION_MMAP: u32 = 4;
    pub const REGION_CAPS: u32 = 8;
    pub const CAP_SPARSE_MMAP: u16 = 1;
    pub const IRQ_EVENTFD: u32 = 1;
    pub const IRQ_NORESIZE: u32 = 8;
}

/// Bytes of a `vfio_region_info`.
const REGION_INFO_BYTES: u32 = 32;
/// Bytes of a sparse mmap capability with one area.
const SPARSE_BYTES: u32 = 32;

/// A message with that header and those fields.
fn message(header: Header, fields: &[u8]) -> Vec<u8> {
    let size = (HEADER_BYTES + fields.len()) as u32;
    let mut bytes = Vec::with_capacity(size as usize);
    bytes.extend(Header { size, ..header }.bytes());
    bytes.extend_from_slice(fields);
    bytes
}

fn reply(to: &Header, fields: &[u8]) -> Vec<u8> {
    message(Header { flags: REPLY, error: 0, ..*to }, fields)
}

fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// It was done, and there is nothing to say.
#[must_use]
pub fn done(to: &Header) -> Vec<u8> {
    reply(to, &[])
}

/// It was not done: errno.
#[must_use]
pub fn failed(to: &Header, errno: u32) -> Vec<u8> {
    message(Header { flags: REPLY | ERROR, error: errno, ..*to }, &[])
}

/// Version 0.0, which every client has, and what a client may send.
#[must_use]
pub fn version(to: &Header) -> Vec<u8> {
    let capabilities = format!(
        "{{\"capabilities\":{{\"max_msg_fds\":{DESCRIPTORS_MAX},\"max_data_xfer_size\":{DATA_BYTES_MAX},\
         \"pgsizes\":{PAGE_BYTES},\"max_dma_maps\":{DMA_MAPS_MAX}}}}}\0"
    );
    let mut fields = vec![0; 4];
    fields.extend_from_slice(capabilities.as_bytes());
    reply(to, &fields)
}

/// Memory was unmapped: the request's fields once more.
#[must_use]
pub fn unmapped(to: &Header, flags: u32, iova: u64, bytes: u64) -> Vec<u8> {
    let mut fields = words([24, flags]);
    fields.extend([iova, bytes].iter().flat_map(|word| word.to_le_bytes()));
    reply(to, &fields)
}

/// What the device has.
#[must_use]
pub fn device_info(to: &Header) -> Vec<u8> {
    reply(to, &words([16, vfio::DEVICE_PCI | vfio::DEVICE_RESET, region::COUNT, irq::COUNT]))
}

/// What can be mapped of a region: a file goes along with the answer that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mappable {
    /// Of BAR 0 the page of doorbells.
    pub doorbells: bool,
    /// BAR 4, which is there then, from its begin on.
    pub memory: bool,
}

/// What a region is, and whether its file goes along: that of BAR 0 only if all of the answer has room.
#[must_use]
pub fn region_info(to: &Header, index: u32, room: u32, mappable: Mappable) -> (Vec<u8>, bool) {
    let bytes = bar::region_bytes(index, mappable.memory);
    let is_mapped = mappable.doorbells && index == region::BAR0;
    let is_whole_bar = mappable.memory && index == region::BAR4;
    let mut flags = if bytes > 0 { vfio::REGION_READ | vfio::REGION_WRITE } else { 0 };
    let mut wanted = REGION_INFO_BYTES;
    if is_whole_bar {
        flags |= vfio::REGION_MMAP;
    }
    if is_mapped {
        flags |= vfio::REGION_MMAP | vfio::REGION_CAPS;
        wanted += SPARSE_BYTES;
    }
    let is_whole = is_mapped && room >= wanted;
    // QEMU refuses an offset of 0 beside the flag, though the answer is too short to have anything there (`hw/vfio-user/device.c`).
    let cap_offset = if is_mapped { REGION_INFO_BYTES } else { 0 };
    let mut fields = words([wanted, flags, index, cap_offset]);
    fields.extend([bytes, 0].iter().flat_map(|word: &u64| word.to_le_bytes()));
    if is_whole {
        // Id and version, no next one; one area.
        fields.extend(words([u32::from(vfio::CAP_SPARSE_MMAP) | 1 << 16, 0, 1, 0]));
        fields.extend([DOORBELLS, PAGE_BYTES].iter().flat_map(|word| word.to_le_bytes()));
    }
    (reply(to, &fields), is_whole || is_whole_bar)
}

/// What a kind of interrupts is.
#[must_use]
pub fn irq_info(to: &Header, index: u32) -> Vec<u8> {
    let flags = match index {
        irq::MSIX | irq::REQUEST => vfio::IRQ_EVENTFD | vfio::IRQ_NORESIZE,
        _ => 0,
    };
    reply(to, &words([16, flags, index, bar::irq_count(index)]))
}

/// What a region has, or, without data, that it was written.
#[must_use]
pub fn region(to: &Header, offset: u64, region: u32, count: u32, data: &[u8]) -> Vec<u8> {
    let mut fields = Vec::with_capacity(16 + data.len());
    fields.extend(offset.to_le_bytes());
    fields.extend(words([region, count]));
    fields.extend_from_slice(data);
    reply(to, &fields)
}
