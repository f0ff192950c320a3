// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checkpoints: an image of the owner's index, written in chunks while the owner goes on working.
//!
//! A checkpoint starts with a [`Cut`]: the point of the log from which recovery must scan. Chunks may show
//! states later than the cut; the scan settles that, because everything written after the cut is scanned.
//! Each checkpoint has segments of its own; the previous one is released when the new one is complete.
//!
//! Chunk record: `crc u32 | payload bytes u32 | generation u64 | index u32 | kind u8, 3 reserved | payload`,
//! little-endian, padded to 8 bytes.

mod reader;

use crate::reserve::FOR_COPIES;
use crate::{Log, SegmentState};
use saker_duty::Duty;
use saker_segment_store::{SegmentId, SegmentStore, Stall, Stream, Tag};

pub use reader::{CheckpointReader, Found};

const HEAD: usize = 24;
const KIND_BEGIN: u8 = 1;
const KIND_CHUNK: u8 = 2;
const KIND_END: u8 = 3;
const _: () = assert!(HEAD.is_multiple_of(8));

/// Longest chunk in bytes; a quarter of a segment and 8 bytes where that is less.
pub const CHUNK_BYTES_MAX: u64 = 8200;

/// From where on the log must be scanned to complete a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Pages with this sequence number or a later one were opened after the cut.
    pub sequence: u64,
    /// Pages that were open at the cut: their sequence number, and the bytes they held already.
    pub open: Vec<(u64, u32)>,
    /// The owner's next version number at the cut.
    pub version: u64,
}

impl Cut {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(20 + self.open.len() * 12);
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.version.to_le_bytes());
        out.extend((self.open.len() as u32).to_le_bytes());
        for (sequence, offset) in &self.open {
            out.extend(sequence.to_le_bytes());
            out.extend(offset.to_le_bytes());
        }
        out
    }

    /// The offset in a page from which its records must be scanned; `None` if the page is before the cut.
    pub fn scan_from(&self, sequence: u64) -> Option<u32> {
        if sequence >= self.sequence {
            return Some(0);
        }
        self.open.iter().find(|(s, _)| *s == sequence).map(|(_, offset)| *offset)
    }

    /// The earliest page that must be scanned.
    pub fn first_sequence(&self) -> u64 {
        self.open.iter().map(|(s, _)| *s).fold(self.sequence, u64::min)
    }
}

/// A checkpoint being written.
#[derive(Clone, Debug)]
pub struct CheckpointWriter {
    generation: u64,
    cut: Cut,
    chunks: u32,
    payload_bytes: u64,
    /// Segments it will need from now on.
    segments_left: u32,
    /// Where the page buffer can be lost: everything that the chunks refer to is on the medium when this has finished.
    covered: Option<Tag>,
    /// The sync after which a crash of the operating system leaves what the chunks refer to.
    synced: Option<Tag>,
    /// Set once the end record is written: the checkpoint is complete when this tag has finished.
    end: Option<Tag>,
    duty: Duty,
}

impl CheckpointWriter {
    /// Begins a checkpoint if there is room for `payload_bytes` of chunks.
    pub fn begin<M: SegmentStore>(
        log: &mut Log,
        m: &mut M,
        generation: u64,
        version: u64,
        payload_bytes: u64,
        spare_segments: u32,
    ) -> Result<Self, Stall> {
        let segments_left = segments_for(log, payload_bytes);
        if m.free_segments() < segments_left + spare_segments {
            return Err(Stall::NoSegment);
        }
        log.close_segment(Stream::Checkpoint, m);
        let append = |s: Stream| log.streams[s as usize];
        let open = [Stream::User, Stream::Gc].into_iter().filter_map(|s| {
            let (slot, _) = append(s).open?;
            let view = m.page_buffer().view(slot).ok().flatten()?;
            Some((view.sequence, append(s).offset))
        });
        let cut = Cut { sequence: log.next_sequence, open: open.collect(), version };
        log.cut_checkpoint();
        let mut writer = Self {
            generation,
            cut,
            chunks: 0,
            payload_bytes: 0,
            segments_left,
            covered: None,
            synced: None,
            end: None,
            duty: Duty::new("a checkpoint is completed or given up"),
        };
        let payload = writer.cut.encode();
        match writer.append(log, m, KIND_BEGIN, &payload) {
            Ok(()) => Ok(writer),
            Err(stall) => {
                writer.duty.done();
                Err(stall)
            }
        }
    }

    /// Its owner has it where it finds it again, and may go with it.
    #[must_use]
    pub fn resting(mut self) -> Self {
        self.duty.rest();
        self
    }

    /// Its owner takes it from there.
    #[must_use]
    pub fn taken(mut self) -> Self {
        self.duty.owe();
        self
    }

    /// The cut of this checkpoint.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// Free segments that others should leave to it.
    pub fn segments_left(&self) -> u32 {
        self.segments_left
    }

    /// Appends a chunk. On a stall nothing happened.
    pub fn chunk<M: SegmentStore>(&mut self, log: &mut Log, m: &mut M, payload: &[u8]) -> Result<(), Stall> {
        debug_assert!(payload.len() as u64 <= chunk_bytes_max(log.geometry().segment_bytes()));
        self.append(log, m, KIND_CHUNK, payload)?;
        self.chunks += 1;
        self.payload_bytes += payload.len() as u64;
        Ok(())
    }

    /// Goes on towards the end record, which is written once the records that the chunks refer to are where the
    /// checkpoint itself will be, and last as long: chunks tell of places as they were when they were written, later
    /// ones than the cut too, and recovery would not look for older ones. The checkpoint is complete once
    /// [`CheckpointWriter::is_complete`] says so. Chunks must not follow.
    ///
    /// # Errors
    /// A stall: come back when more I/O than `finished` has completed.
    pub fn finish<M: SegmentStore>(&mut self, log: &mut Log, m: &mut M, finished: Tag) -> Result<(), Stall> {
        if !log.ring_lasts {
            let covered = *self.covered.get_or_insert_with(|| cover(log, m));
            if !log.records_safe(covered, finished) {
                return Err(Stall::Busy);
            }
        }
        match self.synced {
            None => self.synced = Some(m.sync()),
            Some(tag) if tag > finished => return Err(Stall::Busy),
            Some(_) => self.write_end(log, m)?,
        }
        Ok(())
    }

    fn write_end<M: SegmentStore>(&mut self, log: &mut Log, m: &mut M) -> Result<(), Stall> {
        let payload = self.payload_bytes.to_le_bytes();
        self.append(log, m, KIND_END, &payload)?;
        log.close_segment(Stream::Checkpoint, m);
        self.end = Some(m.last_tag());
        self.segments_left = 0;
        Ok(())
    }

    /// Whether the end record is written.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// Whether everything of it is on the medium, given that all I/O up to `finished` has completed.
    pub fn is_complete(&self, finished: Tag) -> bool {
        self.end.is_some_and(|end| end <= finished)
    }

    /// Gives up; its segments are released.
    pub fn abort<M: SegmentStore>(self, log: &mut Log, m: &mut M, keep: &[SegmentId]) {
        self.duty.done();
        release_others(log, m, keep);
    }

    /// Replaces the previous checkpoint: releases its segments. Returns the segments of this one.
    pub fn replace<M: SegmentStore>(
        self,
        log: &mut Log,
        m: &mut M,
        previous: &[SegmentId],
    ) -> Vec<SegmentId> {
        assert!(self.is_finished() && self.segments_left == 0, "only a whole checkpoint replaces another");
        self.duty.done();
        for id in previous {
            log.release(*id, m);
        }
        log.checkpoint_complete();
        checkpoint_segments(log)
    }

    fn append<M: SegmentStore>(
        &mut self,
        log: &mut Log,
        m: &mut M,
        kind: u8,
        payload: &[u8],
    ) -> Result<(), Stall> {
        let bytes = (HEAD + payload.len()).next_multiple_of(8);
        log.room(m, Stream::Checkpoint, bytes as u32, FOR_COPIES)?;
        let mut record = Vec::with_capacity(bytes);
        record.extend([0; 4]);
        record.extend((payload.len() as u32).to_le_bytes());
        record.extend(self.generation.to_le_bytes());
        record.extend(self.chunks.to_le_bytes());
        record.extend([kind, 0, 0, 0]);
        record.extend(payload);
        record.resize(bytes, 0);
        let crc = saker_segment_store::header::crc32c(&record[4..]);
        record[..4].copy_from_slice(&crc.to_le_bytes());
        let segment = log.streams[Stream::Checkpoint as usize].segment;
        let w = log.begin(m, Stream::Checkpoint, bytes as u32);
        if log.streams[Stream::Checkpoint as usize].segment != segment {
            self.segments_left = self.segments_left.saturating_sub(1);
        }
        log.put(m, &w, 0, &record);
        log.commit(m, w);
        Ok(())
    }
}

/// Sends all records on their way to the medium; the tag after which they are there.
fn cover<M: SegmentStore>(log: &mut Log, m: &mut M) -> Tag {
    log.seal_stream(Stream::User, m);
    log.seal_stream(Stream::Gc, m);
    m.last_tag()
}

/// Segments a checkpoint of that size needs, given that chunks do not cross from one into the next.
pub fn segments_for(log: &Log, payload_bytes: u64) -> u32 {
    let segment = log.geometry().segment_bytes();
    let lost_at_end = chunk_bytes_max(segment) + 2 * HEAD as u64;
    // Chunk heads, the begin and end records, pages.
    let bytes = payload_bytes + payload_bytes / 16 + 4096;
    bytes.div_ceil(segment - lost_at_end) as u32
}

fn chunk_bytes_max(segment_bytes: u64) -> u64 {
    CHUNK_BYTES_MAX.min(segment_bytes / 4 + 8)
}

fn checkpoint_segments(log: &Log) -> Vec<SegmentId> {
    let held = log.segments.iter().enumerate();
    held.filter(|(_, s)| s.state == SegmentState::Closed && s.stream == Stream::Checkpoint as u8)
        .map(|(n, _)| SegmentId(n as u32))
        .collect()
}

/// Releases every checkpoint segment that is not in `keep`.
pub fn release_others<M: SegmentStore>(log: &mut Log, m: &mut M, keep: &[SegmentId]) {
    log.close_segment(Stream::Checkpoint, m);
    for id in checkpoint_segments(log) {
        if !keep.contains(&id) {
            log.release(id, m);
        }
    }
}
