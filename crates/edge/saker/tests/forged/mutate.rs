// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One to three forgeries of an image.

use crate::Image;
use crate::layout::{self, Frame, HEADER, get, put};
use crate::parts::Kind;
use saker_sim::Rng;

/// Fields (offset, bytes) of a page header.
const PAGE: &[(usize, usize)] =
    &[(4, 1), (5, 1), (6, 2), (8, 2), (12, 4), (16, 8), (24, 8), (32, 4), (36, 4), (32, 4), (36, 4)];
/// Fields of a slot's control.
const CONTROL: &[(usize, usize)] = &[
    (0, 4),
    (8, 8),
    (16, 8),
    (24, 8),
    (32, 4),
    (36, 4),
    (40, 2),
    (42, 1),
    (48, 3),
    (50, 2),
    (56, 3),
    (56, 7),
];
/// Fields of the image's header that open more than a check of the magic.
const IMAGE: &[(usize, usize)] = &[
    (16, 8),
    (24, 8),
    (32, 8),
    (40, 4),
    (44, 4),
    (48, 8),
    (72, 4),
    (76, 4),
    (80, 4),
    (84, 4),
    (88, 4),
    (92, 4),
    (96, 2),
    (98, 2),
    (100, 2),
    (102, 2),
    (104, 8),
    (112, 8),
    (176, 4),
    (180, 4),
    (184, 8),
    (192, 8),
    (200, 8),
    (208, 8),
    (216, 8),
    (224, 8),
];
const NAMESPACE: &[(usize, usize)] =
    &[(0, 4), (4, 1), (5, 1), (8, 4), (12, 4), (16, 8), (24, 4), (28, 4), (32, 8)];

/// Forges fields of `bytes`; says which.
pub fn forge(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let mut all = Vec::new();
    for _ in 0..1 + rng.below(6) / 4 + rng.below(8) / 7 {
        all.push(match rng.below(20) {
            0 => header(bytes, rng),
            1 => namespace(bytes, rng),
            2 => epoch(image, bytes, rng),
            3..=4 => slot(image, bytes, rng),
            5..=6 => page(image, bytes, rng),
            7..=9 => owner_oob(image, bytes, rng),
            10..=16 => part(image, bytes, rng),
            17 => any_data(image, bytes, rng),
            18 => copy_page(image, bytes, rng),
            _ => copy_part(image, bytes, rng),
        });
    }
    all.join("; ")
}

fn pick<'a, T>(all: &'a [T], rng: &mut Rng) -> Option<&'a T> {
    (!all.is_empty()).then(|| &all[rng.below(all.len() as u64) as usize])
}

/// Another value for a field: limits, neighbours of what it is, and what images are full of.
fn value(image: &Image, old: u64, size: usize, here: u64, rng: &mut Rng) -> u64 {
    let max = u64::MAX >> (64 - 8 * size);
    let l = &image.layout;
    let segment = (l.page * l.segment_pages) as u64;
    let known = [
        0,
        1,
        2,
        3,
        7,
        8,
        255,
        max,
        max - 1,
        max / 2,
        max / 2 + 1,
        l.page as u64,
        l.page as u64 - 1,
        l.page as u64 + 1,
        segment,
        segment - 8,
        segment + 8,
        l.pages() as u64,
        l.pages() as u64 - 1,
        l.segments as u64,
        l.segments as u64 - 1,
        l.segment_pages as u64,
        here,
        here + 1,
        here * l.page as u64,
    ];
    let new = match rng.below(8) {
        0 => rng.next_u64(),
        1 => old ^ 1 << rng.below(8 * size as u64),
        2 => old.wrapping_add([1, 2, 8, 64, 512, 4096][rng.below(6) as usize]),
        3 => old.wrapping_sub([1, 2, 8, 64, 512, 4096][rng.below(6) as usize]),
        4 => rng.below(l.pages() as u64),
        5 => rng.below(l.page as u64 + 64),
        _ => known[rng.below(known.len() as u64) as usize],
    };
    new & max
}

/// Changes a field; says how.
fn change(image: &Image, bytes: &mut [u8], at: usize, size: usize, here: u64, rng: &mut Rng) -> String {
    let old = get(bytes, at, size);
    let new = value(image, old, size, here, rng);
    put(bytes, at, size, new);
    format!("{size} bytes at {at:#x}: {old:#x} -> {new:#x}")
}

fn header(bytes: &mut [u8], rng: &mut Rng) -> String {
    let (at, size) = *pick(IMAGE, rng).expect("fields");
    let old = get(bytes, at, size);
    let new = match rng.below(4) {
        0 => rng.next_u64(),
        1 => old.wrapping_add(1),
        2 => rng.below(8),
        _ => old ^ 1 << rng.below(8 * size as u64),
    };
    put(bytes, at, size, new);
    layout::seal_header(bytes);
    format!("image header, {size} bytes at {at}: {old:#x} -> {new:#x}")
}

fn namespace(bytes: &mut [u8], rng: &mut Rng) -> String {
    let (at, size) = *pick(NAMESPACE, rng).expect("fields");
    let at = 256 + 64 * rng.below(4) as usize + at;
    let old = get(bytes, at, size);
    let new = match rng.below(5) {
        0 => rng.next_u64() >> rng.below(64),
        1 => old.wrapping_add(1),
        2 => rng.below(8),
        3 => old.wrapping_sub(1),
        _ => old ^ 1 << rng.below(8 * size as u64),
    };
    put(bytes, at, size, new);
    layout::seal_header(bytes);
    format!("namespaces, {size} bytes at {at}: {old:#x} -> {new:#x}")
}

fn epoch(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let segment = rng.below(image.layout.segments as u64) as usize;
    let old = get(bytes, 8192 + 8 * segment, 4) as u32;
    let new = [0, 1, old.wrapping_add(1), old.wrapping_sub(1), u32::MAX, rng.next_u64() as u32]
        [rng.below(6) as usize];
    layout::set_epoch(bytes, segment, new);
    format!("epoch of segment {segment}: {old} -> {new}")
}

/// Makes a frame's checksums right, and those of the other frames that lie in a range of the file.
fn seal_range(image: &Image, bytes: &mut [u8], from: usize, to: usize) {
    let l = image.layout;
    for frame in l.frames(&image.bytes) {
        let data = frame.data < to && from < frame.data + l.page;
        let oob = frame.oob < to && from < frame.oob + l.oob;
        let control = frame.control.is_some_and(|at| at < to && from < at + layout::CONTROL);
        if data || oob || control {
            l.seal(bytes, &frame);
        }
    }
}

fn frame(image: &Image, rng: &mut Rng, is_like: impl Fn(&Frame) -> bool) -> Option<Frame> {
    let all: Vec<_> = image.layout.frames(&image.bytes).into_iter().filter(is_like).collect();
    pick(&all, rng).copied()
}

fn slot(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let Some(frame) = frame(image, rng, |f| f.control.is_some()) else { return "no slot".into() };
    let control = frame.control.expect("a slot");
    let (at, size) = *pick(CONTROL, rng).expect("fields");
    let said = if at == 8 {
        let state = [0, layout::OPEN, layout::SEALED][rng.below(3) as usize];
        put(bytes, control + 8, 8, state);
        format!("state {state:#x}")
    } else {
        change(image, bytes, control + at, size, frame.position / image.layout.page as u64, rng)
    };
    image.layout.seal(bytes, &frame);
    format!("slot control + {at}: {said}")
}

fn page(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let Some(frame) = frame(image, rng, |f| &image.bytes[f.oob..f.oob + 4] == b"SKPG") else {
        return "no page".into();
    };
    let (at, size) = *pick(PAGE, rng).expect("fields");
    let here = frame.position / image.layout.page as u64;
    let said = change(image, bytes, frame.oob + at, size, here, rng);
    image.layout.seal(bytes, &frame);
    format!("header of page {here} + {at}: {said}")
}

fn owner_oob(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let l = image.layout;
    let used = |f: &Frame| image.bytes[f.oob + HEADER..f.oob + l.oob].iter().any(|b| *b != 0);
    let Some(frame) = frame(image, rng, used) else { return "no owner's bytes".into() };
    let words = (l.oob - HEADER) as u64 / 8;
    let mut at = frame.oob + HEADER + 8 * rng.below(words) as usize;
    for _ in 0..4 {
        if get(bytes, at, 8) != 0 {
            break;
        }
        at = frame.oob + HEADER + 8 * rng.below(words) as usize;
    }
    let size = [1, 2, 4, 8][rng.below(4) as usize];
    let within = rng.below(8 / size as u64) as usize * size;
    let here = frame.position / l.page as u64;
    let said = change(image, bytes, at + within, size, here, rng);
    // The word of a hash FTL's grain, made right more often than not.
    if image.recipe.engine.has_grains() && bytes[at + 6] & 4 != 0 && rng.below(4) > 0 {
        let kind = bytes[at + 6] & 3;
        let check = bytes[at..at + 6].iter().fold(kind, |sum, b| sum ^ b);
        (bytes[at + 6], bytes[at + 7]) = (kind | 4 | check >> 7 << 3, 0x80 | check & 0x7f);
    }
    l.seal(bytes, &frame);
    format!("owner's bytes of page {here} + {}: {said}", at + within - frame.oob)
}

fn part(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    // Kinds are equally frequent, however many there are of each.
    let kinds = [Kind::Record, Kind::Member(0), Kind::FtlRecord, Kind::Chunk, Kind::Block, Kind::Gap];
    let same = |a: Kind, b: Kind| std::mem::discriminant(&a) == std::mem::discriminant(&b);
    let there: Vec<_> = kinds.iter().filter(|k| image.parts.iter().any(|p| same(p.kind, **k))).collect();
    let Some(kind) = pick(&there, rng) else { return "no parts".into() };
    let all: Vec<_> = image.parts.iter().filter(|p| same(p.kind, **kind)).collect();
    let part = **pick(&all, rng).expect("one at least");
    let here = (part.at.saturating_sub(image.layout.data_at) / image.layout.page) as u64;
    let (at, size) = if rng.below(5) < 3 {
        *pick(part.fields(), rng).expect("fields")
    } else {
        let size = [1, 2, 4, 5, 8][rng.below(5) as usize].min(part.len);
        (rng.below((part.len - size) as u64 + 1) as usize, size)
    };
    if part.at + at + size > part.limit {
        return "nothing".into();
    }
    let said = if rng.below(6) == 0 {
        let other = **pick(&all, rng).expect("one at least");
        let from = (other.at + at).min(bytes.len() - size);
        bytes.copy_within(from..from + size, part.at + at);
        format!("{size} bytes of {from:#x}")
    } else {
        change(image, bytes, part.at + at, size, here, rng)
    };
    part.seal(bytes);
    seal_range(image, bytes, part.at, part.at + part.len.max(at + size).max(24));
    format!("{:?} at {:#x} (page {here}) + {at}: {said}", part.kind, part.at)
}

fn any_data(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let Some(frame) = frame(image, rng, |_| true) else { return "no page".into() };
    let size = [1, 2, 4, 8][rng.below(4) as usize];
    let at = frame.data + rng.below((image.layout.page / size) as u64) as usize * size;
    let said = change(image, bytes, at, size, frame.position / image.layout.page as u64, rng);
    image.layout.seal(bytes, &frame);
    format!("data: {said}")
}

/// A page with the content of another one, written for its own place.
fn copy_page(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let l = image.layout;
    let Some(from) = frame(image, rng, |_| true) else { return "no page".into() };
    let Some(to) = frame(image, rng, |f| f.control.is_some() == from.control.is_some()) else {
        return "no page".into();
    };
    bytes.copy_within(from.data..from.data + l.page, to.data);
    bytes.copy_within(from.oob..from.oob + l.oob, to.oob);
    let keeps = rng.below(2) == 0;
    if let (Some(from), Some(to), true) = (from.control, to.control, keeps) {
        bytes.copy_within(from..from + layout::CONTROL, to);
    } else if to.control.is_none() {
        put(bytes, to.oob + 24, 8, to.position / l.page as u64);
        if keeps {
            put(bytes, to.oob + 12, 4, get(&image.bytes, to.oob + 12, 4));
        }
    }
    l.seal(bytes, &to);
    format!("page {} over {}", from.position / l.page as u64, to.position / l.page as u64)
}

/// A part with the content of another one of its kind.
fn copy_part(image: &Image, bytes: &mut [u8], rng: &mut Rng) -> String {
    let Some(from) = pick(&image.parts, rng) else { return "no parts".into() };
    let same = std::mem::discriminant(&from.kind);
    let all: Vec<_> = image.parts.iter().filter(|p| std::mem::discriminant(&p.kind) == same).collect();
    let to = pick(&all, rng).expect("one at least");
    let len = from.len.min(to.limit - to.at);
    let name = bytes[to.at..to.at + 24].to_vec();
    bytes.copy_within(from.at..from.at + len, to.at);
    if from.kind == Kind::Block && rng.below(2) == 0 {
        bytes[to.at + 4..to.at + 16].copy_from_slice(&name[4..16]);
    }
    to.seal(bytes);
    seal_range(image, bytes, to.at, to.at + len.max(24));
    format!("{:?} {:#x} over {:#x}", from.kind, from.at, to.at)
}
