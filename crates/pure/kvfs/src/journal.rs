// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records of operations: a checkpoint at the beginning of an area, and what was done since behind it.
//!
//! A record begins a block. Its head, little-endian: `SKJR` or `SKJP`, CRC-32C of all behind it 4, identity of the file system 8, generation of
//! its checkpoint 8, its number in that 8, bytes of its operations 4. The operations follow. Record 0 is the checkpoint.
//!
//! A record `SKJR` is written only when all before it is durable, what it says of files too, so of these records only the last one can be
//! torn. A checkpoint of the next generation is written to the other area, so that the one before stays whole until it is.
//!
//! A passing record, `SKJP`, is for those who outlive the program and not for power cuts: nothing is flushed before it or behind it. The
//! last one grows in its place while its operations fit into its block, which then begins with the same operations. The one behind it says
//! what it had become ([`Op::Behind`]), for a cut may leave it as it was before. A cut may leave any of
//! them, and of their files' bytes any blocks. So a replay carries out those behind the last `SKJR` one operation after the other, and ends
//! at the first [`Op::Grow`] whose bytes are not on the device. Those before an `SKJR` are as durable as it is: their bytes are not looked
//! at, for they may have made room since.
//!
//! Behind the end of a replay there may be passing records that a cut has left without their predecessors. No record may go before them,
//! so the first one after a replay is a checkpoint.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of devices"
    )
)]

use crate::disk::{Disk, DiskError};
use crate::error::{FsError, damaged};
use crate::layout::{Layout, VERSION_WITHOUT_FOLLOW, VERSION_WITHOUT_PASSING};
use crate::op::Op;
use crate::passing;
use crate::tree::Tree;

const MAGIC: &[u8; 4] = b"SKJR";
const MAGIC_PASSING: &[u8; 4] = b"SKJP";
/// Bytes of a record's head.
pub const HEAD_BYTES: usize = 36;

/// Where the next record goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    layout: Layout,
    area: u8,
    generation: u64,
    /// The number of the next record.
    number: u64,
    /// Its block in the area.
    at: u64,
    /// Whether it was replayed, and no record written since.
    is_replayed: bool,
    /// Whether trailers said more than it did.
    is_lengthened: bool,
    /// Operations of the last record, if it is a passing one; it lies right before `at`.
    passing: Option<Vec<u8>>,
}

/// A record that was read.
struct Record {
    is_passing: bool,
    generation: u64,
    number: u64,
    blocks: u64,
    operations: Vec<u8>,
}

impl Journal {
    /// Makes a checkpoint of nothing in the first area.
    ///
    /// # Errors
    /// The device's.
    pub fn format(disk: &mut impl Disk, layout: Layout) -> Result<Self, DiskError> {
        let mut journal = Self::begin(layout, 1, 0);
        journal.checkpoint(disk, &[])?;
        Ok(journal)
    }

    fn begin(layout: Layout, area: u8, generation: u64) -> Self {
        Self {
            layout,
            area,
            generation,
            number: 0,
            at: 0,
            is_replayed: false,
            is_lengthened: false,
            passing: None,
        }
    }

    /// Whether passing records follow the last `SKJR`.
    pub fn has_passing(&self) -> bool {
        self.passing.is_some()
    }

    /// Whether the replay has taken something from trailers, which the journal does not say yet: until it does, they must stay.
    pub fn is_lengthened(&self) -> bool {
        self.is_lengthened
    }

    /// Which checkpoint it goes on from.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Records behind the checkpoint.
    pub fn records(&self) -> u64 {
        self.number - 1
    }

    /// Blocks that a record takes.
    pub fn blocks_of(layout: &Layout, bytes: usize) -> u64 {
        ((HEAD_BYTES + bytes) as u64).div_ceil(u64::from(layout.block_bytes))
    }

    /// Whether the area takes a record.
    pub fn has_room(&self, bytes: usize) -> bool {
        !self.is_replayed && self.at + Self::blocks_of(&self.layout, bytes) <= self.layout.area_blocks
    }

    /// Writes a record of operations, and returns when it is durable. All that was written before must be.
    ///
    /// # Errors
    /// The device's: whether the record counts is not known then.
    pub fn append(&mut self, disk: &mut impl Disk, operations: &[u8]) -> Result<(), DiskError> {
        assert!(self.has_room(operations.len()), "whoever appends has asked for room");
        let record = self.encode(MAGIC, self.number, operations);
        disk.write(self.layout.area(self.area) + self.at, &record)?;
        disk.flush()?;
        self.at += Self::blocks_of(&self.layout, operations.len());
        self.number += 1;
        self.passing = None;
        Ok(())
    }

    /// Operations go to the device in a passing record; the last one grows if it can. `false`: the area does not take them.
    ///
    /// # Errors
    /// The device's: nothing is lost, and the same can be tried again.
    pub fn pass(&mut self, disk: &mut impl Disk, operations: &[u8]) -> Result<bool, DiskError> {
        let one_block = |bytes: usize| Self::blocks_of(&self.layout, bytes) == 1;
        let grows = self.passing.take_if(|last| one_block(last.len() + operations.len()));
        if let Some(mut all) = grows {
            let before = all.len();
            all.extend_from_slice(operations);
            let record = self.encode(MAGIC_PASSING, self.number - 1, &all);
            let done = disk.write(self.layout.area(self.area) + self.at - 1, &record);
            if done.is_err() {
                all.truncate(before);
            }
            self.passing = Some(all);
            return done.map(|()| true);
        }
        let mut all = Vec::with_capacity(self.layout.block_bytes as usize);
        if let Some(last) = self.passing.as_ref().filter(|_| self.layout.version > VERSION_WITHOUT_FOLLOW) {
            Op::Behind { crc: crc_fast::crc32_iscsi(last) }.encode(&mut all);
        }
        all.extend_from_slice(operations);
        if self.layout.version == VERSION_WITHOUT_PASSING || !self.has_room(all.len()) {
            return Ok(false);
        }
        let record = self.encode(MAGIC_PASSING, self.number, &all);
        disk.write(self.layout.area(self.area) + self.at, &record)?;
        self.at += Self::blocks_of(&self.layout, all.len());
        self.number += 1;
        self.passing = Some(all);
        Ok(true)
    }

    /// Begins the other area with all that is, and returns when that is durable.
    ///
    /// # Errors
    /// The device's: which of both areas counts is not known then.
    pub fn checkpoint(&mut self, disk: &mut impl Disk, operations: &[u8]) -> Result<(), DiskError> {
        (self.area, self.generation) = (1 - self.area, self.generation + 1);
        (self.number, self.at, self.is_replayed) = (0, 0, false);
        self.is_lengthened = false;
        self.append(disk, operations)
    }

    fn encode(&self, magic: &[u8; 4], number: u64, operations: &[u8]) -> Vec<u8> {
        let bytes = Self::blocks_of(&self.layout, operations.len()) * u64::from(self.layout.block_bytes);
        let mut record = Vec::with_capacity(bytes as usize);
        record.extend_from_slice(magic);
        record.extend_from_slice(&[0; 4]);
        let numbers = [self.layout.identity, self.generation, number];
        numbers.iter().for_each(|n| record.extend_from_slice(&n.to_le_bytes()));
        record.extend_from_slice(&(operations.len() as u32).to_le_bytes());
        record.extend_from_slice(operations);
        let crc = crc_fast::crc32_iscsi(record.get(8..).unwrap_or_default());
        if let Some(field) = record.get_mut(4..8) {
            field.copy_from_slice(&crc.to_le_bytes());
        }
        record.resize(bytes as usize, 0);
        record
    }

    /// Reads the checkpoint that counts and the records behind it.
    ///
    /// # Errors
    /// The device's, or what contradicts itself.
    pub fn replay(disk: &mut impl Disk, layout: Layout) -> Result<(Self, Tree), FsError> {
        let newest = newest_checkpoint(disk, &layout)?;
        let (area, checkpoint) = newest.ok_or_else(|| FsError::Damaged("no checkpoint is whole".into()))?;
        let mut tree = Tree::new(layout.block_bytes);
        let generation = checkpoint.generation;
        if generation == u64::MAX {
            return Err(FsError::Damaged("the journal has no next generation".into()));
        }
        let mut journal = Self { is_replayed: true, ..Self::begin(layout, area, generation) };
        let (mut next, mut passing) = (Some(checkpoint), Vec::new());
        while let Some(record) = next.filter(|r| (r.generation, r.number) == (generation, journal.number)) {
            (journal.number, journal.at) = (journal.number + 1, journal.at + record.blocks);
            let is_passing = record.is_passing;
            passing.push(record);
            if !is_passing {
                passing.drain(..).try_for_each(|record| apply_all(&mut tree, &record))?;
            }
            next = read_record(disk, &layout, area, journal.at)?;
        }
        let passing = passing.iter().map(|record| (record.number, record.operations.as_slice()));
        journal.is_lengthened = passing::apply(disk, &layout, &mut tree, passing)?;
        Ok((journal, tree))
    }
}

/// The checkpoint with the highest generation of those that are whole, and its area.
fn newest_checkpoint(disk: &mut impl Disk, layout: &Layout) -> Result<Option<(u8, Record)>, FsError> {
    let mut newest: Option<(u8, Record)> = None;
    for area in 0..2 {
        let found = read_record(disk, layout, area, 0)?;
        let found = found.filter(|record| record.number == 0 && !record.is_passing);
        let Some(record) = found else { continue };
        if newest.as_ref().is_none_or(|(_, other)| other.generation < record.generation) {
            newest = Some((area, record));
        }
    }
    Ok(newest)
}

fn apply_all(tree: &mut Tree, record: &Record) -> Result<(), FsError> {
    let mut rest = record.operations.as_slice();
    while !rest.is_empty() {
        let op = Op::decode(&mut rest).ok_or("it is not an operation");
        let at = record.operations.len() - rest.len();
        op.and_then(|op| tree.apply(&op)).map_err(|why| damaged(record.number, at, why))?;
    }
    Ok(())
}

/// The record that begins at a block of an area. `Ok(None)`: none does that is whole and of this file system.
fn read_record(disk: &mut impl Disk, layout: &Layout, area: u8, at: u64) -> Result<Option<Record>, FsError> {
    if at >= layout.area_blocks {
        return Ok(None);
    }
    let first = layout.area(area) + at;
    let mut record = vec![0; layout.block_bytes as usize];
    disk.read(first, &mut record)?;
    let Some(head) = record.first_chunk::<HEAD_BYTES>().copied() else { return Ok(None) };
    let (Some(crc), Some(bytes)) = (word(&head, 4), word(&head, 32)) else { return Ok(None) };
    let blocks = Journal::blocks_of(layout, bytes as usize);
    let is_passing = head.starts_with(MAGIC_PASSING) && layout.version > VERSION_WITHOUT_PASSING;
    if !(is_passing || head.starts_with(MAGIC))
        || number(&head, 8) != Some(layout.identity)
        || blocks > layout.area_blocks - at
    {
        return Ok(None);
    }
    record.resize((blocks * u64::from(layout.block_bytes)) as usize, 0);
    if let Some(rest) = record.get_mut(layout.block_bytes as usize..).filter(|rest| !rest.is_empty()) {
        disk.read(first + 1, rest)?;
    }
    record.truncate(HEAD_BYTES + bytes as usize);
    if record.get(8..).map(crc_fast::crc32_iscsi) != Some(crc) {
        return Ok(None);
    }
    let (Some(generation), Some(number)) = (number(&head, 16), number(&head, 24)) else { return Ok(None) };
    let operations = record.split_off(HEAD_BYTES);
    Ok(Some(Record { is_passing, generation, number, blocks, operations }))
}

fn word(head: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?))
}

fn number(head: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?))
}
