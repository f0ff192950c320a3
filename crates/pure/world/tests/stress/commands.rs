//! Any command, well-formed or not, against a model: the documented answer, and no effect but the documented one.

use crate::history::list_all;
use crate::memory::{Memory, Placement};
use crate::oracle::{Limits, Op, judge, list_answer, set_key};
use crate::rig::{self, BLOCK, BLOCK_BYTES, KV, Machine, Rig, blocks, value_bytes_max};
use crate::tier;
use saker_flash::MemMedia;
use saker_host::RawData;
use saker_link::Sqe;
use saker_nvme::admin::feature::fid;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, NSID_ALL, Status};
use saker_sim::{Rng, Seed};
use saker_world::{Build, Clocked, Inline};
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
        let known: &[u8] =
            if nsid == BLOCK { &[1, 1, 2, 2, 9, 0] } else { &[1, 1, 1, 2, 2, 6, 0x10, 0x14, 0] };
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
        let zeros = vec![0; BLOCK_BYTES as usize];
        let block = |n| self.blocks.get(&n).unwrap_or(&zeros).clone();
        let data: Vec<u8> = (first..first + u64::from(blocks)).flat_map(block).collect();
        self.deliver(sqe, before, place, &data, 0);
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
    let build = rig::roomy(seed % 2 == 0, seed);
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
    (0..tier(6, 120)).for_each(|seed| fuzz::<Inline<MemMedia>>(seed, 2000));
}

#[test]
fn any_command_in_virtual_time() {
    (0..tier(6, 120)).for_each(|seed| fuzz::<Clocked<MemMedia>>(seed, 2000));
}

/// The table "where the specification is silent", end to end.
fn silent<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(true, 1));
    let named = |opcode, name: &[u8], length, size: u32| {
        let mut sqe = Sqe::new(opcode, KV);
        let mut key = [0xEE; 16];
        key[..name.len()].copy_from_slice(name);
        sqe.cdw10.set(size);
        set_key(&mut sqe, &key, length);
        sqe
    };
    let mut ask = |sqe: Sqe, data: RawData<'_>| rig.call(KV, sqe, data);
    let stored = ask(named(1, b"ab", 2, 3), RawData::ToDevice(b"xyz"));
    assert!(stored.status.is_success() && stored.dw0 == 0, "{stored:?}");
    for opcode in [1, 2, 0x10, 0x14, 6] {
        for length in [17, 255] {
            let answer = ask(named(opcode, b"ab", length, 64), RawData::FromDevice(64));
            assert!(answer.status.is(Status::INVALID_FIELD), "KL {length}, opcode {opcode:#x}: {answer:?}");
        }
        let answer = ask(named(opcode, b"", 0, 64), RawData::FromDevice(64));
        let expected = if opcode == 6 { Status::SUCCESS } else { Status::INVALID_KEY_SIZE };
        assert!(answer.status.is(expected), "KL 0, opcode {opcode:#x}: {answer:?}");
        let broadcast = Sqe { nsid: NSID_ALL.into(), ..named(opcode, b"ab", 2, 64) };
        assert!(ask(broadcast, RawData::FromDevice(64)).status.is(Status::INVALID_FIELD));
        for flags in [1, 2, 0x40, 0x80, 0xC0] {
            let answer = ask(Sqe { flags, ..named(opcode, b"ab", 2, 64) }, RawData::FromDevice(64));
            assert!(answer.status.is(Status::INVALID_FIELD), "flags {flags:#x}: {answer:?}");
        }
    }
    // Bytes beyond KL do not make another key.
    let answer = ask(named(0x14, b"abz", 2, 0), RawData::Untouched);
    assert!(answer.status.is_success() && answer.dw0 == 0, "{answer:?}");
    // List: fewer bytes than NRK needs; one entry with its padding is 4 + 4 bytes; past the last key, none.
    assert!(ask(named(6, b"", 0, 3), RawData::FromDevice(64)).status.is(Status::INVALID_FIELD));
    let seven = ask(named(6, b"", 0, 7), RawData::FromDevice(64));
    assert!(seven.status.is_success() && seven.dw0 == 0 && seven.data[..4] == [0; 4], "{seven:?}");
    let eight = ask(named(6, b"", 0, 8), RawData::FromDevice(64));
    assert_eq!(&eight.data[..8], [1, 0, 0, 0, 2, 0, b'a', b'b'].as_slice());
    // Both conditions at once; unknown option bits; reserved bits anywhere.
    let both = Sqe { cdw11: (0b011 << 8 | 2).into(), ..named(1, b"ab", 2, 3) };
    assert!(ask(both, RawData::ToDevice(b"xyz")).status.is(Status::INVALID_FIELD));
    let reserved = Sqe { cdw11: (0xFFFF_F800 | 2).into(), cdw12: u32::MAX.into(), ..named(1, b"ab", 2, 3) };
    assert!(ask(reserved, RawData::ToDevice(b"new")).status.is_success());
    let raw = Sqe { cdw11: (1 << 8 | 2).into(), ..named(2, b"ab", 2, 64) };
    let answer = ask(raw, RawData::FromDevice(64));
    assert!(answer.status.is_success() && answer.dw0 == 3 && &answer.data[..3] == b"new", "{answer:?}");
    // Delete of a missing key is a success by default; reservations and unknown opcodes are 01h.
    let answer = ask(named(0x10, b"no", 2, 0), RawData::Untouched);
    assert!(answer.status.is_success() && answer.dw0 == 0, "{answer:?}");
    for opcode in [0x0D, 0x0E, 0x11, 0x15, 0x05, 0x80, 0xFF] {
        assert!(ask(named(opcode, b"ab", 2, 0), RawData::Untouched).status.is(Status::INVALID_OPCODE));
    }
    assert!(ask(kv::flush(NSID_ALL), RawData::Untouched).status.is_success());
}

#[test]
fn where_the_specification_is_silent() {
    silent::<Inline<MemMedia>>();
    silent::<Clocked<MemMedia>>();
}

fn name(n: u32) -> Key {
    let text = format!("{n:05}");
    Key::new(&text.as_bytes().repeat(3)[..1 + n as usize % 15]).unwrap_or_else(|_| unreachable!())
}

fn put<D: Machine>(rig: &mut Rig<D>, key: &Key, value: &[u8]) -> Status {
    rig.call(KV, kv::store(KV, key, value.len() as u32, StoreOptions::NONE), RawData::ToDevice(value)).status
}

fn get<D: Machine>(rig: &mut Rig<D>, key: &Key, room: u32) -> Vec<u8> {
    let answer = rig.call(KV, kv::retrieve(KV, key, room), RawData::FromDevice(room));
    assert!(answer.status.is_success(), "{}", answer.status);
    answer.data[..answer.dw0 as usize].to_vec()
}

fn remove<D: Machine>(rig: &mut Rig<D>, key: &Key) -> Status {
    rig.call(KV, kv::delete(KV, key), RawData::Untouched).status
}

/// A full device serves reads and deletes, and deletes make room.
fn fill<D: Machine>(capacitor: bool, bytes: usize) {
    let mut rig = Rig::<D>::new(&rig::small(capacitor, 3));
    let key = |n: u32| Key::new(&n.to_be_bytes()).expect("4 bytes");
    let value = |n: u32, round: u8| vec![n as u8 ^ round; bytes];
    let mut stored = 0;
    let full = loop {
        match put(&mut rig, &key(stored), &value(stored, 0)) {
            s if s.is_success() => stored += 1,
            s => break s,
        }
        assert!(stored < 100_000, "it must be full at some time");
    };
    assert!(full.is(Status::CAPACITY_EXCEEDED), "{full}");
    // With key, header and padding; a fifth of the raw flash at least.
    assert!(stored as usize * (bytes + 32) > 12 * 32 * 1024 / 5, "{stored} pairs of {bytes} bytes fill it");
    for round in 1..20u8 {
        // Existing pairs can be replaced, new ones not stored.
        let n = u32::from(round) * 7 % stored;
        assert!(put(&mut rig, &key(n), &value(n, round)).is_success());
        assert!(put(&mut rig, &key(stored + 1), &value(0, 0)).is(Status::CAPACITY_EXCEEDED));
        assert_eq!(get(&mut rig, &key(n), 16_384), value(n, round));
        assert!(remove(&mut rig, &key(n)).is_success());
        assert!(put(&mut rig, &key(n), &value(n, 0)).is_success(), "a delete makes room");
    }
    (0..stored).for_each(|n| assert_eq!(get(&mut rig, &key(n), 16_384), value(n, 0)));
    (0..stored).for_each(|n| assert!(remove(&mut rig, &key(n)).is_success()));
    (0..stored).for_each(|n| assert!(put(&mut rig, &key(n), &value(n, 9)).is_success(), "pair {n} again"));
    (0..stored).for_each(|n| assert_eq!(get(&mut rig, &key(n), 16_384), value(n, 9)));
}

#[test]
fn a_full_device_reads_deletes_and_then_stores_again() {
    for bytes in [40, 700, 3000] {
        for capacitor in [true, false] {
            fill::<Inline<MemMedia>>(capacitor, bytes);
            fill::<Clocked<MemMedia>>(capacitor, bytes);
        }
    }
}

/// One page of List: the keys, with `start` first if it is stored.
fn page<D: Machine>(rig: &mut Rig<D>, start: Option<&Key>, room: u32) -> Vec<Key> {
    let answer = rig.call(KV, kv::list(KV, start, room), RawData::FromDevice(room));
    assert!(answer.status.is_success(), "{}", answer.status);
    let keys: Vec<Key> = saker_nvme::kv_list::ListReader::new(&answer.data)
        .expect("NRK fits")
        .map(|k| k.expect("a whole entry"))
        .collect();
    let names: Vec<_> = keys.iter().map(|k| k.as_bytes().to_vec()).collect();
    assert_eq!(
        list_answer(names.iter(), usize::MAX)[..],
        answer.data[..list_answer(names.iter(), usize::MAX).len()]
    );
    keys
}

/// All keys by pages, each starting at the last key of the one before; `each` acts between pages.
fn paged<D: Machine>(rig: &mut Rig<D>, room: u32, mut each: impl FnMut(&mut Rig<D>, &Key)) -> Vec<Key> {
    let mut all = page(rig, None, room);
    while let Some(last) = all.last().copied() {
        each(rig, &last);
        let next = page(rig, Some(&last), room);
        let new: Vec<_> = next.iter().filter(|k| **k != last).copied().collect();
        if new.is_empty() {
            return all;
        }
        all.extend(new);
    }
    all
}

fn pages_of_every_size<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(true, 5));
    let mut names: Vec<Key> = (0..90).map(name).collect();
    names.sort_by_key(|k| k.as_bytes().to_vec());
    names.dedup();
    names.iter().for_each(|k| assert!(put(&mut rig, k, k.as_bytes()).is_success()));
    let order = page(&mut rig, None, 4096);
    assert_eq!(order.len(), names.len());
    for room in 4..=100 {
        let first = page(&mut rig, None, room);
        let expected = list_answer(
            order.iter().map(|k| k.as_bytes().to_vec()).collect::<Vec<_>>().iter(),
            room as usize,
        );
        assert_eq!(first.len() as u32, u32::from_le_bytes(expected[..4].try_into().expect("NRK")), "{room}");
        assert_eq!(first, order[..first.len()]);
        // Two of the longest entries: the key to go on at, and one more.
        if room >= 4 + 2 * 20 {
            assert_eq!(paged(&mut rig, room, |_, _| {}), order, "pages of {room} bytes");
        }
        // From every key, stored or not.
        let at = room as usize * 7 % order.len();
        let rest = page(&mut rig, Some(&order[at]), room);
        assert_eq!(rest, order[at..at + rest.len()]);
    }
}

#[test]
fn list_pages_of_every_size() {
    pages_of_every_size::<Inline<MemMedia>>();
    pages_of_every_size::<Clocked<MemMedia>>();
}

fn list_while_deleting<D: Machine>(room: u32) {
    let mut rig = Rig::<D>::new(&rig::roomy(false, 6));
    let names: Vec<Key> =
        (0..80).map(|n: u32| Key::new(format!("key{n:04}").as_bytes()).expect("7 bytes")).collect();
    names.iter().for_each(|k| assert!(put(&mut rig, k, b"v").is_success()));
    let order = page(&mut rig, None, 4096);
    // The key to go on at is deleted before the next page is asked for, and one far ahead too.
    let mut gone = Vec::new();
    let seen = paged(&mut rig, room, |rig, last| {
        let at = order.iter().position(|k| k == last).expect("listed before");
        assert!(remove(rig, last).is_success());
        if let Some(ahead) = order.get(at + 30)
            && !gone.contains(ahead)
        {
            assert!(remove(rig, ahead).is_success());
            gone.push(*ahead);
        }
    });
    let expected: Vec<_> = order.iter().filter(|k| !gone.contains(k)).copied().collect();
    assert_eq!(seen, expected, "every key that stays is listed once, in order, deleted ones at most once");
}

#[test]
fn list_goes_on_after_deletes() {
    for room in 44..=100 {
        list_while_deleting::<Inline<MemMedia>>(room);
    }
    list_while_deleting::<Clocked<MemMedia>>(64);
}

fn a_write_cache_that_is_off<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(false, 8));
    let programmed = |rig: &mut Rig<D>| rig.machine.snapshot().flash.pages_programmed;
    assert!(put(&mut rig, &name(1), b"cached").is_success());
    rig.machine.rest();
    assert_eq!(programmed(&mut rig), 0, "the cache is on: nothing is programmed for a small pair");
    let Rig { connection, machine, .. } = &mut rig;
    connection.set_feature(machine, 0, fid::VOLATILE_WRITE_CACHE, 0).expect("it can be switched off");
    let mut before = programmed(&mut rig);
    for n in 0..20 {
        assert!(put(&mut rig, &name(n), b"through").is_success());
        let now = programmed(&mut rig);
        assert!(now > before, "store {n} completed before it was programmed");
        before = now;
    }
    assert!(remove(&mut rig, &name(3)).is_success());
    assert!(programmed(&mut rig) > before, "and so does a delete");
    let Rig { connection, machine, .. } = &mut rig;
    connection.set_feature(machine, 0, fid::VOLATILE_WRITE_CACHE, 1).expect("it can be switched on");
    rig.machine.rest();
    let before = programmed(&mut rig);
    assert!(put(&mut rig, &name(1), b"cached again").is_success());
    rig.machine.rest();
    assert_eq!(programmed(&mut rig), before);
    assert_eq!(get(&mut rig, &name(1), 64), b"cached again");
}

#[test]
fn without_write_cache_a_completed_write_is_programmed() {
    a_write_cache_that_is_off::<Inline<MemMedia>>();
    a_write_cache_that_is_off::<Clocked<MemMedia>>();
}

#[test]
fn the_oracle_encodes_list_answers_as_the_specification_shows() {
    let keys = [b"a".to_vec(), b"bcd".to_vec()];
    let golden = [2, 0, 0, 0, 1, 0, b'a', 0, 3, 0, b'b', b'c', b'd', 0, 0, 0];
    assert_eq!(list_answer(keys.iter(), 16), golden);
    assert_eq!(list_answer(keys.iter(), 15), [1, 0, 0, 0, 1, 0, b'a', 0]);
}
