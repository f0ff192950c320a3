// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where things are in an image (`docs/image-format.md`), and the checksums of pages, slots, epochs and headers.

use saker_segment_store::header::{crc32c, page_crc};

/// Bytes of a page header.
pub const HEADER: usize = 64;
/// Bytes of a slot's control.
pub const CONTROL: usize = 64;
pub const OPEN: u64 = 0x6e65_706f_4b53_1357;
pub const SEALED: u64 = 0x6c61_6573_4b53_2468;
const PUBLISH_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("2 bytes"))
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// A little-endian number of up to 8 bytes.
pub fn get(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

pub fn put(bytes: &mut [u8], at: usize, size: usize, value: u64) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// A page in the data region or in a slot of the ring.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub oob: usize,
    pub data: usize,
    /// The slot's control.
    pub control: Option<usize>,
    /// Where it is in the log's linear space.
    pub position: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub page: usize,
    pub oob: usize,
    pub segment_pages: usize,
    pub segments: usize,
    pub slots: usize,
    pub ring_at: usize,
    pub oob_at: usize,
    pub data_at: usize,
}

impl Layout {
    pub fn of(header: &[u8]) -> Self {
        Self {
            page: u32_at(header, 72) as usize,
            oob: u32_at(header, 76) as usize,
            segment_pages: u32_at(header, 80) as usize,
            segments: u32_at(header, 84) as usize,
            slots: usize::from(u16_at(header, 96)),
            ring_at: u64_at(header, 200) as usize,
            oob_at: u64_at(header, 208) as usize,
            data_at: u64_at(header, 216) as usize,
        }
    }

    pub fn pages(&self) -> usize {
        self.segments * self.segment_pages
    }

    pub fn slot_stride(&self) -> usize {
        (CONTROL + self.oob + self.page).next_multiple_of(64)
    }

    pub fn oob_segment(&self) -> usize {
        (self.segment_pages * self.oob.next_power_of_two()).next_multiple_of(4096)
    }

    /// A page in its place.
    pub fn page(&self, n: usize) -> Frame {
        let (segment, index) = (n / self.segment_pages, n % self.segment_pages);
        let oob = self.oob_at + segment * self.oob_segment() + index * self.oob.next_power_of_two();
        Frame { oob, data: self.data_at + n * self.page, control: None, position: (n * self.page) as u64 }
    }

    /// A slot of the ring.
    pub fn slot(&self, n: usize, bytes: &[u8]) -> Frame {
        let control = self.ring_at + n * self.slot_stride();
        let position = u64_at(bytes, control + 16).wrapping_mul(self.page as u64);
        let oob = control + CONTROL;
        Frame { oob, data: oob + self.oob, control: Some(control), position }
    }

    /// Every page that has a header, and every slot in use.
    pub fn frames(&self, bytes: &[u8]) -> Vec<Frame> {
        let pages = (0..self.pages()).map(|n| self.page(n)).filter(|f| &bytes[f.oob..f.oob + 4] == b"SKPG");
        let in_use = |f: &Frame| matches!(f.control.map(|at| u64_at(bytes, at + 8)), Some(OPEN | SEALED));
        pages.chain((0..self.slots).map(|n| self.slot(n, bytes)).filter(in_use)).collect()
    }

    /// Makes the checksums of a frame right: sectors if it is a page of blocks, data, header, control.
    pub fn seal(&self, bytes: &mut [u8], frame: &Frame) {
        if let Some(block) = self.block_bytes(bytes, frame) {
            self.seal_sectors(bytes, frame, block);
        }
        if &bytes[frame.oob..frame.oob + 4] == b"SKPG" {
            let crc =
                page_crc(&bytes[frame.data..][..self.page], &bytes[frame.oob + HEADER..frame.oob + self.oob]);
            put(bytes, frame.oob + 40, 4, crc.into());
            let crc = crc32c(&bytes[frame.oob..frame.oob + 60]);
            put(bytes, frame.oob + 60, 4, crc.into());
        }
        if let Some(at) = frame.control {
            self.seal_control(bytes, at);
        }
    }

    fn seal_control(&self, bytes: &mut [u8], at: usize) {
        let slot = (at - self.ring_at) / self.slot_stride();
        let published = u64::from(u32_at(bytes, at));
        let mixed = (published + 1).wrapping_mul(PUBLISH_SALT) ^ (slot as u64) << 40;
        put(bytes, at, 8, mixed & 0xffff_ffff_0000_0000 | published);
        let crc = crc32c(&bytes[at + 16..at + 44]);
        put(bytes, at + 44, 4, crc.into());
        for mark in [at + 48, at + 56] {
            bytes[mark + 7] = bytes[mark..mark + 7].iter().fold(0, |sum, b| sum ^ b);
        }
    }

    /// The length of sectors, if a namespace of blocks owns the frame.
    fn block_bytes(&self, bytes: &[u8], frame: &Frame) -> Option<usize> {
        let owner = match frame.control {
            Some(at) => u16_at(bytes, at + 40),
            None => u16_at(bytes, frame.oob + 6),
        };
        let records = (0..16).map(|n| 256 + 64 * n);
        let mut block = records.filter(|at| bytes[at + 4] == 2 && u32_at(bytes, *at) == u32::from(owner));
        block.next().map(|at| u32_at(bytes, at + 12) as usize).filter(|n| *n >= 64)
    }

    fn seal_sectors(&self, bytes: &mut [u8], frame: &Frame, block: usize) {
        for n in 0..(self.page / block).min((self.oob - HEADER) / 16) {
            let entry = frame.oob + HEADER + 16 * n;
            if (1..=2).contains(&bytes[entry + 5]) {
                let crc = crc32c(&bytes[frame.data + n * block..][..block]);
                put(bytes, entry + 12, 4, crc.into());
            }
        }
    }
}

/// Makes both header copies right, as the first one is.
pub fn seal_header(bytes: &mut [u8]) {
    let crc = crc32c(&bytes[..4092]);
    put(bytes, 4092, 4, crc.into());
    bytes.copy_within(0..4096, 4096);
}

/// Sets the epoch of a segment.
pub fn set_epoch(bytes: &mut [u8], segment: usize, epoch: u32) {
    let at = 8192 + 8 * segment;
    let both = (segment as u64) << 32 | u64::from(epoch);
    put(bytes, at, 4, epoch.into());
    put(bytes, at + 4, 4, crc32c(&both.to_le_bytes()).into());
}
