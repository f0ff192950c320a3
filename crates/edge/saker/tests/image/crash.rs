// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A crash of the operating system: what was synced is on the disk, and any sectors written later may be.

use crate::image::blocks::Blocks;
use crate::image::flushed::Flushed;
use crate::image::landing::Interrupted;
use crate::image::store::Store;
use crate::image::support::{block_config, config, directory};
use crate::image::watched::Watched;
use saker::image::{Access, BootId, ImageConfig, OpenImage, create, open_as};
use saker_flash::{Cells, SyncNumber};
use saker_segment_store::SegmentId;
use saker_sim::{Rng, Seed};
use std::path::{Path, PathBuf};

/// Keys or logical blocks.
const CELLS: usize = 40;

/// A store over an image, as far as this test is concerned.
fn watched<K: Keeper>(store: &K) -> &Watched {
    store.flash().media().get().expect("watched cells")
}

trait Keeper: Flushed + Sized {
    fn image(capacitor: bool) -> ImageConfig;
    fn open(
        media: Watched,
        ring: saker_segment_store::PageBufferMemory,
        capacitor: bool,
    ) -> Result<Self, String>;
    /// Stores random content, or deletes. Gives what is there now.
    fn change(&mut self, cell: usize, rng: &mut Rng) -> Option<Vec<u8>>;
    fn get(&mut self, cell: usize) -> Option<Vec<u8>>;
    /// Copies the image, if it can in the middle of a change that never happens.
    fn copy_in_the_middle(&mut self, from: &Path, to: &Path, rng: &mut Rng);
}

fn key(cell: usize) -> Vec<u8> {
    format!("k{cell}").into_bytes()
}

impl Keeper for Store {
    fn image(capacitor: bool) -> ImageConfig {
        config(capacitor)
    }

    fn open(
        media: Watched,
        ring: saker_segment_store::PageBufferMemory,
        capacitor: bool,
    ) -> Result<Self, String> {
        Self::open(media, ring, capacitor)
    }

    fn change(&mut self, cell: usize, rng: &mut Rng) -> Option<Vec<u8>> {
        if rng.below(4) == 0 {
            self.delete(&key(cell));
            return None;
        }
        let mut value = vec![0; rng.below(300) as usize];
        rng.fill(&mut value);
        self.put(&key(cell), &value);
        Some(value)
    }

    fn get(&mut self, cell: usize) -> Option<Vec<u8>> {
        self.get(&key(cell))
    }

    fn copy_in_the_middle(&mut self, from: &Path, to: &Path, rng: &mut Rng) {
        // Longer than a segment's page, so that it is read in parts.
        let bytes = 1200 + rng.below(1800) as u32;
        let mut source = Interrupted { bytes, copy: Some((from, to, rng.below(3))) };
        self.put_from(&key(0), &mut source).expect_err("its transfer fails");
    }
}

impl Keeper for Blocks {
    fn image(capacitor: bool) -> ImageConfig {
        block_config(capacitor)
    }

    fn open(
        media: Watched,
        ring: saker_segment_store::PageBufferMemory,
        capacitor: bool,
    ) -> Result<Self, String> {
        Self::open(media, ring, capacitor)
    }

    fn change(&mut self, cell: usize, rng: &mut Rng) -> Option<Vec<u8>> {
        if rng.below(4) == 0 {
            self.trim(cell as u64);
            return None;
        }
        // Some alike, so that bytes of another use can look right.
        let mut block = vec![rng.below(4) as u8 + 1; Self::BLOCK_BYTES];
        if rng.below(2) == 0 {
            rng.fill(&mut block);
        }
        self.write(cell as u64, &block);
        Some(block)
    }

    fn get(&mut self, cell: usize) -> Option<Vec<u8>> {
        self.read(cell as u64)
    }

    fn copy_in_the_middle(&mut self, from: &Path, to: &Path, _rng: &mut Rng) {
        std::fs::copy(from, to).expect("copies");
    }
}

struct Run {
    path: PathBuf,
    capacitor: bool,
    boot: u64,
    rng: Rng,
    /// What each cell may hold after a crash: its content at the last flush, and everything since.
    allowed: Vec<Vec<Option<Vec<u8>>>>,
    /// Syncs go on beside changes.
    beside: bool,
    /// A flush on its way, and how many contents each cell had had when its sync began.
    flushing: Option<(SyncNumber, Vec<usize>)>,
    /// Changes while a flush was on its way.
    meanwhile: u64,
}

impl Run {
    fn boot_id(&self) -> BootId {
        BootId::of(&self.boot.to_string())
    }

    fn open<K: Keeper>(&mut self) -> K {
        let OpenImage { media, ring, .. } = open_as(&self.path, Access::Write, self.boot_id())
            .unwrap_or_else(|error| panic!("boot {}: {error}", self.boot));
        let media = Watched::new(media, &self.path, self.rng.next_u64());
        let store = K::open(media, ring, self.capacitor);
        self.begin(store.unwrap_or_else(|damage| panic!("boot {}: {damage}", self.boot)))
    }

    fn begin<K: Keeper>(&mut self, mut store: K) -> K {
        self.flushing = None;
        if self.beside {
            store.flash_mut().allow_syncs_beside();
            assert!(store.flash().has_syncs_beside());
        }
        store
    }

    fn work<K: Keeper>(&mut self, store: &mut K) {
        for _ in 0..50 + self.rng.below(600) {
            let cell = self.rng.below(CELLS as u64) as usize;
            self.look(store);
            if self.rng.below(33) == 0 {
                self.flush(store);
            } else {
                self.meanwhile += u64::from(self.flushing.is_some());
                let now = store.change(cell, &mut self.rng);
                self.allowed[cell].push(now);
            }
        }
    }

    /// The contents at the beginning of a flush are the oldest that may be there once it has ended.
    fn look<K: Keeper>(&mut self, store: &mut K) {
        store.go_on();
        let Some((number, had)) = &self.flushing else { return };
        if let Some(result) = store.flash().sync_result(*number) {
            result.expect("syncs");
            self.allowed.iter_mut().zip(had).for_each(|(versions, had)| _ = versions.drain(..had - 1));
            self.flushing = None;
        }
    }

    fn flush<K: Keeper>(&mut self, store: &mut K) {
        if self.beside {
            while self.flushing.is_some() {
                self.look(store);
            }
            let number = store.begin_flush();
            self.flushing = Some((number, self.allowed.iter().map(Vec::len).collect()));
            return;
        }
        store.flush();
        for versions in &mut self.allowed {
            versions.drain(..versions.len() - 1);
        }
    }

    /// Writes what a crash leaves, and begins the next boot.
    fn crash<K: Keeper>(&mut self, store: K) {
        let left = watched(&store).after_crash(&mut self.rng);
        drop(store);
        std::fs::write(&self.path, left).expect("writes");
        self.boot += 1;
    }

    /// Kills the process and starts another: the same boot, and the disk holds for certain what it held.
    fn kill<K: Keeper>(&mut self, mut store: K) -> K {
        let copy = self.path.with_extension("copy");
        store.copy_in_the_middle(&self.path, &copy, &mut self.rng);
        let durable = watched(&store).durable();
        drop(store);
        std::fs::rename(&copy, &self.path).expect("renames");
        let OpenImage { media, ring, .. } =
            open_as(&self.path, Access::Write, self.boot_id()).expect("opens after a kill");
        let media = Watched::with_durable(media, &self.path, durable, self.rng.next_u64());
        let store = K::open(media, ring, self.capacitor).expect("recovers after a kill");
        let mut store = self.begin(store);
        for (cell, versions) in self.allowed.iter().enumerate() {
            assert_eq!(Some(&store.get(cell)), versions.last(), "boot {}: cell {cell}", self.boot);
        }
        store
    }

    fn verify<K: Keeper>(&mut self, store: &mut K) {
        for (cell, versions) in self.allowed.iter_mut().enumerate() {
            let found = store.get(cell);
            assert!(
                versions.contains(&found),
                "boot {}: cell {cell} of {} versions",
                self.boot,
                versions.len()
            );
            *versions = vec![found];
        }
    }
}

/// Erases, and changes while a flush was on its way.
fn crashes<K: Keeper>(path: &Path, capacitor: bool, beside: bool, seed: u64) -> (u64, u64) {
    create(path, &K::image(capacitor)).expect("creates");
    let rng = Seed(seed).child("crash").rng();
    let allowed = vec![vec![None]; CELLS];
    let mut run = Run {
        path: path.to_path_buf(),
        capacitor,
        boot: 1,
        rng,
        allowed,
        beside,
        flushing: None,
        meanwhile: 0,
    };
    let mut erases = 0;
    for _ in 0..6 {
        let mut store = run.open::<K>();
        run.verify(&mut store);
        // Found once, it is found again: sometimes only because recovery wrote it.
        if run.rng.below(2) == 0 {
            run.flush(&mut store);
        }
        run.work(&mut store);
        if run.rng.below(2) == 0 {
            store = run.kill(store);
            run.work(&mut store);
        }
        erases = (0..20).map(|n| u64::from(store.flash().media().epoch(SegmentId(n)))).sum();
        run.crash(store);
    }
    (erases, run.meanwhile)
}

fn hold<K: Keeper>(capacitor: bool) {
    hold_with::<K>(capacitor, false);
}

fn hold_with<K: Keeper>(capacitor: bool, beside: bool) {
    let dir = directory();
    for seed in saker_testing::seeds(saker_testing::tier(30, 600)) {
        let path = dir.path().join(seed.to_string());
        let (erases, meanwhile) = crashes::<K>(&path, capacitor, beside, seed);
        assert!(erases > 5, "seed {seed}: histories without erases prove little: {erases}");
        assert_eq!(beside, meanwhile > 100, "seed {seed}: {meanwhile} changes while a flush was on its way");
        std::fs::remove_file(&path).expect("removes");
    }
}

#[test]
fn a_system_crash_loses_nothing_that_was_flushed() {
    hold::<Store>(true);
}

#[test]
fn a_system_crash_loses_no_flushed_pairs_without_a_capacitor() {
    hold::<Store>(false);
}

#[test]
fn a_system_crash_loses_no_flushed_blocks() {
    hold::<Blocks>(true);
}

#[test]
fn a_system_crash_loses_no_flushed_blocks_without_a_capacitor() {
    hold::<Blocks>(false);
}

#[test]
fn a_system_crash_while_syncs_go_on_beside_loses_nothing_that_was_flushed() {
    hold_with::<Store>(true, true);
}

#[test]
fn a_system_crash_while_syncs_go_on_beside_loses_no_flushed_pairs_without_a_capacitor() {
    hold_with::<Store>(false, true);
}

#[test]
fn a_system_crash_while_syncs_go_on_beside_loses_no_flushed_blocks() {
    hold_with::<Blocks>(true, true);
}

#[test]
fn a_system_crash_while_syncs_go_on_beside_loses_no_flushed_blocks_without_a_capacitor() {
    hold_with::<Blocks>(false, true);
}
