// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any command, well-formed or not, against a model: the documented answer, and no effect but the documented one.

use crate::stress::history::list_all;
use crate::stress::memory::{Memory, Placement};
use crate::stress::oracle::{Limits, Op, judge, list_answer, set_key};
use crate::stress::rig::{self, BLOCK, BLOCK_BYTES, KV, Machine, Rig, blocks, value_bytes_max};
use crate::stress::tier;
use saker_assembly::Build;
use saker_host::RawData;
use saker_link::Sqe;
use saker_nvme::admin::feature::fid;
use saker_nvme::kv;
use saker_nvme::{Key, NSID_ALL, Status};
use saker_sim::{Rng, Seed};
use saker_world::{Clocked, Inline};
use std::collections::BTreeMap;

/// Device, model, and the dice.
struct Fuzz<D> {
    rig: Rig<D>,
    memory: Memory,
    rng: Rng,
    limits: Limits,
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    blocks: BTreeMap<u64, Vec<u8>>,
    ednek: bool,
    refused: u32,
    done: u32,
}

impl<D: Machine> Fuzz<D> {
    fn new(build: &Build, seed: u64) -> Self {
        let rig = Rig::<D>::new(build);
        let memory = Memory::new(&rig.connection.port().space);
        let limits = Limits { value_bytes: value_bytes_max(build), blocks: blocks(build) };
        Self {
            memory,
            rig,
            rng: Seed(seed).child("commands").rng(),
            limits,
            pairs: BTreeMap::new(),
            blocks: BTreeMap::new(),
            ednek: false,
            refused: 0,
            done: 0,
        }
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.below(choices.len() as u64) as usize]
    }

    fn rarely(&mut self) -> bool {
        self.rng.below(12) == 0
    }

    fn noise(&mut self) -> u32 {
        self.rng.next_u64() as u32
    }

    /// An entry in which every field is likely right, or random.
    fn entry(&mut self) -> Sqe {
        let nsid = match self.rng.below(20) {
            0 => self.one_of(&[0, 3, NSID_ALL, 1 << 31, 0x0100_0001]),
            1..13 => KV,
            _ => BLOCK,
        };
        let known: &[u8] = if nsid == BLOCK {
            &[1, 1, 1, 2, 2, 9, 0, 5, 8, 0x0C, 0x19, 0x19]
        } else {
            &[1, 1, 1, 2, 2, 6, 0x10, 0x14, 0]
        };
        let opcode = if self.rarely() { self.noise() as u8 } else { self.one_of(known) };
        let mut sqe = Sqe::new(opcode, nsid);
        if self.rarely() {
            sqe.flags = self.noise() as u8;
        }
        // Fields that mean nothing here may hold anything.
        sqe.mptr.set(self.rng.next_u64());
        sqe.cdw13.set(self.noise());
        if nsid == BLOCK {
            self.block_fields(&mut sqe)
        } else {
            self.kv_fields(&mut sqe)
        }
        sqe
    }

    fn kv_fields(&mut self, sqe: &mut Sqe) {
        let max = self.limits.value_bytes;
        let usual = self.rng.below(900) as u32;
        let sizes = [0, 1, 3, 4, 5, 4095, 4096, 4097, 8192, 9001, max, max + 1, (4 << 20) + 1, u32::MAX];
        let size = if self.rng.below(4) == 0 { self.one_of(&sizes) } else { usual };
        // Retrieve and List of up to 4 MiB would need as much memory here.
        let size = if size > 4 << 20 || sqe.opcode == 1 { size } else { size.min(20_000) };
        sqe.cdw10.set(size);
        sqe.cdw12.set(self.noise());
        let options = if self.rng.below(3) == 0 { self.noise() } else { 0 };
        sqe.cdw11.set(options << 8);
        let (length, n) = (1 + self.rng.below(16) as u8, self.rng.below(3) as u8);
        let length = if self.rarely() { self.one_of(&[0, 17, 18, 32, 255]) } else { length };
        let mut key = [n; 16];
        // What is beyond the key's length is not part of it.
        self.rng.fill(&mut key[usize::from(length).min(16)..]);
        set_key(sqe, &key, length);
    }

    fn block_fields(&mut self, sqe: &mut Sqe) {
        let far = self.one_of(&[self.limits.blocks - 1, self.limits.blocks, u64::MAX, u64::MAX - 3, 1 << 32]);
        let first = if self.rarely() { far } else { self.rng.below(40) };
        sqe.cdw10.set(first as u32);
        sqe.cdw11.set((first >> 32) as u32);
        let count = if self.rarely() { 0xFFFF } else { self.rng.below(12) as u32 };
        sqe.cdw12.set(self.noise() & 0xFFFF_0000 | count);
        if sqe.opcode == 0x19 && !self.rarely() {
            sqe.cdw12.set(self.noise() & 0xFFFF_0000 | self.rng.below(6) as u32);
        }
        if sqe.opcode == 9 {
            sqe.cdw10.set(self.noise() & !0xFF | self.rng.below(6) as u32);
            sqe.cdw11.set(self.noise());
        }
        (sqe.cdw2, sqe.cdw3) = (self.noise().into(), self.noise().into());
        (sqe.cdw14, sqe.cdw15) = (self.noise().into(), self.noise().into());
    }

    /// Sends one random entry and checks everything about its answer.
    fn command(&mut self) {
        let mut sqe = self.entry();
        let judged = judge(&sqe, self.limits);
        let bytes = judged.as_ref().map_or(64, Op::bytes);
        let place = self.memory.place(bytes, &mut self.rng);
        sqe.prp1.set(place.prp1);
        sqe.prp2.set(place.prp2);
        let before = self.memory.scramble(&mut self.rng);
        let op = match (judged, place.refused) {
            (Err(status), _) | (Ok(_), Some(status)) => return self.refuse(sqe, &before, status),
            (Ok(op), None) => op,
        };
        self.done += 1;
        match op {
            Op::Flush => self.expect(sqe, &before, Status::SUCCESS, 0),
            Op::Store { key, bytes, must_exist, must_not_exist } => {
                let exists = self.pairs.contains_key(&key);
                let status = match () {
                    () if must_exist && !exists => Status::KEY_DOES_NOT_EXIST,
                    () if must_not_exist && exists => Status::KEY_EXISTS,
                    () if place.reachable < bytes => Status::DATA_TRANSFER_ERROR,
                    () => Status::SUCCESS,
                };
                self.expect(sqe, &before, status, 0);
                if status.is_success() {
                    self.pairs.insert(key, place.gather(&before));
                }
            }
            Op::Retrieve { key, room } => self.retrieve(sqe, before, &place, &key, room),
            Op::List { from, room } => self.list(sqe, before, &place, &from, room),
            Op::Delete { key } => {
                let missing = self.pairs.remove(&key).is_none();
                let fails = missing && self.ednek;
                let status = if fails { Status::KEY_DOES_NOT_EXIST } else { Status::SUCCESS };
                self.expect(sqe, &before, status, 0);
            }
            Op::Exist { key } => {
                let exists = self.pairs.contains_key(&key);
                let status = if exists { Status::SUCCESS } else { Status::KEY_DOES_NOT_EXIST };
                self.expect(sqe, &before, status, 0);
            }
            Op::Write { first, .. } => {
                let whole = place.reachable == bytes;
                let status = if whole { Status::SUCCESS } else { Status::DATA_TRANSFER_ERROR };
                self.expect(sqe, &before, status, 0);
                // Blocks are written one by one: those before the first that cannot be fetched are.
                let data = place.gather(&before);
                let reached = data[..place.reachable as usize].chunks_exact(BLOCK_BYTES as usize);
                for (n, block) in reached.enumerate() {
                    self.blocks.insert(first + n as u64, block.to_vec());
                }
            }
            Op::Read { first, blocks } => self.read(sqe, before, &place, first, blocks),
            Op::Compare { first, blocks } => self.compare_blocks(sqe, before, &place, first, blocks),
            Op::Zero { first, blocks } => {
                self.expect(sqe, &before, Status::SUCCESS, 0);
                self.blocks.retain(|block, _| !(first..first + u64::from(blocks)).contains(block));
            }
            Op::Verify => self.expect(sqe, &before, Status::SUCCESS, 0),
            Op::Copy { to, count } => self.copy(sqe, &place, to, count),
            Op::Ranges { count, deallocate } => self.ranges(sqe, &place, count, deallocate),
        }
    }

    /// The entry is malformed: its status, and not the slightest change.
    fn refuse(&mut self, sqe: Sqe, before: &[u8], status: Status) {
        self.refused += 1;
        self.rig.machine.rest();
        let digest = self.rig.machine.digest();
        self.expect(sqe, before, status, 0);
        self.rig.machine.rest();
        assert_eq!(digest, self.rig.machine.digest(), "a refused command changed something: {sqe:?}");
    }

    /// Sends the entry; status and DW0 are these, and the host's memory stays as it is.
    fn expect(&mut self, sqe: Sqe, memory: &[u8], status: Status, dw0: u32) {
        let answer = self.rig.call(KV, sqe, RawData::Untouched);
        assert!(answer.status.is(status), "{} instead of {status} for {sqe:?}", answer.status);
        assert_eq!(answer.dw0, dw0, "DW0 of {sqe:?}");
        // What a failed transfer leaves is not defined.
        if !status.is(Status::DATA_TRANSFER_ERROR) {
            assert!(self.memory.image() == memory, "the host's memory after {sqe:?}");
        }
    }

    /// Sends an entry that returns `data`, if the pointers reach so far.
    fn deliver(&mut self, sqe: Sqe, mut before: Vec<u8>, place: &Placement, data: &[u8], dw0: u32) {
        if (place.reachable as usize) < data.len() {
            return self.expect(sqe, &before, Status::DATA_TRANSFER_ERROR, 0);
        }
        place.scatter(&mut before, data);
        self.expect(sqe, &before, Status::SUCCESS, dw0);
    }

    fn retrieve(&mut self, sqe: Sqe, before: Vec<u8>, place: &Placement, key: &[u8], room: u32) {
        let Some(value) = self.pairs.get(key).cloned() else {
            return self.expect(sqe, &before, Status::KEY_DOES_NOT_EXIST, 0);
        };
        let visible = value.len().min(room as usize);
        self.deliver(sqe, before, place, &value[..visible], value.len() as u32);
    }

    fn list(&mut self, sqe: Sqe, before: Vec<u8>, place: &Placement, from: &[u8], room: u32) {
        let all = list_all(&mut self.rig);
        let Some(start) = (if from.is_empty() { Some(0) } else { all.iter().position(|k| k == from) }) else {
            // Where a key would be that is not stored, only the device knows.
            let answer = self.rig.call(KV, sqe, RawData::Untouched);
            assert!(
                answer.status.is_success() || answer.status.is(Status::DATA_TRANSFER_ERROR),
                "{answer:?}"
            );
            return;
        };
        let answer = list_answer(all[start..].iter(), room as usize);
        self.deliver(sqe, before, place, &answer, 0);
    }

    fn read(&mut self, sqe: Sqe, before: Vec<u8>, place: &Placement, first: u64, blocks: u32) {
        let data = self.content(first, blocks);
        self.deliver(sqe, before, place, &data, 0);
    }

    fn content(&self, first: u64, blocks: u32) -> Vec<u8> {
        let zeros = vec![0; BLOCK_BYTES as usize];
        let block = |n| self.blocks.get(&n).unwrap_or(&zeros).clone();
        (first..first + u64::from(blocks)).flat_map(block).collect()
    }

    /// Compares with what is there, or with noise.
    fn compare_blocks(&mut self, sqe: Sqe, before: Vec<u8>, place: &Placement, first: u64, blocks: u32) {
        let ours = self.content(first, blocks);
        let equal = self.rng.below(2) == 0;
        if equal {
            self.memory.put(place, &ours);
        }
        let status = match () {
            () if place.reachable < blocks * BLOCK_BYTES => Status::DATA_TRANSFER_ERROR,
            () if equal => Status::SUCCESS,
            () => Status::COMPARE_FAILURE,
        };
        let before = if equal { self.memory.image() } else { before };
        self.expect(sqe, &before, status, 0);
    }

    fn copy(&mut self, sqe: Sqe, place: &Placement, to: u64, count: u32) {
        let limit = self.limits.blocks;
        let range = |rng: &mut Rng| match rng.below(40) {
            0 => (limit - 1, 1 + rng.below(2) as u32),
            1 => (0, 1 << 16),
            _ => (rng.below(40), 1 + rng.below(6) as u32),
        };
        let ranges: Vec<_> = (0..count).map(|_| range(&mut self.rng)).collect();
        let encode = |(first, n): &(u64, u32)| {
            [&[0xAA; 8][..], &first.to_le_bytes(), &(n - 1).to_le_bytes()[..2], &[0xAA; 14]].concat()
        };
        let bytes: Vec<u8> = ranges.iter().flat_map(encode).collect();
        self.memory.put(place, &bytes);
        let total: u64 = ranges.iter().map(|(_, n)| u64::from(*n)).sum();
        let inside = |first: u64, n: u64| first.checked_add(n).is_some_and(|end| end <= limit);
        let status = match () {
            () if place.reachable < count * 32 => Status::DATA_TRANSFER_ERROR,
            // MCL: 1 MiB.
            () if total * u64::from(BLOCK_BYTES) > 1 << 20 => Status::COMMAND_SIZE_LIMIT_EXCEEDED,
            () if !ranges.iter().all(|(first, n)| inside(*first, u64::from(*n))) => Status::LBA_OUT_OF_RANGE,
            () if !inside(to, total) => Status::LBA_OUT_OF_RANGE,
            () => Status::SUCCESS,
        };
        let before = self.memory.image();
        self.expect(sqe, &before, status, 0);
        if status.is_success() {
            // All sources as they were before: ranges may overlap.
            let data: Vec<u8> = ranges.iter().flat_map(|(first, n)| self.content(*first, *n)).collect();
            for (n, block) in data.chunks_exact(BLOCK_BYTES as usize).enumerate() {
                self.blocks.insert(to + n as u64, block.to_vec());
            }
        }
    }

    fn ranges(&mut self, sqe: Sqe, place: &Placement, count: u32, deallocate: bool) {
        let limit = self.limits.blocks;
        let range = |rng: &mut Rng| {
            let far = rng.below(30) == 0;
            (if far { limit - 1 } else { rng.below(40) }, rng.below(6) as u32)
        };
        let ranges: Vec<_> = (0..count).map(|_| range(&mut self.rng)).collect();
        let encode =
            |(first, n): &(u64, u32)| [&[0xAA; 4][..], &n.to_le_bytes(), &first.to_le_bytes()].concat();
        let bytes: Vec<u8> = ranges.iter().flat_map(encode).collect();
        self.memory.put(place, &bytes);
        let inside = ranges.iter().all(|(first, n)| first + u64::from(*n) <= limit);
        let status = match () {
            () if place.reachable < count * 16 => Status::DATA_TRANSFER_ERROR,
            () if deallocate && !inside => Status::LBA_OUT_OF_RANGE,
            () => Status::SUCCESS,
        };
        let before = self.memory.image();
        self.expect(sqe, &before, status, 0);
        if status.is_success() && deallocate {
            for (first, n) in ranges {
                (first..first + u64::from(n)).for_each(|b| drop(self.blocks.remove(&b)));
            }
        }
    }

    /// Everything that the model has, and nothing else.
    fn compare(&mut self) {
        let mut listed = list_all(&mut self.rig);
        listed.sort();
        assert!(listed.iter().eq(self.pairs.keys()), "{listed:?}");
        for (key, value) in &self.pairs {
            let sqe = kv::retrieve(KV, &Key::new(key).expect("valid"), self.limits.value_bytes);
            let answer = self.rig.call(KV, sqe, RawData::FromDevice(self.limits.value_bytes));
            assert!(answer.status.is_success() && answer.dw0 as usize == value.len(), "{answer:?}");
            assert!(answer.data[..value.len()] == value[..], "value of {key:?}");
        }
        let zeros = vec![0; BLOCK_BYTES as usize];
        for first in (0..56).step_by(8) {
            let range = saker_nvme::nvm::BlockRange { slba: first, blocks: 8 };
            let sqe = saker_nvme::nvm::read(BLOCK, range, false).expect("8 blocks");
            let answer = self.rig.call(BLOCK, sqe, RawData::FromDevice(8 * BLOCK_BYTES));
            for (n, block) in answer.data.chunks(BLOCK_BYTES as usize).enumerate() {
                let expected = self.blocks.get(&(first + n as u64)).unwrap_or(&zeros);
                assert!(block == &expected[..], "block {}", first + n as u64);
            }
        }
    }

    fn switch_ednek(&mut self) {
        self.ednek = !self.ednek;
        let value = u32::from(self.ednek);
        let Rig { connection, machine, .. } = &mut self.rig;
        connection.set_feature(machine, KV, fid::KV_CONFIG, value).expect("feature 20h can be set");
    }

    fn format(&mut self, nsid: u32) {
        let Rig { connection, machine, .. } = &mut self.rig;
        connection.format(machine, nsid).expect("a namespace can be formatted");
        if nsid == KV { self.pairs.clear() } else { self.blocks.clear() }
    }
}

fn fuzz<D: Machine>(seed: u64, commands: u32) {
    let build = rig::roomy(seed.is_multiple_of(2), seed);
    let mut fuzz = Fuzz::<D>::new(&build, seed);
    for n in 1..=commands {
        fuzz.command();
        match n % 1000 {
            100 | 600 => fuzz.switch_ednek(),
            400 => fuzz.format(BLOCK),
            900 => fuzz.format(KV),
            n if n % 50 == 0 => fuzz.compare(),
            _ => {}
        }
    }
    fuzz.compare();
    let (refused, done) = (fuzz.refused, fuzz.done);
    assert!(refused > commands / 10 && done > commands / 3, "{refused} refused, {done} done");
}

#[test]
fn any_command_without_time() {
    (0..tier(6, 120)).for_each(|seed| fuzz::<Inline>(seed, 2000));
}

#[test]
fn any_command_in_virtual_time() {
    (0..tier(6, 120)).for_each(|seed| fuzz::<Clocked>(seed, 2000));
}
