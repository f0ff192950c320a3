// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that are not what their header says, and headers that say what cannot be.

use crate::layout::{put, seal_header};
use crate::{Image, PLAIN, Recipe, usage, watch};

fn used(image: &Image, bytes: &[u8], length: u64, what: &str) {
    image.write(bytes, length);
    watch::guarded(what, || usage::use_image(image)).unwrap_or_else(|place| panic!("{what}: {place}"));
}

#[test]
fn truncated_and_longer_files_are_refused() {
    let image = Image::new(PLAIN);
    let whole = image.bytes.len() as u64;
    for length in [
        0,
        1,
        511,
        4095,
        4096,
        4097,
        8191,
        8192,
        8200,
        12288,
        1 << 20,
        whole / 2,
        whole - 4096,
        whole - 1,
        whole + 1,
        2 * whole,
    ] {
        image.write(&image.bytes, length);
        let found = watch::guarded("a length", || usage::use_image(&image)).expect("no panic");
        assert_eq!(found, usage::Outcome::Refused, "{length} bytes");
    }
}

/// Regions as they follow from the shape in the header, and their end.
fn lay_out(bytes: &mut [u8]) -> Option<u64> {
    let field = |at: usize| u64::from(crate::layout::u32_at(bytes, at));
    let (page, oob, pages, segments) = (field(72), field(76), field(80), field(84));
    let slots = u64::from(crate::layout::u16_at(bytes, 96));
    let up = |n: u64, to: u64| n.checked_next_multiple_of(to);
    let ring_at = up(8192 + segments * 8, 4096)?;
    let oob_at = up(ring_at + slots * up(64 + oob + page, 64)?, 4096)?;
    let oob_segment = up(pages.checked_mul(oob.next_power_of_two())?, 4096)?;
    let data_at = up(oob_at + segments.checked_mul(oob_segment)?, 1 << 20)?;
    let end = up(data_at + segments.checked_mul(pages.checked_mul(page)?)?, 4096)?;
    for (at, value) in [(192, 8192), (200, ring_at), (208, oob_at), (216, data_at), (224, end)] {
        put(bytes, at, 8, value);
    }
    Some(end)
}

/// The header tells of another shape, and its regions follow from that.
#[test]
fn headers_of_another_shape() {
    for recipe in [PLAIN, Recipe { engine: saker::EngineKind::HASH_PLUS, closed: false, ..PLAIN }] {
        let image = Image::new(recipe);
        for (at, size) in [(72, 4), (76, 4), (80, 4), (84, 4), (88, 4), (92, 4), (96, 2), (98, 2)] {
            for value in
                [0, 1, 2, 3, 5, 8, 64, 72, 80, 96, 128, 512, 1024, 4096, 16384, 65535, 65536, 1 << 20]
            {
                let mut bytes = image.bytes.clone();
                put(&mut bytes, at, size, value);
                let end = lay_out(&mut bytes);
                seal_header(&mut bytes);
                let what = format!("shape, {at}: {value}");
                match end {
                    Some(end) if end < 256 << 20 => used(&image, &bytes, end, &what),
                    _ => used(&image, &bytes, image.bytes.len() as u64, &what),
                }
            }
        }
    }
}

/// Quotas, sizes and counts of namespaces that cannot be.
#[test]
fn absurd_namespaces() {
    let image = Image::new(PLAIN);
    for (at, size) in
        [(180, 4), (256, 4), (260, 1), (261, 1), (264, 4), (268, 4), (272, 8), (280, 4), (284, 4), (288, 8)]
    {
        for record in [0, 1, 2] {
            for value in [
                0,
                1,
                2,
                3,
                7,
                16,
                17,
                511,
                512,
                2048,
                4096,
                u64::from(u16::MAX),
                u64::from(u32::MAX),
                u64::MAX,
            ] {
                let mut bytes = image.bytes.clone();
                let at = if at == 180 { 180 } else { at + 64 * record };
                put(&mut bytes, at, size, value);
                seal_header(&mut bytes);
                used(&image, &bytes, image.bytes.len() as u64, &format!("namespaces, {at}: {value:#x}"));
            }
        }
    }
}

/// Header fields that say where regions are, overlapping.
#[test]
fn regions_that_overlap() {
    let image = Image::new(PLAIN);
    for at in [192, 200, 208, 216, 224] {
        for value in [0, 4096, 8192, 8193, 12288, 1 << 20, image.bytes.len() as u64, u64::MAX] {
            let mut bytes = image.bytes.clone();
            put(&mut bytes, at, 8, value);
            seal_header(&mut bytes);
            used(&image, &bytes, image.bytes.len() as u64, &format!("region, {at}: {value:#x}"));
        }
    }
}
