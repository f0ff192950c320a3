// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is a map: executes the commands of all queue pairs in a random order and refuses some. It also watches
//! the law of sessions: never two writes of one key in commands at the same time.

use saker_host::session::{Answer, Command, Wire};
use saker_host::{HostError, ProtocolError, SubmitError};
use saker_nvme::group::results::ResultsWriter;
use saker_nvme::group::{Form, Op, Packer, parse};
use saker_nvme::kv_list::ListWriter;
use saker_nvme::vendor_specific::{IteratorRange, NextAnswer};
use saker_nvme::{Key, Status};
use saker_sim::{Chance, Rng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

/// What the device does wrong.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A write is refused.
    pub write: Chance,
    /// A group is refused as a whole for want of room.
    pub full: Chance,
    /// A group is refused as a whole for another reason.
    pub group: Chance,
    /// The results of a group are gone.
    pub results: Chance,
    /// A Flush fails.
    pub flush: Chance,
    /// It promises groups, and refuses every one as an unknown opcode.
    pub no_groups: bool,
}

impl Faults {
    pub const NONE: Self = Self {
        write: Chance::NEVER,
        full: Chance::NEVER,
        group: Chance::NEVER,
        results: Chance::NEVER,
        flush: Chance::NEVER,
        no_groups: false,
    };
    pub const SOME: Self = Self {
        write: Chance::one_in(12),
        full: Chance::one_in(9),
        group: Chance::one_in(20),
        results: Chance::one_in(10),
        flush: Chance::one_in(10),
        no_groups: false,
    };
}

enum Owned {
    Group(Form, Key, Vec<u8>),
    Results(Key, u32),
    Store(Key, Vec<u8>),
    Delete(Key),
    Retrieve(Key, u32),
    Exist(Key),
    List(Option<Key>, u32),
    Open(IteratorRange),
    Next(u32, u32),
    Close(u32),
    Flush,
}

struct Done {
    slot: u16,
    status: Status,
    dw0: u32,
    dw1: u32,
    data: Vec<u8>,
}

pub struct Fake {
    rng: Rng,
    faults: Faults,
    pub pairs: BTreeMap<Key, Vec<u8>>,
    /// What a cut would leave.
    pub durable: BTreeMap<Key, Vec<u8>>,
    results: BTreeMap<Key, Vec<u8>>,
    /// By queue pair.
    in_flight: Vec<Vec<(u16, Owned)>>,
    done: Vec<VecDeque<Done>>,
    writing: BTreeSet<Key>,
    /// By number: what is left of a snapshot.
    pub iterators: BTreeMap<u32, Vec<(Key, Vec<u8>)>>,
    pub gone: bool,
    /// Opened so far.
    pub snapshots: u32,
    pub groups: u64,
    pub refused: u64,
    pub read_groups: u64,
}

impl Fake {
    pub fn new(queues: usize, rng: Rng, faults: Faults) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            rng,
            faults,
            pairs: BTreeMap::new(),
            durable: BTreeMap::new(),
            results: BTreeMap::new(),
            in_flight: (0..queues).map(|_| Vec::new()).collect(),
            done: (0..queues).map(|_| VecDeque::new()).collect(),
            writing: BTreeSet::new(),
            iterators: BTreeMap::new(),
            gone: false,
            snapshots: 0,
            groups: 0,
            refused: 0,
            read_groups: 0,
        }))
    }

    /// Executes one command in flight, whichever; false if there is none.
    pub fn step(&mut self) -> bool {
        let count: usize = self.in_flight.iter().map(Vec::len).sum();
        if count == 0 {
            return false;
        }
        let mut n = self.rng.below(count as u64) as usize;
        let queue = (0..self.in_flight.len()).find(|q| {
            let here = self.in_flight[*q].len();
            let is_here = n < here;
            if !is_here {
                n -= here;
            }
            is_here
        });
        let queue = queue.expect("counted above");
        let (slot, command) = self.in_flight[queue].swap_remove(n);
        let (status, dw0, dw1, data) = self.execute(command);
        self.done[queue].push_back(Done { slot, status, dw0, dw1, data });
        true
    }

    fn execute(&mut self, command: Owned) -> (Status, u32, u32, Vec<u8>) {
        let plain = |status| (status, 0, 0, Vec::new());
        match command {
            Owned::Group(form, id, payload) => self.group(form, id, &payload),
            Owned::Results(id, room) => match self.results.remove(&id) {
                Some(results) if !self.rng.happens(self.faults.results) => {
                    assert!(results.len() <= room as usize, "the host asked for what it was told");
                    (Status::SUCCESS, results.len() as u32, 0, results)
                }
                _ => plain(Status::KEY_DOES_NOT_EXIST),
            },
            Owned::Store(key, value) => plain(self.write(&key, Some(value))),
            Owned::Delete(key) => plain(self.write(&key, None)),
            Owned::Retrieve(key, room) => match self.pairs.get(&key) {
                None => plain(Status::KEY_DOES_NOT_EXIST),
                Some(value) => {
                    let shown = value[..value.len().min(room as usize)].to_vec();
                    (Status::SUCCESS, value.len() as u32, 0, shown)
                }
            },
            Owned::Exist(key) if self.pairs.contains_key(&key) => plain(Status::SUCCESS),
            Owned::Exist(_) => plain(Status::KEY_DOES_NOT_EXIST),
            Owned::List(from, room) => {
                let mut page = vec![0; room as usize];
                let mut writer = ListWriter::new(&mut page).expect("room for a count");
                let start = from.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Included);
                // A few keys a page, so that pages are many.
                for key in self.pairs.range((start, std::ops::Bound::Unbounded)).map(|(key, _)| key).take(3) {
                    writer.push(key).expect("room for three keys");
                }
                (Status::SUCCESS, 0, 0, page)
            }
            Owned::Open(range) => self.open(&range),
            Owned::Next(iterator, room) => self.next(iterator, room),
            Owned::Close(iterator) => {
                assert!(self.iterators.remove(&iterator).is_some(), "it is open");
                plain(Status::SUCCESS)
            }
            Owned::Flush if self.rng.happens(self.faults.flush) => plain(Status::INTERNAL_ERROR),
            Owned::Flush => {
                self.durable.clone_from(&self.pairs);
                plain(Status::SUCCESS)
            }
        }
    }

    /// Iterators hold what they will read, the first pair last.
    fn open(&mut self, range: &IteratorRange) -> (Status, u32, u32, Vec<u8>) {
        let range = range.parts().expect("hosts send good ranges");
        let is_in = |key: &[u8]| key >= range.from && (range.to.is_empty() || key < range.to);
        let snapshot = self.pairs.iter().rev().filter(|(key, _)| is_in(key.as_bytes()));
        self.snapshots += 1;
        self.iterators.insert(self.snapshots, snapshot.map(|(key, value)| (*key, value.clone())).collect());
        (Status::SUCCESS, self.snapshots, 0, Vec::new())
    }

    /// A pair or two, or a demand for more room now and then.
    fn next(&mut self, iterator: u32, room: u32) -> (Status, u32, u32, Vec<u8>) {
        if self.rng.below(8) == 0 {
            return (Status::SUCCESS, 0, NextAnswer(0).with_bytes_needed(room + 1).0, Vec::new());
        }
        let count = 1 + self.rng.below(2);
        let left = self.iterators.get_mut(&iterator).expect("it is open");
        let mut payload = vec![0; room as usize];
        let mut packer = Packer::new(Form::All(Op::Store), &mut payload).expect("room for a count");
        for (key, value) in (0..count).map_while(|_| left.pop()) {
            packer.push(Op::Store, key.as_bytes(), &value).expect("room for two pairs");
        }
        let ended = left.is_empty();
        let (_, pairs) = packer.parts();
        let bytes = packer.finish();
        payload.truncate(if pairs > 0 { bytes } else { 0 });
        (Status::SUCCESS, payload.len() as u32, NextAnswer(0).with_ended(ended).0, payload)
    }

    fn write(&mut self, key: &Key, value: Option<Vec<u8>>) -> Status {
        assert!(self.writing.remove(key), "a write in flight was noted");
        if self.rng.happens(self.faults.write) {
            self.refused += 1;
            return Status::CAPACITY_EXCEEDED;
        }
        match value {
            Some(value) => {
                self.pairs.insert(*key, value);
                Status::SUCCESS
            }
            None if self.pairs.remove(key).is_some() => Status::SUCCESS,
            None => Status::KEY_DOES_NOT_EXIST,
        }
    }

    /// What a group that reads finds.
    fn read_group(&mut self, form: Form, id: Key, payload: &[u8]) -> (Status, u32, u32, Vec<u8>) {
        if self.faults.no_groups {
            return (Status::INVALID_OPCODE, 0, 0, Vec::new());
        }
        let mut results = ResultsWriter::new(keys_of(form, payload).len() as u32, 400);
        let mut reads = false;
        for (op, key) in keys_of(form, payload) {
            match self.pairs.get(&key) {
                None => results.push(Status::KEY_DOES_NOT_EXIST),
                Some(_) if op == Op::Exist => results.push(Status::SUCCESS),
                Some(value) => {
                    reads = true;
                    if results.begin_value(value.len() as u32) {
                        results.value(value);
                    }
                }
            }
        }
        self.read_groups += 1;
        let (failed, results) = (results.failed(), results.finish());
        let bytes = if failed > 0 || reads { results.len() as u32 } else { 0 };
        if bytes > 0 {
            self.results.insert(id, results);
        }
        (Status::SUCCESS, failed, bytes, Vec::new())
    }

    fn group(&mut self, form: Form, id: Key, payload: &[u8]) -> (Status, u32, u32, Vec<u8>) {
        if form.may_read() && form != Form::Mixed {
            return self.read_group(form, id, payload);
        }
        let writes = writes_of(form, payload);
        self.groups += 1;
        if self.faults.no_groups {
            writes.iter().for_each(|(key, _)| assert!(self.writing.remove(key)));
            return (Status::INVALID_OPCODE, 0, 0, Vec::new());
        }
        let whole =
            [(self.faults.full, Status::CAPACITY_EXCEEDED), (self.faults.group, Status::INTERNAL_ERROR)];
        for (chance, status) in whole {
            if self.rng.happens(chance) {
                writes.iter().for_each(|(key, _)| assert!(self.writing.remove(key)));
                self.refused += 1;
                return (status, 0, 0, Vec::new());
            }
        }
        let mut results = ResultsWriter::new(writes.len() as u32, usize::MAX);
        for (key, value) in writes {
            let status = self.write(&key, value);
            results.push(status);
        }
        let failed = results.failed();
        let results = results.finish();
        let bytes = if failed > 0 { results.len() as u32 } else { 0 };
        if failed > 0 {
            self.results.insert(id, results);
        }
        (Status::SUCCESS, failed, bytes, Vec::new())
    }

    fn begin(&mut self, command: &Command<'_>) -> Owned {
        let mut writing = |key: &Key| {
            assert!(self.writing.insert(*key), "two writes of {key:?} in commands at the same time");
        };
        match command {
            Command::Group { form, id, payload } => {
                if !form.may_read() || *form == Form::Mixed {
                    writes_of(*form, payload).iter().for_each(|(key, _)| writing(key));
                }
                Owned::Group(*form, *id, payload.to_vec())
            }
            Command::Results { id, bytes } => Owned::Results(*id, *bytes),
            Command::Store(key, value) => {
                writing(key);
                Owned::Store(**key, value.to_vec())
            }
            Command::Delete(key) => {
                writing(key);
                Owned::Delete(**key)
            }
            Command::Retrieve(key, bytes) => Owned::Retrieve(**key, *bytes),
            Command::Exist(key) => Owned::Exist(**key),
            Command::List(from, bytes) => Owned::List(from.copied(), *bytes),
            Command::IteratorOpen(range) => Owned::Open(**range),
            Command::IteratorNext { iterator, bytes } => Owned::Next(*iterator, *bytes),
            Command::IteratorPiece { .. } => unreachable!("all pairs fit a command"),
            Command::IteratorClose(iterator) => Owned::Close(*iterator),
            Command::Flush => Owned::Flush,
        }
    }
}

fn keys_of(form: Form, payload: &[u8]) -> Vec<(Op, Key)> {
    let mut keys = Vec::new();
    let parsed = parse(form, payload, |e| {
        let key = &payload[e.key.start as usize..e.key.end as usize];
        keys.push((e.op, Key::new(key).expect("1 to 16 bytes")));
    });
    parsed.expect("hosts send good payloads");
    keys
}

fn writes_of(form: Form, payload: &[u8]) -> Vec<(Key, Option<Vec<u8>>)> {
    let bytes = |range: &std::ops::Range<u32>| &payload[range.start as usize..range.end as usize];
    let mut writes = Vec::new();
    let parsed = parse(form, payload, |e| {
        let key = Key::new(bytes(&e.key)).expect("1 to 16 bytes");
        writes.push((key, (e.op == Op::Store).then(|| bytes(&e.value).to_vec())));
    });
    parsed.expect("hosts send good payloads");
    writes
}

/// One client runs at a time; a panic of one is the test's end.
pub fn lock(device: &Mutex<Fake>) -> std::sync::MutexGuard<'_, Fake> {
    device.lock().expect("no client has panicked")
}

/// A queue pair of the fake device.
pub struct FakeWire {
    pub device: Arc<Mutex<Fake>>,
    pub queue: usize,
    pub slots: usize,
    pub groups: bool,
    pub iterators: bool,
    pub taken: BTreeSet<u16>,
}

impl Wire for FakeWire {
    fn slots(&self) -> usize {
        self.slots
    }

    fn group_bytes_max(&self) -> usize {
        if self.groups { 1 << 20 } else { 0 }
    }

    fn has_iterators(&self) -> bool {
        self.iterators
    }

    fn name(&self) -> u16 {
        self.queue as u16
    }

    fn submit(&mut self, command: Command<'_>) -> Result<u16, SubmitError> {
        let free = (0..self.slots as u16).find(|slot| !self.taken.contains(slot)).ok_or(SubmitError::Full)?;
        self.taken.insert(free);
        let mut device = lock(&self.device);
        let command = device.begin(&command);
        device.in_flight[self.queue].push((free, command));
        Ok(free)
    }

    fn ring(&mut self) {}

    fn poll(&mut self, visit: &mut dyn FnMut(Answer<'_>)) -> Result<bool, HostError> {
        if lock(&self.device).gone {
            return Err(ProtocolError::Fatal.into());
        }
        let Some(done) = lock(&self.device).done[self.queue].pop_front() else { return Ok(false) };
        self.taken.remove(&done.slot);
        let Done { slot, status, dw0, dw1, ref data } = done;
        visit(Answer { slot, status, dw0, dw1, data });
        Ok(true)
    }
}
