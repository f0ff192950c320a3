// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators: a view of both trees, a range, and where it stands. Views are shared by iterators that were opened beside each other.

use super::Served;
use super::io::{Flight, Pieces, Then, status_of};
use super::wanted::{Place, Wanted};
use crate::main_tree::MainTree;
use saker_engine::KvError;
use saker_host::Driver;
use saker_host::host_kv::{Answer, Op, Outcome};
use saker_link::{gather, prp_pieces, scatter};
use saker_nvme::group::{COUNT_BYTES, Op as GroupOp, PairList, entry_bytes, pairs_of};
use saker_nvme::vendor_specific::{IteratorCommand, IteratorRange, NextAnswer};
use saker_nvme::{Sqe, Status};
use std::collections::BTreeMap;
use zerocopy::FromBytes;

/// Most iterators of a queue, and with those that were opened beside others.
const PER_QUEUE_MAX: usize = 16;
/// Pairs that the store is asked for at once unless the host says how many.
const PAIRS: u32 = 64;

/// What was asked of the store for a Next.
#[derive(Debug)]
pub(super) struct Asked {
    number: u32,
    backwards: bool,
    entries: u32,
    room: u32,
    pieces: Pieces,
}

#[derive(Debug)]
struct Range {
    queue: usize,
    view: u32,
    wanted: Wanted,
    place: Place,
}

/// All iterators.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    open: BTreeMap<u32, Range>,
    last: u32,
}

impl<T: Driver, M: MainTree> Served<T, M> {
    pub(super) fn begin_range(&mut self, queue: usize, sqe: &Sqe) -> Result<(), Status> {
        match IteratorCommand::decode(sqe)? {
            IteratorCommand::Open { keys_only, beside } => self.open_range(queue, sqe, keys_only, beside),
            IteratorCommand::Next { iterator, buffer_bytes, pairs_max, backwards, seek } => {
                let range = self.range(queue, iterator)?;
                if let Some(key) = seek {
                    let key = key.as_bytes().to_vec();
                    range.place = if backwards { Place::Behind(key) } else { Place::Before(key) };
                }
                let (view, from) = (range.view, range.wanted.next(&range.place, backwards));
                let pieces = prp_pieces(sqe, buffer_bytes, self.front.space())?;
                let entries = if pairs_max > 0 { pairs_max } else { PAIRS };
                let asked = Asked { number: iterator, backwards, entries, room: buffer_bytes, pieces };
                let Some(from) = from else {
                    self.front.complete(queue, sqe, Status::SUCCESS, answer(0, true, 0));
                    return Ok(());
                };
                let flight = Flight { queue, sqe: *sqe, then: Then::Pairs(asked) };
                self.submit(flight, Op::Scan { from, backwards, entries, snapshot: Some(view) });
                Ok(())
            }
            IteratorCommand::Piece { .. } => Err(Status::INVALID_FIELD),
            IteratorCommand::Close { iterator } => {
                self.range(queue, iterator)?;
                self.close_range(iterator);
                self.front.complete(queue, sqe, Status::SUCCESS, 0);
                Ok(())
            }
        }
    }

    fn range(&mut self, queue: usize, number: u32) -> Result<&mut Range, Status> {
        let range = self.ranges.open.get_mut(&number).filter(|range| range.queue == queue);
        range.ok_or(Status::KEY_DOES_NOT_EXIST)
    }

    fn open_range(
        &mut self,
        queue: usize,
        sqe: &Sqe,
        keys_only: bool,
        beside: Option<u32>,
    ) -> Result<(), Status> {
        let most = if beside.is_some() { 2 * PER_QUEUE_MAX } else { PER_QUEUE_MAX };
        if self.ranges.open.values().filter(|range| range.queue == queue).count() >= most {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        let pieces = prp_pieces(sqe, IteratorRange::BYTES, self.front.space())?;
        let told = gather(&pieces, self.front.space())?;
        let told = IteratorRange::read_from_bytes(&told).map_err(|_| Status::INVALID_FIELD)?;
        let parts = told.parts()?;
        let (from, to, prefix) = (parts.from.to_vec(), parts.to.to_vec(), parts.prefix.to_vec());
        let wanted = Wanted { from, to, prefix, keys_only };
        if let Some(number) = beside {
            let view = self.range(queue, number)?.view;
            let number = self.add_range(queue, view, wanted);
            self.front.complete(queue, sqe, Status::SUCCESS, number.into());
            return Ok(());
        }
        self.submit(Flight { queue, sqe: *sqe, then: Then::Opened(wanted) }, Op::Snapshot);
        Ok(())
    }

    fn add_range(&mut self, queue: usize, view: u32, wanted: Wanted) -> u32 {
        self.ranges.last = self.ranges.last.wrapping_add(1).max(1);
        self.ranges.open.insert(self.ranges.last, Range { queue, view, wanted, place: Place::Begin });
        self.ranges.last
    }

    pub(super) fn opened(&mut self, queue: usize, wanted: Wanted, outcome: Outcome) -> Result<u64, Status> {
        match outcome.map_err(status_of)? {
            Answer::Snapshot(view) => Ok(self.add_range(queue, view, wanted).into()),
            _ => Err(Status::INTERNAL_ERROR),
        }
    }

    /// An iterator is over; its view too if no other one has it.
    fn close_range(&mut self, number: u32) {
        let Some(range) = self.ranges.open.remove(&number) else { return };
        if self.ranges.open.values().all(|other| other.view != range.view) {
            let flight = Flight { queue: range.queue, sqe: Sqe::new(0, 0), then: Then::Nobody };
            self.submit(flight, Op::Release(range.view));
        }
    }

    /// The iterators of a queue are over; `None`: of all.
    pub(super) fn end_ranges(&mut self, queue: Option<usize>) {
        let ends = |range: &Range| queue.is_none_or(|queue| range.queue == queue);
        let numbers: Vec<u32> =
            self.ranges.open.iter().filter(|(_, range)| ends(range)).map(|(n, _)| *n).collect();
        numbers.into_iter().for_each(|number| self.close_range(number));
    }

    pub(super) fn told_pairs(&mut self, queue: usize, asked: Asked, outcome: Outcome) -> Result<u64, Status> {
        let payload = match outcome {
            Ok(Answer::Pairs(payload)) => payload,
            // The device has ended the view.
            Ok(Answer::NoSnapshot) | Err(KvError::NotFound) => {
                self.close_range(asked.number);
                return Err(Status::KEY_DOES_NOT_EXIST);
            }
            Ok(_) => return Err(Status::INTERNAL_ERROR),
            Err(why) => return Err(status_of(why)),
        };
        let range = self.range(queue, asked.number)?;
        let (mut list, mut bytes, mut needed) = (PairList::default(), COUNT_BYTES, 0);
        let pairs = pairs_of(&payload);
        let mut is_over = pairs.len() < asked.entries as usize;
        for (key, value) in pairs {
            if !range.wanted.contains(key) {
                is_over = true;
                break;
            }
            let value = if range.wanted.keys_only { &[] } else { value };
            bytes += entry_bytes(GroupOp::Store, key.len(), value.len());
            if bytes > asked.room as usize {
                is_over = false;
                needed = if list.is_empty() { bytes as u32 } else { 0 };
                break;
            }
            list.push(key, value);
            range.place = match asked.backwards {
                true => Place::Before(key.to_vec()),
                false => Place::Behind(key.to_vec()),
            };
        }
        let payload = list.finish();
        scatter(&asked.pieces, self.front.space(), &payload)?;
        Ok(answer(payload.len() as u32, is_over, needed))
    }
}

/// DW0 and DW1 of Next.
fn answer(bytes: u32, is_over: bool, needed: u32) -> u64 {
    let told = NextAnswer::default().with_ended(is_over).with_bytes_needed(needed);
    u64::from(bytes) | u64::from(told.0) << 32
}
