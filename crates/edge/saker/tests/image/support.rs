// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Small images and pages to put into them.

use saker::image::{ImageConfig, create};
use saker_flash::Cells;
use saker_segment_store::header::{HEADER_BYTES, page_crc};
use saker_segment_store::{Geometry, PageAddr, PageHeader, Stream};
use std::path::PathBuf;
use tempfile::TempDir;

pub const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 72, segment_pages: 16, segments: 20 };
pub const RING_SLOTS: u16 = 24;

pub fn config(capacitor: bool) -> ImageConfig {
    ImageConfig {
        geometry: GEOMETRY,
        channels: 2,
        luns: 4,
        ring_slots: RING_SLOTS,
        capacitor,
        seed: 1,
        shards: 1,
        profile: "test".into(),
        namespaces: Vec::new(),
        uuid: [7; 16],
    }
}

/// Pages of two blocks, each with its out-of-band entry.
pub fn block_config(capacitor: bool) -> ImageConfig {
    let geometry = Geometry { page_bytes: 1024, oob_bytes: 96, ..GEOMETRY };
    ImageConfig { geometry, ..config(capacitor) }
}

/// A file system in memory, where syncs cost nothing, if there is one.
pub fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

/// A new image in a directory that goes away with the first value.
pub fn image(capacitor: bool) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    create(&path, &config(capacitor)).expect("creates");
    (dir, path)
}

/// Data and out-of-band bytes of a sound page for the media's current cycle.
pub fn page(media: &impl Cells, at: PageAddr, fill: u8) -> (Vec<u8>, Vec<u8>) {
    let g = media.shape().geometry;
    let data = vec![fill; g.page_bytes as usize];
    let mut oob = vec![fill; g.oob_bytes as usize];
    PageHeader {
        owner: 1,
        shard: 0,
        stream: Stream::User,
        epoch: media.epoch(g.segment_of(at)),
        sequence: at.0 + 1,
        addr: at,
        used_bytes: g.page_bytes,
        first_record: 0,
        data_crc: page_crc(&data, &oob[HEADER_BYTES..]),
    }
    .encode(&mut oob);
    (data, oob)
}

/// Programs a sound page.
pub fn program(media: &mut impl Cells, at: PageAddr, fill: u8) {
    let (data, oob) = page(media, at, fill);
    media.program(at, &data, &oob).expect("programs");
}
