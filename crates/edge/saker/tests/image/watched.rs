// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cells of an image that know what the disk holds for certain, and what it may hold.

use saker::image::FileCells;
use saker_flash::Cells;
use saker_flash::nand::{Cell, Shape};
use saker_segment_store::{CellError, PageAddr, PowerHistory, SegmentId};
use saker_sim::{Rng, Seed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Contents of the file between two syncs that are remembered at most.
const MOMENTS: usize = 3;
/// A copy of the image's header; two begin the file.
const HEADER_BYTES: usize = 4096;

#[derive(Debug)]
pub struct Watched {
    pub inner: FileCells,
    path: PathBuf,
    /// The file at its last sync.
    durable: Vec<u8>,
    /// The file at some moments since.
    moments: Vec<Vec<u8>>,
    rng: Rng,
    /// A sync beside: the file when it began, how many moments were remembered then, and how often somebody looks before it has ended.
    begun: Option<(Vec<u8>, usize, u64)>,
    /// What crashes could leave at each operation, if somebody wants to know.
    crashes: Option<Vec<Vec<u8>>>,
}

impl Watched {
    pub fn new(inner: FileCells, path: &Path, seed: u64) -> Self {
        let durable = std::fs::read(path).expect("reads");
        Self::with_durable(inner, path, durable, seed)
    }

    /// After a kill: the disk holds for certain what it held before.
    pub fn with_durable(inner: FileCells, path: &Path, durable: Vec<u8>, seed: u64) -> Self {
        Self {
            inner,
            path: path.to_path_buf(),
            durable,
            moments: Vec::new(),
            rng: Seed(seed).rng(),
            begun: None,
            crashes: None,
        }
    }

    /// From now on every operation is a moment at which the system could crash: before it, and after it.
    pub fn watch(&mut self) {
        self.crashes = Some(Vec::new());
    }

    /// What such crashes would leave.
    pub fn crashes(&mut self) -> Vec<Vec<u8>> {
        self.crashes.take().unwrap_or_default()
    }

    fn could_crash(&mut self) {
        if self.crashes.is_some() {
            let mut rng = Seed(self.rng.next_u64()).rng();
            let left = self.after_crash(&mut rng);
            self.crashes.get_or_insert_default().push(left);
        }
    }

    /// The system could crash while a header is written that was another one `before`: its second copy is not written yet, and
    /// the sync behind the first copy has not ended.
    fn could_crash_in_header(&mut self, before: &[u8]) {
        let mut between = self.now();
        between[..HEADER_BYTES].copy_from_slice(&before[..HEADER_BYTES]);
        if self.crashes.is_some() {
            // The first copy is on the disk, and nothing else that was not there for certain.
            let mut left = self.durable.clone();
            left[..2 * HEADER_BYTES].copy_from_slice(&between[..2 * HEADER_BYTES]);
            self.crashes.get_or_insert_default().extend([left, between]);
        }
    }

    /// The file at its last sync.
    pub fn durable(&self) -> Vec<u8> {
        self.durable.clone()
    }

    fn now(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("reads")
    }

    fn synced(&mut self, durable: Vec<u8>) {
        if let Some((file, moments, _)) = &mut self.begun {
            // The one beside ends later, and makes nothing older last.
            (*file, *moments) = (durable.clone(), 0);
        }
        self.durable = durable;
        self.moments.clear();
    }

    fn remember(&mut self) {
        if self.moments.len() < MOMENTS && self.rng.below(8) == 0 {
            self.moments.push(self.now());
        }
    }

    /// The file after a crash now: each sector or page of the page cache is as at the last sync, or as at any
    /// moment since.
    pub fn after_crash(&self, rng: &mut Rng) -> Vec<u8> {
        let unit = if rng.below(2) == 0 { 512 } else { 4096 };
        let (mut left, now) = (self.durable.clone(), self.now());
        let written_of_8 = [0, 1, 4, 7, 8][rng.below(5) as usize];
        for (n, old) in left.chunks_mut(unit).enumerate() {
            let (from, to) = (n * unit, n * unit + old.len());
            if rng.below(8) < written_of_8 {
                let moment = rng.below(self.moments.len() as u64 + 2) as usize;
                old.copy_from_slice(&self.moments.get(moment).unwrap_or(&now)[from..to]);
            }
        }
        left
    }
}

impl Cells for Watched {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }
    fn cell(&self, at: PageAddr) -> Cell<'_> {
        self.inner.cell(at)
    }
    fn program(&mut self, at: PageAddr, data: &[u8], oob: &[u8]) -> Result<(), CellError> {
        self.remember();
        self.inner.program(at, data, oob)
    }
    fn erase(&mut self, segment: SegmentId) -> Result<(), CellError> {
        let (before, syncs) = (self.now(), self.inner.syncs());
        self.inner.erase(segment)?;
        if self.inner.syncs() > syncs {
            self.synced(before);
        }
        Ok(())
    }
    fn erase_unordered(&mut self, segment: SegmentId) -> Result<(), CellError> {
        self.could_crash();
        self.remember();
        self.inner.erase_unordered(segment)?;
        self.could_crash();
        Ok(())
    }
    fn scrap(&mut self, segment: SegmentId) -> Result<(), CellError> {
        self.inner.scrap(segment)
    }
    fn erasing(&self) -> &BTreeSet<u16> {
        self.inner.erasing()
    }
    fn set_erasing(&mut self, owners: BTreeSet<u16>) -> Result<(), CellError> {
        self.could_crash();
        self.remember();
        let before = self.now();
        // Each copy is synced, and everything with it.
        self.inner.set_erasing(owners)?;
        self.could_crash_in_header(&before);
        let now = self.now();
        self.synced(now);
        self.could_crash();
        Ok(())
    }
    fn save(&mut self, owner: u16, error_on_delete: bool) -> Result<(), CellError> {
        self.inner.save(owner, error_on_delete)?;
        let now = self.now();
        self.synced(now);
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
    fn sync(&mut self) -> Result<(), CellError> {
        self.could_crash();
        self.inner.sync()?;
        let now = self.now();
        self.synced(now);
        Ok(())
    }
    fn allow_syncs_beside(&mut self) -> bool {
        self.inner.allow_syncs_beside()
    }
    fn begin_sync(&mut self) {
        self.begun = Some((self.now(), self.moments.len(), self.rng.below(40)));
        self.inner.begin_sync();
    }
    fn ended_sync(&mut self) -> Option<Result<(), CellError>> {
        let (.., looks) = self.begun.as_mut()?;
        if *looks > 0 {
            *looks -= 1;
            return None;
        }
        let (file, moments, _) = self.begun.take()?;
        let result = loop {
            match self.inner.ended_sync() {
                Some(result) => break result,
                None => std::thread::yield_now(),
            }
        };
        self.durable = file;
        self.moments.drain(..moments.min(self.moments.len()));
        Some(result)
    }
    fn syncs(&self) -> u64 {
        self.inner.syncs()
    }
    fn erase_needs_sync(&self) -> bool {
        self.inner.erase_needs_sync()
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
