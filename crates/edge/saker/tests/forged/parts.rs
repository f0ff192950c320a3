// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What has a checksum of its own inside pages: records, members of groups, words of gaps, chunks of checkpoints,
//! blocks.

use crate::layout::{Layout, get, put, u16_at, u32_at, u64_at};
use saker_segment_store::header::crc32c;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Record,
    /// A member of the group whose record begins there.
    Member(usize),
    FtlRecord,
    Chunk,
    Block,
    Gap,
}

/// A structure with a checksum.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub kind: Kind,
    /// Where in the file.
    pub at: usize,
    pub len: usize,
    /// It cannot be longer than to here.
    pub limit: usize,
    /// Where `at` is in the log's linear space.
    position: u64,
}

/// Fields (offset, bytes) before the content.
const RECORD: &[(usize, usize)] =
    &[(4, 4), (7, 1), (8, 7), (15, 1), (16, 1), (17, 1), (18, 2), (20, 1), (21, 1)];
const MEMBER: &[(usize, usize)] = &[(0, 1), (1, 1), (0, 4)];
const FTL: &[(usize, usize)] = &[(4, 7), (11, 1), (12, 3), (15, 1)];
const CHUNK: &[(usize, usize)] = &[
    (4, 4),
    (8, 8),
    (16, 4),
    (20, 1),
    (24, 1),
    (24, 8),
    (25, 4),
    (25, 8),
    (29, 8),
    (32, 8),
    (37, 8),
    (40, 4),
    (44, 8),
    (45, 8),
    (49, 4),
    (53, 4),
    (57, 8),
];
const BLOCK: &[(usize, usize)] =
    &[(4, 8), (12, 4), (16, 4), (20, 2), (22, 1), (23, 1), (24, 4), (28, 4), (32, 4), (36, 1)];
const GAP: &[(usize, usize)] = &[(0, 8)];

impl Part {
    /// Its fields before the content.
    pub fn fields(&self) -> &'static [(usize, usize)] {
        match self.kind {
            Kind::Record => RECORD,
            Kind::Member(_) => MEMBER,
            Kind::FtlRecord => FTL,
            Kind::Chunk => CHUNK,
            Kind::Block => BLOCK,
            Kind::Gap => GAP,
        }
    }

    /// Bytes that its checksum covers by what it says now, or said before.
    fn covered(&self, bytes: &[u8]) -> usize {
        let b = &bytes[self.at..];
        let says = match self.kind {
            Kind::Record => 24 + usize::from(b[16]) + usize::from(b[21]) + u32_at(b, 4) as usize,
            Kind::FtlRecord => 16 + usize::from(b[11] & 0x3f) + get(b, 12, 3) as usize,
            Kind::Chunk => (24 + u32_at(b, 4) as usize).next_multiple_of(8),
            Kind::Block => 24 + u32_at(b, 16) as usize,
            Kind::Member(_) | Kind::Gap => self.len,
        };
        if self.at + says <= self.limit { says } else { self.len }
    }

    /// Makes its checksum right, and that of the group it is in.
    pub fn seal(&self, bytes: &mut [u8]) {
        match self.kind {
            Kind::Member(record) => {
                seal_member(&mut bytes[self.at..self.limit]);
                Self { kind: Kind::Record, at: record, len: self.limit - record, ..*self }.seal(bytes);
            }
            Kind::Gap => {
                let word = u64_at(bytes, self.at);
                let (filled, long) = (8 * (word >> 20 & 0x3_ffff) as u32, 8 * (word >> 38 & 0x3_ffff) as u32);
                let check = gap_check(self.position, long, filled);
                put(bytes, self.at, 8, word & !0xf_ffff | 0xff << 56 | check);
            }
            _ => {
                let end = self.at + self.covered(bytes).max(4);
                let crc = crc32c(&bytes[self.at + 4..end]);
                put(bytes, self.at, 4, crc.into());
            }
        }
    }
}

fn gap_check(position: u64, long: u32, filled: u32) -> u64 {
    let said = [&position.to_le_bytes()[..], &long.to_le_bytes(), &filled.to_le_bytes()].concat();
    u64::from(crc32c(&said)) & 0xf_ffff
}

fn padded(n: usize) -> usize {
    n.next_multiple_of(4)
}

/// Role, where the word of the value is, and the length of a member by its words.
fn member(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let key = u32_at(bytes.get(..4)?, 0);
    let (role, value_at) = ((key >> 8) as u8 & 3, 4 + padded(key as usize & 0xff));
    if role % 2 == 0 {
        return (value_at <= bytes.len()).then_some((role, value_at, value_at));
    }
    let value = u32_at(bytes.get(value_at..value_at + 4)?, 0) & 0x3f_ffff;
    let len = value_at + 4 + padded(value as usize);
    (len <= bytes.len()).then_some((role, value_at, len))
}

fn seal_member(bytes: &mut [u8]) {
    let Some((role, value_at, len)) = member(bytes) else { return };
    let mut came = bytes[..len].to_vec();
    put(&mut came, 0, 4, u64::from(bytes[0]));
    if role % 2 == 1 {
        put(&mut came, value_at, 4, u64::from(u32_at(bytes, value_at) & 0x3f_ffff));
    }
    let sum = sum(&came);
    put(bytes, 0, 4, u64::from(u32::from(bytes[0]) | u32::from(role) << 8 | (sum & 0x3f_ffff) << 10));
    if role % 2 == 1 {
        let value = u32_at(&came, value_at) | sum >> 22 << 22;
        put(bytes, value_at, 4, value.into());
    }
}

fn sum(came: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let step = |s: u64, w: u64| {
        let mixed = (s ^ w).wrapping_mul(FACTOR);
        mixed ^ mixed >> 32
    };
    let (words, rest) = came.as_chunks::<8>();
    let mut s = words.iter().fold(0x243F_6A88_85A3_08D3, |s, w| step(s, u64::from_le_bytes(*w)));
    if let Some(half) = rest.first_chunk::<4>() {
        s = step(s, u64::from(u32::from_le_bytes(*half)) | 1 << 32);
    }
    (s.wrapping_mul(FACTOR) >> 32) as u32
}

/// Everything with a checksum, found by it.
pub fn find(bytes: &[u8], layout: &Layout) -> Vec<Part> {
    let mut parts = Vec::new();
    let segment = layout.segment_pages * layout.page;
    for n in 0..layout.segments {
        let at = layout.data_at + n * segment;
        find_in(bytes, at, at + segment, (n * segment) as u64, &mut parts);
    }
    for frame in layout.frames(bytes).iter().filter(|f| f.control.is_some()) {
        find_in(bytes, frame.data, frame.data + layout.page, frame.position, &mut parts);
    }
    parts
}

fn find_in(bytes: &[u8], from: usize, limit: usize, position: u64, parts: &mut Vec<Part>) {
    let mut at = from;
    while at + 24 <= limit {
        if u64_at(bytes, at) == 0 && u64_at(bytes, at + 8) == 0 {
            at += 8;
            continue;
        }
        let position = position + (at - from) as u64;
        for kind in [Kind::Record, Kind::FtlRecord, Kind::Chunk, Kind::Block] {
            let part = Part { kind, at, len: 0, limit, position };
            if !is_like(&bytes[at..limit], kind) {
                continue;
            }
            let covered = part.covered(bytes);
            let part = Part { len: covered, ..part };
            if covered > 8 && crc32c(&bytes[at + 4..at + covered]) == u32_at(bytes, at) {
                parts.push(part);
                if kind == Kind::Record && bytes[at + 15] == 3 {
                    find_members(bytes, &part, parts);
                }
            }
        }
        let word = u64_at(bytes, at);
        let (filled, long) = (8 * (word >> 20 & 0x3_ffff) as u32, 8 * (word >> 38 & 0x3_ffff) as u32);
        if word >> 56 == 0xff && gap_check(position, long, filled) == word & 0xf_ffff {
            parts.push(Part { kind: Kind::Gap, at, len: 8, limit, position });
        }
        at += 8;
    }
}

fn is_like(b: &[u8], kind: Kind) -> bool {
    match kind {
        Kind::Record => (1..=3).contains(&b[15]) && (1..=2).contains(&b[17]) && matches!(b[20], 0 | 4),
        Kind::FtlRecord => b[15] == 1 && matches!(b[11] >> 6, 1 | 2),
        Kind::Chunk => (1..=3).contains(&b[20]) && b[21..24] == [0; 3],
        Kind::Block => (1..=2).contains(&b[23]) && u16_at(b, 20) < 4096 && b[22] <= 16,
        Kind::Member(_) | Kind::Gap => false,
    }
}

fn find_members(bytes: &[u8], record: &Part, parts: &mut Vec<Part>) {
    let end = record.at + record.len;
    let mut at = record.at + 28 + usize::from(bytes[record.at + 20]);
    while at < end {
        let Some((_, _, len)) = member(&bytes[at..end]) else { return };
        let kind = Kind::Member(record.at);
        let position = record.position + (at - record.at) as u64;
        parts.push(Part { kind, at, len, limit: end, position });
        at += len + usize::from(bytes[record.at + 20]);
    }
}
