// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of flash cells after a crash of the operating system: what was synced is there, nothing is invented.

use crate::image::support::config;
use crate::image::watched::Watched;
use saker::image::{Access, BootId, FileCells, create, open_as};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_segment_store::header::{HEADER_BYTES, page_crc};
use saker_segment_store::{PageAddr, PageHeader, PowerHistory, SegmentId};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn erases_sync_what_others_rely_on() {
    let dir = crate::image::support::directory();
    let path = dir.path().join("disk.img");
    create(&path, &config(true)).expect("creates");
    let mut media = open_as(&path, Access::Write, BootId::of("a")).expect("opens").media;
    let erase = |media: &mut FileCells, n| {
        let before = media.syncs();
        media.erase(SegmentId(n)).expect("erases");
        media.syncs() - before
    };
    crate::image::support::program(&mut media, PageAddr(0), 1);
    assert_eq!(erase(&mut media, 1), 0, "a new image that was never flushed has promised nothing");
    media.sync().expect("syncs");
    assert_eq!(erase(&mut media, 1), 0, "everything is synced");
    assert_eq!(erase(&mut media, 2), 1, "the erase before must last first");
    crate::image::support::program(&mut media, PageAddr(1), 1);
    assert_eq!(erase(&mut media, 1), 1);
    drop(media);
    let mut media = open_as(&path, Access::Write, BootId::of("a")).expect("opens").media;
    crate::image::support::program(&mut media, PageAddr(2), 1);
    assert_eq!(erase(&mut media, 1), 1, "what was there at the open is relied on");
}

/// Everything that was ever programmed: content by page and erase cycle.
type Programmed = BTreeMap<(PageAddr, u32), u8>;

fn is_sound(media: &impl Cells, at: PageAddr) -> Option<u8> {
    let Cell::Programmed { data, oob } = media.cell(at) else { return None };
    let header = PageHeader::decode(oob, at).ok().flatten()?;
    (header.data_crc == page_crc(data, &oob[HEADER_BYTES..])).then_some(data[0])
}

fn cell_history(path: &Path, seed: u64) -> u64 {
    create(path, &config(true)).expect("creates");
    let mut rng = Seed(seed).child("cells").rng();
    let (mut ever, mut raised) = (Programmed::new(), 0);
    for boot in 1..8 {
        let inner = open_as(path, Access::Write, BootId::of(&boot.to_string())).expect("opens").media;
        let mut media = Watched::new(inner, path, seed);
        media.sync().expect("syncs");
        // What must be found again, page by page, and the epoch of each segment.
        let (mut safe, mut epochs) = (Programmed::new(), Vec::new());
        for n in 0..300 {
            let syncs = media.inner.syncs();
            let segment = SegmentId(rng.below(20) as u32);
            match rng.below(20) {
                _ if n == 0 => media.sync().expect("syncs"),
                0 => media.sync().expect("syncs"),
                1..4 => {
                    let before = snapshot(&media);
                    media.erase(segment).expect("erases");
                    if media.inner.syncs() > syncs {
                        (safe, epochs) = before;
                    }
                    safe.retain(|(at, _), _| media.shape().geometry.segment_of(*at) != segment);
                    continue;
                }
                _ => program_next(&mut media, segment, &mut ever, &mut rng),
            }
            if media.inner.syncs() > syncs {
                (safe, epochs) = snapshot(&media);
            }
        }
        let left = media.after_crash(&mut rng);
        let latest: Vec<_> = (0..20).map(|n| media.epoch(SegmentId(n))).collect();
        drop(media);
        std::fs::write(path, left).expect("writes");
        let after = open_as(path, Access::Read, BootId::of("other")).expect("opens").media;
        assert_eq!(after.history(), PowerHistory::Cut { ring_kept: true });
        for ((at, epoch), fill) in &safe {
            assert_eq!(
                after.epoch(after.shape().geometry.segment_of(*at)),
                *epoch,
                "seed {seed} boot {boot}"
            );
            assert_eq!(
                is_sound(&after, *at),
                Some(*fill),
                "seed {seed} boot {boot}: page {} was synced",
                at.0
            );
        }
        for at in (0..320).map(PageAddr) {
            let segment = after.shape().geometry.segment_of(at);
            let epoch = after.epoch(segment);
            assert!((epochs[segment.0 as usize]..=latest[segment.0 as usize]).contains(&epoch));
            if let Some(found) = is_sound(&after, at) {
                assert_eq!(ever.get(&(at, epoch)), Some(&found), "seed {seed} boot {boot}: page {}", at.0);
            }
        }
        raised += latest.iter().map(|e| u64::from(*e)).sum::<u64>();
    }
    raised
}

/// The sound pages and the epochs.
fn snapshot(media: &Watched) -> (Programmed, Vec<u32>) {
    let g = media.shape().geometry;
    let sound = (0..320)
        .map(PageAddr)
        .filter_map(|at| Some(((at, media.epoch(g.segment_of(at))), is_sound(media, at)?)));
    (sound.collect(), (0..g.segments).map(|n| media.epoch(SegmentId(n))).collect())
}

fn program_next(media: &mut Watched, segment: SegmentId, ever: &mut Programmed, rng: &mut Rng) {
    let next = media.written_pages(segment);
    if next < 16 {
        let (at, fill) = (media.shape().geometry.page(segment, next), rng.next_u64() as u8);
        ever.insert((at, media.epoch(segment)), fill);
        crate::image::support::program(media, at, fill);
    }
}

#[test]
fn a_system_crash_keeps_synced_pages_and_invents_none() {
    let dir = crate::image::support::directory();
    for seed in saker_testing::seeds(12) {
        let erases = cell_history(&dir.path().join(seed.to_string()), seed);
        assert!(erases > 100, "seed {seed}: histories without erases prove little: {erases}");
    }
}
