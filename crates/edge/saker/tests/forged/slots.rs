// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slots of the page buffer, one by one: each in use is told of another append point, and each shortened.

use crate::layout::{Frame, put, u32_at};
use crate::{Image, PLAIN, Recipe, usage, watch};
use saker::{EngineKind, Packing};

/// Streams that there are, and one more.
const STREAMS: u64 = 7;
/// Lengths that a slot is shortened to.
const CUTS: u32 = 6;

fn killed() -> Vec<Recipe> {
    let killed = Recipe { closed: false, ..PLAIN };
    let mut all: Vec<_> = EngineKind::ALL.iter().map(|engine| Recipe { engine: *engine, ..killed }).collect();
    all.push(Recipe { engine: EngineKind::LSM, packing: Some(Packing::Backfill), ..killed });
    all.push(Recipe { engine: EngineKind::TREE, capacitor: false, ..killed });
    all
}

fn slots(image: &Image) -> Vec<(Frame, usize)> {
    let frames = image.layout.frames(&image.bytes).into_iter();
    frames.filter_map(|frame| frame.control.map(|control| (frame, control))).collect()
}

/// Uses an image with one field of a slot's control changed. It stands at `at` and is `size` bytes.
fn used(image: &Image, frame: &Frame, at: usize, size: usize, value: u64, what: &str) {
    let mut bytes = image.bytes.clone();
    put(&mut bytes, at, size, value);
    image.layout.seal(&mut bytes, frame);
    image.write(&bytes, image.bytes.len() as u64);
    let what = format!("{:?}, {what}: {value}", image.recipe);
    watch::guarded(&what, || usage::use_image(image)).unwrap_or_else(|place| panic!("{what}: {place}"));
}

/// Two append points in one segment would program its pages out of order.
#[test]
fn slots_of_other_append_points() {
    for recipe in killed() {
        let image = Image::new(recipe);
        for (n, (frame, control)) in slots(&image).into_iter().enumerate() {
            for stream in (0..STREAMS).filter(|s| *s != u64::from(image.bytes[control + 42])) {
                used(&image, &frame, control + 42, 1, stream, &format!("stream of slot {n}"));
            }
        }
    }
}

/// A record whose end does not count any more is not there: what is appended next is written over it.
#[test]
fn slots_that_are_shorter_than_what_ends_in_them() {
    for recipe in killed() {
        let image = Image::new(recipe);
        for (n, (frame, control)) in slots(&image).into_iter().enumerate() {
            let published = u32_at(&image.bytes, control);
            for cut in 0..CUTS {
                let to = u64::from(published / 512 * cut / CUTS) * 512;
                used(&image, &frame, control, 4, to, &format!("length of slot {n}"));
            }
        }
    }
}
