// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands for iterators.

use super::payload::Payload;
use super::{Iterators, Open, Position, Range};
use crate::answer::{Outcome, Reach, Reply, kv_status};
use crate::config::TRANSFER_BYTES_MAX;
use crate::transfer::Pieces;
use saker_engine::{AnyEngine, Context, Scan, Scanned, Scans};
use saker_link::{DmaSpace, Sqe};
use saker_nvme::vendor_specific::{IteratorCommand, IteratorRange, NextAnswer};
use saker_nvme::{Key, PointerRule, Status};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::ops::Bound;
use zerocopy::FromBytes;

/// A command for an iterator on its way.
#[derive(Clone, Debug)]
pub struct IteratorRequest {
    command: IteratorCommand,
    queue: u16,
    pieces: Pieces,
    range: Range,
}

impl IteratorRequest {
    /// Decodes a command of a queue, resolves its data pointer, of a kind that `rule` admits, and fetches its range.
    ///
    /// # Errors
    /// As for [`IteratorCommand`] and [`IteratorRange`]; 02h for more data than a command can move; 04h for a range that is
    /// in no memory.
    pub fn decode(sqe: &Sqe, rule: PointerRule, queue: u16, space: &DmaSpace) -> Result<Self, Status> {
        let command = IteratorCommand::decode_with(sqe, rule)?;
        if command.data_bytes() > TRANSFER_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let pieces = Pieces::of(sqe, command.data_bytes(), space)?;
        let range = match command {
            IteratorCommand::Open { .. } => fetch(&pieces, space)?,
            _ => Range::default(),
        };
        Ok(Self { command, queue, pieces, range })
    }

    /// Bytes that the host sends.
    pub fn bytes_in(&self) -> u32 {
        match self.command {
            IteratorCommand::Open { .. } => self.command.data_bytes(),
            _ => 0,
        }
    }

    /// Where its data is.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Executes it.
    pub fn execute<M: SegmentStore, W: Meter>(
        &self,
        store: &mut AnyEngine,
        iterators: &mut Iterators,
        reach: Reach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        iterators.expire(store, m);
        let done = match self.command {
            IteratorCommand::Open { keys_only, beside } => {
                iterators.open(self.queue, self.range.clone(), keys_only, beside, store)
            }
            IteratorCommand::Close { iterator } => iterators.close(self.queue, iterator, store).map(|()| 0),
            IteratorCommand::Next { iterator, .. } | IteratorCommand::Piece { iterator, .. } => {
                return self.go_on(iterator, store, iterators, reach, m, w);
            }
        };
        iterators.commands += 1;
        Outcome::Done(match done {
            Ok(dw0) => Reply { dw0, ..Reply::status(Status::SUCCESS) },
            Err(status) => Reply::status(status),
        })
    }

    /// Next and Piece.
    fn go_on<M: SegmentStore, W: Meter>(
        &self,
        iterator: u32,
        store: &mut AnyEngine,
        iterators: &mut Iterators,
        reach: Reach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        let (commands, mut memory) = (iterators.commands, std::mem::take(&mut iterators.memory));
        let written = iterators.written(store);
        let outcome = match iterators.find(self.queue, iterator) {
            Ok(open) => {
                let outcome = self.next(open, &mut memory, store, reach, m, w);
                if let Outcome::Done(_) = outcome {
                    open.used = (commands, written);
                }
                outcome
            }
            Err(status) => Outcome::Done(Reply::status(status)),
        };
        iterators.commands += u64::from(matches!(outcome, Outcome::Done(_)));
        iterators.keep(memory);
        outcome
    }

    fn wanted(&self) -> Wanted {
        match self.command {
            IteratorCommand::Next { buffer_bytes, pairs_max, backwards, seek, .. } => {
                let pairs_max = if pairs_max == 0 { u32::MAX } else { pairs_max };
                Wanted { room: buffer_bytes, pairs_max, backwards, seek, piece: None }
            }
            IteratorCommand::Piece { buffer_bytes, offset, backwards, seek, .. } => {
                let piece = Some((offset, buffer_bytes));
                Wanted { room: u32::MAX, pairs_max: 1, backwards, seek, piece }
            }
            _ => unreachable!("asked for Next only"),
        }
    }

    fn next<M: SegmentStore, W: Meter>(
        &self,
        open: &mut Open,
        memory: &mut Vec<u8>,
        store: &mut AnyEngine,
        reach: Reach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        let Wanted { room, pairs_max, backwards, seek, piece } = self.wanted();
        let place = seek.map_or_else(|| open.place.clone(), |key| sought(&key, backwards));
        let from = begin(&place, &open.range, backwards);
        let from = match &from {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) => Bound::Included(&key[..]),
            Bound::Excluded(key) => Bound::Excluded(&key[..]),
        };
        let scan = Scan { snapshot: open.snapshot, from, backwards, values: !open.keys_only };
        let mut payload = Payload::new(&open.range, backwards, (room, pairs_max), std::mem::take(memory));
        let scanned = match store.scan(&scan, &mut payload, &mut Context::new(m, w)) {
            Step::Done(Ok(scanned)) => scanned,
            Step::Done(Err(e)) => return Outcome::Done(Reply::status(kv_status(e))),
            Step::Need(reads) => return Outcome::Need(reads),
            Step::Blocked(stall) => return Outcome::Blocked(stall),
        };
        let ended = scanned == Scanned::All || payload.is_behind;
        let mut needed = payload.needed;
        let mut last = payload.last().to_vec();
        let mut bytes = payload.finish();
        if let Some((offset, buffer_bytes)) = piece {
            needed = bytes.len() as u32;
            bytes.truncate(offset.saturating_add(buffer_bytes) as usize);
            if bytes.len() < needed as usize {
                last.clear();
            }
            bytes.drain(..bytes.len().min(offset as usize));
        }
        let answer = NextAnswer::default().with_ended(ended).with_bytes_needed(needed);
        w.work(Unit::CopyByte, if reach.dma_engine { 0 } else { bytes.len() as u64 });
        if !bytes.is_empty() && self.pieces.write(reach.space, 0, &bytes).is_err() {
            return Outcome::Done(Reply::status(Status::DATA_TRANSFER_ERROR));
        }
        open.place = match (last.is_empty(), backwards) {
            (true, _) => place,
            (false, true) => Position::Before(last),
            (false, false) => Position::Behind(last),
        };
        let length = bytes.len() as u32;
        *memory = bytes;
        let reply = Reply::status(Status::SUCCESS);
        Outcome::Done(Reply { dw0: length, dw1: answer.0, bytes_out: length, ..reply })
    }
}

/// What a Next asks for.
struct Wanted {
    /// Bytes that the pairs may take.
    room: u32,
    pairs_max: u32,
    backwards: bool,
    seek: Option<Key>,
    /// Of what they take: where the piece begins that goes to the host, and its bytes at most.
    piece: Option<(u32, u32)>,
}

fn fetch(pieces: &Pieces, space: &DmaSpace) -> Result<Range, Status> {
    let mut bytes = [0; IteratorRange::BYTES as usize];
    pieces.read(space, 0, &mut bytes).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
    let range = IteratorRange::read_from_bytes(&bytes).map_err(|_| Status::INVALID_FIELD)?;
    let parts = range.parts()?;
    Ok(Range { from: parts.from.to_vec(), to: parts.to.to_vec(), prefix: parts.prefix.to_vec() })
}

/// The place from which a key is the next one.
fn sought(key: &Key, backwards: bool) -> Position {
    let key = key.as_bytes().to_vec();
    if backwards { Position::Behind(key) } else { Position::Before(key) }
}

/// Where the engine begins: from the place, but within the range.
fn begin(place: &Position, range: &Range, backwards: bool) -> Bound<Vec<u8>> {
    if backwards { end_before(place, range) } else { begin_behind(place, range) }
}

fn begin_behind(place: &Position, range: &Range) -> Bound<Vec<u8>> {
    let first = || match range.first() {
        [] => Bound::Unbounded,
        first => Bound::Included(first.to_vec()),
    };
    match place {
        Position::Before(key) if range.begins_at(key) => Bound::Included(key.clone()),
        Position::Behind(key) if range.begins_at(key) => Bound::Excluded(key.clone()),
        Position::Begin | Position::Before(_) | Position::Behind(_) => first(),
    }
}

fn end_before(place: &Position, range: &Range) -> Bound<Vec<u8>> {
    match place {
        // Nothing is before the range: the scan ends where it begins.
        Position::Begin if range.first().is_empty() => Bound::Excluded(vec![0]),
        Position::Begin => Bound::Excluded(range.first().to_vec()),
        Position::Before(key) if range.ends_behind(key) => Bound::Excluded(key.clone()),
        Position::Behind(key) if range.ends_behind(key) => Bound::Included(key.clone()),
        Position::Before(_) | Position::Behind(_) => range.end().map_or(Bound::Unbounded, Bound::Excluded),
    }
}
