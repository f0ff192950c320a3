// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding the last whole checkpoint after power-on: it begins at the first page of one of the checkpoint segments, tried from
//! the youngest back. What its chunks mean is the owner's affair.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use crate::checkpoint::{CheckpointReader, Cut, Found};
use crate::recover::{Damage, LogImage, Recovered, scan_page};
use crate::{Log, checkpoint};
use saker_segment_store::{SegmentId, SegmentStore, Step, Stream, ready};

/// A whole checkpoint.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Its number.
    pub generation: u64,
    /// Where the log stood when it began.
    pub cut: Cut,
    /// Its segments, in order.
    pub segments: Vec<SegmentId>,
}

/// One piece of news of a search.
#[derive(Clone, Debug)]
pub enum Searched {
    /// A part of what may become a whole checkpoint. If it makes no sense, [`CheckpointSearch::refuse`] it.
    Chunk(Vec<u8>),
    /// What chunks said so far is not part of a whole checkpoint: forget it.
    Forget,
    /// The chunks were all of this one's.
    Whole(Whole),
    /// There is none. What was left of others is given back.
    None,
}

/// A search on its way.
#[derive(Clone, Debug, Default)]
pub struct CheckpointSearch {
    /// The segments of checkpoints, oldest first.
    segments: Vec<Recovered>,
    /// Segments before the one at which the current try begins.
    start: usize,
    reader: Option<Box<CheckpointReader>>,
    begun: Option<(u64, Cut)>,
}

impl CheckpointSearch {
    /// A search in what a survey found.
    pub fn new(image: &LogImage) -> Self {
        let segments: Vec<_> =
            image.segments.iter().filter(|r| r.stream == Stream::Checkpoint).copied().collect();
        Self { start: segments.len(), segments, ..Self::default() }
    }

    /// The next piece of news. With `Need`, call again with those pages.
    ///
    /// # Errors
    /// A checkpoint that a torn program cannot explain.
    pub fn step<M: SegmentStore>(&mut self, log: &mut Log, m: &mut M) -> Step<Result<Searched, Damage>> {
        loop {
            let Some(reader) = &mut self.reader else {
                if self.open(log) {
                    continue;
                }
                checkpoint::release_others(log, m, &[]);
                return Step::Done(Ok(Searched::None));
            };
            let news = match (ready!(reader.step(log, m)), self.begun.take()) {
                (Found::Begin(generation, cut), None) => {
                    self.begun = Some((generation, cut));
                    continue;
                }
                (Found::Chunk(payload), Some(begun)) => {
                    self.begun = Some(begun);
                    Searched::Chunk(payload)
                }
                (Found::End, Some((generation, cut))) => {
                    let used = self.segments.iter().skip(self.start).take(reader.runs_used());
                    Searched::Whole(Whole { generation, cut, segments: used.map(|r| r.id).collect() })
                }
                (Found::Broken, _) => {
                    return Step::Done(Err(self.damage(log, m)));
                }
                _ => {
                    self.reader = None;
                    Searched::Forget
                }
            };
            return Step::Done(Ok(news));
        }
    }

    /// What is wrong with the checkpoint that is being read: its first damaged page, if that is the reason.
    fn damage<M: SegmentStore>(&self, log: &Log, m: &M) -> Damage {
        let geometry = log.geometry();
        let mut pages =
            self.segments.iter().skip(self.start).flat_map(|r| (0..r.pages).map(|n| geometry.page(r.id, n)));
        let damaged = pages.find_map(|at| match scan_page(log, m, at) {
            Step::Done(Err(damage)) => Some(damage),
            _ => None,
        });
        let what = "a record of it does not match its checksum".into();
        damaged.unwrap_or(Damage::Checkpoint { owner: log.owner, what })
    }

    /// A chunk makes no sense: an older checkpoint is looked for. The owner forgets what it was told.
    pub fn refuse(&mut self) {
        (self.reader, self.begun) = (None, None);
    }

    /// Begins a try one segment further back. False: there is none.
    fn open(&mut self, log: &Log) -> bool {
        let Some(start) = self.start.checked_sub(1) else { return false };
        self.start = start;
        let runs = self.segments.iter().skip(start).map(|r| (log.geometry().page(r.id, 0), r.pages));
        self.reader = Some(Box::new(CheckpointReader::new(runs.collect())));
        true
    }
}

impl LogImage {
    /// The segments other than checkpoints' that hold pages from a cut on, in the order they were begun; without a cut all.
    pub fn tail(&self, cut: Option<&Cut>) -> Vec<Recovered> {
        let first = cut.map_or(0, Cut::first_sequence);
        let is_tail = |r: &&Recovered| r.stream != Stream::Checkpoint && r.last_sequence >= first;
        self.segments.iter().filter(is_tail).copied().collect()
    }
}
