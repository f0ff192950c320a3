// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A history of mixed commands, many in flight, in virtual time, event by event, against the cells.

use crate::stress::cells::{self, Cell, KEYS, LBAS, content, key};
use crate::stress::rig::{BLOCK, BLOCK_BYTES, DEPTH, KV, Machine, Rig};
use saker_host::RawData;
use saker_link::Sqe;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::nvm::{self, BlockRange, CopyCommand, CopyRange, DsmRange};
use saker_nvme::{Key, NSID_ALL, Status};
use saker_sim::{Digest, Instant, Rng, Seed};
use saker_world::Clocked;
use std::collections::BTreeMap;
use std::ops::Range;
use zerocopy::IntoBytes;

/// A command on its way: what it does to the model when it completes.
#[derive(Clone, Debug)]
enum Pending {
    /// The cells' last versions; durable at completion if the flag is set (FUA).
    Write(Range<usize>, bool),
    /// The cells that a Copy reads, and those that it writes.
    Copy(Range<usize>, Range<usize>),
    /// The cells, and the versions that were acknowledged when it was submitted.
    Read(Range<usize>, Vec<usize>),
    /// Cells and versions that were acknowledged when it was submitted.
    Flush(Vec<(usize, usize)>),
}

/// What is asked of a history.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub operations: u32,
    /// Whether reads and writes may fail with Unrecovered Error.
    pub faults: bool,
    /// Whether blocks are copied, and made zeros, by commands of their own too.
    pub block_commands: bool,
}

/// Driver and model.
pub struct History {
    plan: Plan,
    rng: Rng,
    left: u32,
    pending: BTreeMap<(u32, u16), Pending>,
    pub cells: Vec<Cell>,
    /// Completions in their order, with their times.
    pub order: Digest,
    pub completed: u32,
    pub unreadable: u32,
    pub refused: u32,
    /// Writes that ended since something could not be read that they need: a hash FTL's table.
    pub blind: u32,
    /// Flushes and forced writes that could not be made durable, and said so.
    pub undurable: u32,
    pub violations: Vec<String>,
}

impl History {
    pub fn new(plan: Plan) -> Self {
        let rng = Seed(plan.seed).child("history").rng();
        Self {
            rng,
            left: plan.operations,
            pending: BTreeMap::new(),
            cells: cells::all(),
            order: Digest::default(),
            completed: 0,
            unreadable: 0,
            refused: 0,
            blind: 0,
            undurable: 0,
            violations: Vec::new(),
            plan,
        }
    }

    /// Runs to the end. `each` is called after every event, with what completed by then in the model.
    pub fn run(&mut self, rig: &mut Rig<Clocked>, mut each: impl FnMut(&Self, &Rig<Clocked>) -> bool) {
        loop {
            self.submit(rig);
            let now = rig.machine.0.now();
            if rig.machine.0.next_deadline().is_none_or(|at| at > now) {
                rig.machine.0.advance(now);
            }
            let Some(at) = rig.machine.0.next_deadline() else {
                assert!(self.pending.is_empty(), "lost commands: {:?}", self.pending);
                return;
            };
            rig.machine.0.step(at);
            rig.count_event();
            self.reap(rig, at);
            if !each(self, rig) {
                return;
            }
        }
    }

    fn submit(&mut self, rig: &mut Rig<Clocked>) {
        let mut any = [false; 2];
        while self.left > 0 && self.pending.len() < usize::from(DEPTH) {
            self.left -= 1;
            let nsid = if self.rng.below(2) == 0 { KV } else { BLOCK };
            let chosen = if nsid == KV { self.kv_operation() } else { self.block_operation() };
            let Some((sqe, pending, data)) = chosen else { continue };
            let data = match (&pending, data.is_empty()) {
                (Pending::Read(range, _), _) if nsid == BLOCK => {
                    RawData::FromDevice(range.len() as u32 * BLOCK_BYTES)
                }
                (Pending::Read(..), _) => RawData::FromDevice(4096),
                (_, false) => RawData::ToDevice(&data),
                (_, true) => RawData::Untouched,
            };
            let ticket = rig.queue(nsid).raw(sqe, data).expect("the queue has room");
            self.pending.insert((nsid, ticket.slot()), pending);
            any[nsid as usize - 1] = true;
        }
        for nsid in [KV, BLOCK] {
            if any[nsid as usize - 1] {
                rig.queue(nsid).ring();
            }
        }
    }

    fn kv_operation(&mut self) -> Option<(Sqe, Pending, Vec<u8>)> {
        // A few keys are written most of the time, so that collections find segments with dead pairs.
        let hot = self.rng.below(3) > 0;
        let cell = self.rng.below(if hot { 10 } else { KEYS as u64 }) as usize;
        let name = Key::new(&key(cell)).expect("1 to 16 bytes");
        match self.rng.below(100) {
            0..60 => {
                let bytes_max = if self.rng.below(20) == 0 { 3900 } else { 900 };
                let bytes = self.rng.below(bytes_max) as usize;
                let value = content(self.plan.seed, cell, self.cells[cell].versions.len(), bytes);
                let sqe = kv::store(KV, &name, bytes as u32, StoreOptions::NONE);
                self.write(cell..cell + 1, |_| Some(value.clone())).map(|p| (sqe, p, value))
            }
            60..75 => self.write(cell..cell + 1, |_| None).map(|p| (kv::delete(KV, &name), p, Vec::new())),
            75..95 => Some((kv::retrieve(KV, &name, 4096), self.read(cell..cell + 1), Vec::new())),
            _ => Some((kv::flush(KV), self.flush(0..KEYS), Vec::new())),
        }
    }

    /// A Copy of as many blocks as the cells are, from somewhere else; `None` if a write is on its way in either. No
    /// write of the sources begins before it has ended.
    fn copy(&mut self, cells: &Range<usize>) -> Option<(Sqe, Pending, Vec<u8>)> {
        let first = KEYS + (cells.start - KEYS + LBAS / 2) % (LBAS - cells.len());
        let sources = first..first + cells.len();
        let overlaps = sources.start < cells.end && cells.start < sources.end;
        if overlaps || sources.clone().any(|c| self.cells[c].busy) {
            return None;
        }
        let content = |c: usize| self.cells[c].versions.last().cloned().flatten();
        let contents: Vec<_> = sources.clone().map(content).collect();
        let Pending::Write(to, _) = self.write(cells.clone(), |c| contents[c - cells.start].clone())? else {
            unreachable!()
        };
        sources.clone().for_each(|c| self.cells[c].busy = true);
        let source = BlockRange { slba: (first - KEYS) as u64, blocks: cells.len() as u32 };
        let command =
            CopyCommand { to: (cells.start - KEYS) as u64, ranges: 1, format: 0, force_unit_access: false };
        let sqe = nvm::copy(BLOCK, command).expect("one range");
        let data = CopyRange::new(source).expect("a few blocks").as_bytes().to_vec();
        Some((sqe, Pending::Copy(sources, to), data))
    }

    fn block_operation(&mut self) -> Option<(Sqe, Pending, Vec<u8>)> {
        let hot = self.rng.below(3) > 0;
        let (first, blocks) = (self.rng.below(if hot { 12 } else { LBAS as u64 - 3 }), 1 + self.rng.below(4));
        let cells = KEYS + first as usize..KEYS + (first + blocks) as usize;
        let range = BlockRange { slba: first, blocks: blocks as u32 };
        match self.rng.below(100) {
            0..60 if self.plan.block_commands && self.left.is_multiple_of(5) => self.copy(&cells),
            0..60 => {
                let forced = self.rng.below(10) == 0;
                let versions: Vec<_> = cells.clone().map(|c| self.cells[c].versions.len()).collect();
                let from = cells.start;
                let block = |c: usize| content(self.plan.seed, c, versions[c - from], BLOCK_BYTES as usize);
                let contents: Vec<_> = cells.clone().map(block).collect();
                let sqe = nvm::write(BLOCK, range, forced).expect("a few blocks");
                let pending = self.write(cells, |c| Some(contents[c - from].clone()))?;
                let Pending::Write(cells, _) = pending else { unreachable!() };
                Some((sqe, Pending::Write(cells, forced), contents.concat()))
            }
            60..70 if self.plan.block_commands => {
                let forced = self.left.is_multiple_of(4);
                let sqe = nvm::write_zeroes(BLOCK, range, forced, true).expect("a few blocks");
                let Pending::Write(cells, _) = self.write(cells, |_| None)? else { unreachable!() };
                Some((sqe, Pending::Write(cells, forced), Vec::new()))
            }
            60..70 => {
                let sqe = nvm::deallocate(BLOCK, 1).expect("one range");
                let pending = self.write(cells, |_| None)?;
                Some((sqe, pending, DsmRange::new(first, blocks as u32).as_bytes().to_vec()))
            }
            70..94 => {
                Some((nvm::read(BLOCK, range, false).expect("a few blocks"), self.read(cells), Vec::new()))
            }
            94..96 => Some((nvm::flush(NSID_ALL), self.flush(0..KEYS + LBAS), Vec::new())),
            _ => Some((nvm::flush(BLOCK), self.flush(KEYS..KEYS + LBAS), Vec::new())),
        }
    }

    /// At most one write of a cell is on its way; `None` if there is one.
    fn write(
        &mut self,
        cells: Range<usize>,
        mut content: impl FnMut(usize) -> Option<Vec<u8>>,
    ) -> Option<Pending> {
        if cells.clone().any(|c| self.cells[c].busy) {
            return None;
        }
        for c in cells.clone() {
            self.cells[c].busy = true;
            self.cells[c].versions.push(content(c));
        }
        Some(Pending::Write(cells, false))
    }

    fn read(&mut self, cells: Range<usize>) -> Pending {
        let floors = cells.clone().map(|c| self.cells[c].acked).collect();
        Pending::Read(cells, floors)
    }

    fn flush(&mut self, cells: Range<usize>) -> Pending {
        Pending::Flush(cells.map(|c| (c, self.cells[c].acked)).collect())
    }

    fn reap(&mut self, rig: &mut Rig<Clocked>, at: Instant) {
        for nsid in [KV, BLOCK] {
            loop {
                let done = rig.queue(nsid).poll(|d| (d.ticket.slot(), d.status, d.result, d.data().to_vec()));
                let Some(done) = done else { break };
                let (slot, status, size, data) = done.expect("an answer to a command on its way");
                [
                    u64::from(nsid),
                    u64::from(slot),
                    at.as_nanos(),
                    u64::from(status.shifted()),
                    u64::from(size),
                ]
                .iter()
                .for_each(|n| self.order.number(*n));
                self.order.bytes(&data);
                let pending = self.pending.remove(&(nsid, slot)).expect("on its way");
                self.completed += 1;
                self.complete(nsid, pending, status, size, &data);
            }
        }
    }

    fn complete(&mut self, nsid: u32, pending: Pending, status: Status, size: u32, data: &[u8]) {
        match pending {
            Pending::Write(cells, forced) => self.written(cells, forced, status),
            Pending::Copy(sources, cells) => {
                sources.for_each(|c| self.cells[c].busy = false);
                self.written(cells, false, status);
            }
            Pending::Flush(covered) => {
                self.expect_durable("Flush", status);
                for (c, version) in covered.into_iter().filter(|_| status.is_success()) {
                    self.cells[c].durable = self.cells[c].durable.max(version);
                }
            }
            Pending::Read(cells, floors) if nsid == KV => {
                let found = match status {
                    s if s.is_success() => Some(&data[..(size as usize).min(data.len())]),
                    s if s.is(Status::KEY_DOES_NOT_EXIST) => None,
                    s => return self.unreadable(Status::UNRECOVERED_ERROR, s),
                };
                self.judge(cells.start, floors[0], found);
            }
            Pending::Read(cells, floors) => {
                if !status.is_success() {
                    return self.unreadable(Status::UNRECOVERED_READ_ERROR, status);
                }
                for ((c, floor), block) in cells.zip(floors).zip(data.chunks(BLOCK_BYTES as usize)) {
                    self.judge(c, floor, found_block(block));
                }
            }
        }
    }

    fn written(&mut self, cells: Range<usize>, forced: bool, status: Status) {
        let kept = status.is_success();
        if !kept && self.plan.faults && status.is(Status::CAPACITY_EXCEEDED) {
            self.refused += 1;
        } else if !kept && self.plan.faults && status.is(Status::UNRECOVERED_ERROR) {
            self.blind += 1;
        } else if forced {
            self.expect_durable("a forced write", status);
        } else {
            self.expect_success("a write", status);
        }
        let visible = kept || (forced && status.is(Status::INTERNAL_ERROR));
        for c in cells {
            let cell = &mut self.cells[c];
            cell.busy = false;
            if visible && !kept {
                // Written, but not yet durable: it may be seen, and may vanish.
                continue;
            }
            if !visible {
                cell.versions.pop();
                continue;
            }
            cell.acked = cell.last();
            if forced {
                cell.durable = cell.acked;
            }
        }
    }

    fn unreadable(&mut self, expected: Status, status: Status) {
        if self.plan.faults && status.is(expected) {
            self.unreadable += 1;
        } else {
            self.expect_success("a read", status);
        }
    }

    /// After failed programs a device without a capacitor may be unable to make its cache durable.
    fn expect_durable(&mut self, what: &str, status: Status) {
        if self.plan.faults && status.is(Status::INTERNAL_ERROR) {
            self.undurable += 1;
        } else {
            self.expect_success(what, status);
        }
    }

    fn expect_success(&mut self, what: &str, status: Status) {
        if !status.is_success() {
            self.violations.push(format!("{what} ended with {status}"));
        }
    }

    fn judge(&mut self, cell: usize, floor: usize, found: Option<&[u8]>) {
        if let Err(why) = self.cells[cell].judge(floor, found) {
            self.violations.push(format!("cell {cell} was read: {why}"));
        }
    }
}

/// Zeros are what a block reads as that holds nothing; no content of a cell is all zeros.
pub fn found_block(block: &[u8]) -> Option<&[u8]> {
    block.iter().any(|b| *b != 0).then_some(block)
}

/// Reads every cell through the host. An error is a read that failed, with its status.
pub fn read_all(rig: &mut Rig<Clocked>) -> Vec<Result<Option<Vec<u8>>, Status>> {
    let mut found = Vec::new();
    for cell in 0..KEYS {
        let sqe = kv::retrieve(KV, &Key::new(&key(cell)).expect("1 to 16 bytes"), 4096);
        let a = rig.call(KV, sqe, RawData::FromDevice(4096));
        found.push(match a.status {
            s if s.is_success() => Ok(Some(a.data[..a.dw0 as usize].to_vec())),
            s if s.is(Status::KEY_DOES_NOT_EXIST) => Ok(None),
            s => Err(s),
        });
    }
    for first in (0..LBAS as u64).step_by(8) {
        let sqe = nvm::read(BLOCK, BlockRange { slba: first, blocks: 8 }, false).expect("8 blocks");
        let a = rig.call(BLOCK, sqe, RawData::FromDevice(8 * BLOCK_BYTES));
        let read = |n: usize| {
            let block = a.data.get(n * BLOCK_BYTES as usize..(n + 1) * BLOCK_BYTES as usize);
            if a.status.is_success() {
                Ok(found_block(block.expect("8 blocks")).map(<[u8]>::to_vec))
            } else {
                Err(a.status)
            }
        };
        found.extend((0..8).map(read));
    }
    found
}

/// The keys that List returns, in its order.
pub fn list_all<D: Machine>(rig: &mut Rig<D>) -> Vec<Vec<u8>> {
    let a = rig.call(KV, kv::list(KV, None, 4096), RawData::FromDevice(4096));
    assert!(a.status.is_success(), "{}", a.status);
    let keys = saker_nvme::kv_list::ListReader::new(&a.data).expect("a list");
    keys.map(|k| k.expect("a key").as_bytes().to_vec()).collect()
}
