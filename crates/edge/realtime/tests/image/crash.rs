//! A crash of the operating system: what was synced is on the disk, and any sectors written later may be.

use crate::store::Store;
use crate::support::config;
use saker_flash::Media;
use saker_flash::nand::{Cell, Shape};
use saker_medium::header::{HEADER_BYTES, page_crc};
use saker_medium::{MediaError, PageAddr, PageHeader, PowerHistory, SegmentId};
use saker_realtime::image::{Access, BootId, FileMedia, OpenImage, create, open_as};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SECTOR: usize = 512;

/// Cells that know what the disk holds for certain: the file at its last sync.
struct Watched {
    inner: FileMedia,
    path: PathBuf,
    durable: Vec<u8>,
}

impl Watched {
    fn now(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("reads")
    }

    /// The file after a crash now: the durable one, with some of the sectors written since.
    fn after_crash(&self, rng: &mut Rng) -> Vec<u8> {
        let (mut left, now) = (self.durable.clone(), self.now());
        let written_of_8 = [0, 1, 4, 7, 8][rng.below(5) as usize];
        for (old, new) in left.chunks_mut(SECTOR).zip(now.chunks(SECTOR)) {
            if old != new && rng.below(8) < written_of_8 {
                old.copy_from_slice(new);
            }
        }
        left
    }
}

impl Media for Watched {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }
    fn cell(&self, at: PageAddr) -> Cell<'_> {
        self.inner.cell(at)
    }
    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), MediaError> {
        self.inner.program(at, data, oob)
    }
    fn erase(&mut self, segment: SegmentId) -> Result<(), MediaError> {
        let (before, syncs) = (self.now(), self.inner.syncs());
        self.inner.erase(segment)?;
        if self.inner.syncs() > syncs {
            self.durable = before;
        }
        Ok(())
    }
    fn tear(&mut self, at: PageAddr) {
        self.inner.tear(at);
    }
    fn epoch(&self, segment: SegmentId) -> u32 {
        self.inner.epoch(segment)
    }
    fn written_pages(&self, segment: SegmentId) -> u32 {
        self.inner.written_pages(segment)
    }
    fn sync(&mut self) -> Result<(), MediaError> {
        self.inner.sync()?;
        self.durable = self.now();
        Ok(())
    }
    fn syncs(&self) -> u64 {
        self.inner.syncs()
    }
    fn tears_are_hidden(&self) -> bool {
        self.inner.tears_are_hidden()
    }
    fn history(&self) -> PowerHistory {
        self.inner.history()
    }
    fn bytes_in_use(&self) -> u64 {
        self.inner.bytes_in_use()
    }
}

/// What a key may hold after a crash: its content at the last flush, and everything since.
type Allowed = BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>;

struct Run {
    path: PathBuf,
    boot: u64,
    rng: Rng,
    allowed: Allowed,
}

impl Run {
    fn open(&mut self) -> Store<Watched> {
        let boot = BootId::of(&self.boot.to_string());
        let OpenImage { media, ring, .. } = open_as(&self.path, Access::Write, boot).expect("opens");
        let durable = std::fs::read(&self.path).expect("reads");
        let media = Watched { inner: media, path: self.path.clone(), durable };
        Store::open(media, ring, true).unwrap_or_else(|damage| panic!("boot {}: {damage}", self.boot))
    }

    fn work(&mut self, store: &mut Store<Watched>) {
        for _ in 0..50 + self.rng.below(600) {
            let key = format!("k{}", self.rng.below(40)).into_bytes();
            match self.rng.below(100) {
                0..70 => {
                    let mut value = vec![0; self.rng.below(300) as usize];
                    self.rng.fill(&mut value);
                    store.put(&key, &value);
                    self.allowed.entry(key).or_insert_with(|| vec![None]).push(Some(value));
                }
                70..95 => {
                    store.delete(&key);
                    self.allowed.entry(key).or_insert_with(|| vec![None]).push(None);
                }
                95..98 => self.flush(store),
                _ => {}
            }
        }
    }

    fn flush(&mut self, store: &mut Store<Watched>) {
        store.flush();
        for versions in self.allowed.values_mut() {
            versions.drain(..versions.len() - 1);
        }
    }

    /// Writes what a crash leaves, and begins the next boot.
    fn crash(&mut self, store: Store<Watched>) {
        let left = store.flash.media().after_crash(&mut self.rng);
        drop(store);
        std::fs::write(&self.path, left).expect("writes");
        self.boot += 1;
    }

    fn verify(&mut self, store: &mut Store<Watched>) {
        for (key, versions) in &mut self.allowed {
            let found = store.get(key);
            assert!(versions.contains(&found), "boot {}: {}", self.boot, String::from_utf8_lossy(key));
            *versions = vec![found];
        }
    }
}

fn crashes(path: &Path, seed: u64) -> u64 {
    create(path, &config(true)).expect("creates");
    let rng = Seed(seed).child("crash").rng();
    let mut run = Run { path: path.to_path_buf(), boot: 1, rng, allowed: Allowed::new() };
    let mut erases = 0;
    for _ in 0..6 {
        let mut store = run.open();
        run.verify(&mut store);
        // What recovery found is written again before it counts as old.
        run.flush(&mut store);
        run.work(&mut store);
        erases = (0..20).map(|n| u64::from(store.flash.media().epoch(SegmentId(n)))).sum();
        run.crash(store);
    }
    erases
}

#[test]
fn a_system_crash_loses_nothing_that_was_flushed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for seed in 0..30 {
        let erases = crashes(&dir.path().join(seed.to_string()), seed);
        assert!(erases > 5, "seed {seed}: histories without erases prove little: {erases}");
    }
}

#[test]
fn erases_sync_what_others_rely_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    create(&path, &config(true)).expect("creates");
    let mut media = open_as(&path, Access::Write, BootId::of("a")).expect("opens").media;
    let erase = |media: &mut FileMedia, n| {
        let before = media.syncs();
        media.erase(SegmentId(n)).expect("erases");
        media.syncs() - before
    };
    crate::support::program(&mut media, PageAddr(0), 1);
    assert_eq!(erase(&mut media, 1), 0, "a new image that was never flushed has promised nothing");
    media.sync().expect("syncs");
    assert_eq!(erase(&mut media, 1), 0, "everything is synced");
    assert_eq!(erase(&mut media, 2), 1, "the erase before must last first");
    crate::support::program(&mut media, PageAddr(1), 1);
    assert_eq!(erase(&mut media, 1), 1);
    drop(media);
    let mut media = open_as(&path, Access::Write, BootId::of("a")).expect("opens").media;
    crate::support::program(&mut media, PageAddr(2), 1);
    assert_eq!(erase(&mut media, 1), 1, "what was there at the open is relied on");
}

/// Everything that was ever programmed: content by page and erase cycle.
type Programmed = BTreeMap<(PageAddr, u32), u8>;

fn is_sound(media: &impl Media, at: PageAddr) -> Option<u8> {
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
        let mut media =
            Watched { inner, path: path.to_path_buf(), durable: std::fs::read(path).expect("reads") };
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
        crate::support::program(media, at, fill);
    }
}

#[test]
fn a_system_crash_keeps_synced_pages_and_invents_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for seed in 0..12 {
        let erases = cell_history(&dir.path().join(seed.to_string()), seed);
        assert!(erases > 100, "seed {seed}: histories without erases prove little: {erases}");
    }
}
