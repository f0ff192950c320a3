// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the tree makes of what RocksDB says.

use super::*;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// What stands for RocksDB.
#[derive(Debug)]
struct Said {
    hold: Hold,
    room: (bool, bool),
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// How often a write was told to wait, and the condition was asked for.
    waited: u32,
    goes_on: bool,
    asked: u32,
}

#[derive(Clone, Debug)]
struct Fake(Arc<Mutex<Said>>);

impl Fake {
    /// How many writes waited in it, and pairs.
    fn counts(&self) -> (u32, usize) {
        let said = self.said();
        (said.waited, said.pairs.len())
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap()
    }
}

impl Rocks for Fake {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        Ok(self.said().pairs.get(key).cloned())
    }

    fn has(&self, key: &[u8]) -> Result<bool, KvError> {
        Ok(self.said().pairs.contains_key(key))
    }

    fn write(&mut self, writes: &[Write<'_>], waits: bool) -> Result<bool, KvError> {
        let mut said = self.said();
        said.waited += u32::from(waits);
        if said.hold != Hold::No && !waits {
            return Ok(false);
        }
        for (key, value) in writes {
            match value {
                Some(value) => _ = said.pairs.insert(key.to_vec(), value.to_vec()),
                None => _ = said.pairs.remove(*key),
            }
        }
        Ok(true)
    }

    fn pairs(&self, _: &[u8], _: bool, _: u32, _: Option<u32>) -> Result<Option<Vec<u8>>, KvError> {
        Ok(None)
    }

    fn snapshot(&mut self) -> Result<u32, KvError> {
        Ok(7)
    }

    fn release(&mut self, number: u32) -> bool {
        number == 7
    }

    fn sync(&self) -> Result<(), KvError> {
        Ok(())
    }

    fn empty(&mut self) -> Result<(), KvError> {
        self.said().pairs.clear();
        Ok(())
    }

    fn room(&mut self) -> (bool, bool) {
        self.said().room
    }

    fn hold(&self) -> Hold {
        let mut said = self.said();
        said.asked += 1;
        said.hold
    }

    fn is_known_to_go_on(&self) -> bool {
        self.said().goes_on
    }

    fn load(&self) -> Load {
        Load { level0: 5, ..Load::default() }
    }

    fn limits(&self) -> (Limits, u64) {
        (Limits { memtable_bytes: 1, pending_bytes: 1 }, 5)
    }

    fn fill_bytes(&self) -> (u64, u64) {
        (0, 0)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

fn tree() -> (RocksTree, Fake) {
    let said = Said {
        hold: Hold::No,
        room: (true, true),
        pairs: BTreeMap::new(),
        waited: 0,
        goes_on: false,
        asked: 0,
    };
    let fake = Fake(Arc::new(Mutex::new(said)));
    let mut tree = RocksTree::new(Box::new(fake.clone()));
    tree.set_now(Instant::from_nanos(1));
    (tree, fake)
}

fn put() -> Op {
    Op::Put(b"key".to_vec(), b"value".to_vec())
}

fn ended(tree: &mut RocksTree) -> Vec<Outcome> {
    let mut all = Vec::new();
    tree.advance(Work::Free, &mut |_, outcome| all.push(outcome));
    all
}

#[test]
fn a_stopped_write_comes_back_or_ends_with_the_stop() {
    let (mut tree, fake) = tree();
    fake.said().hold = Hold::Stopped;
    assert_eq!(tree.submit_unless_stopped(put(), Work::Free), Begun::Stopped(put()));
    let ticket = tree.submit(put(), Work::Free).expect_err("it waits");
    assert_eq!((ended(&mut tree), tree.write_condition().is_stopped()), (Vec::new(), true));
    assert_eq!((fake.counts(), ticket), ((0, 0), Ticket(1)), "nobody waits in RocksDB");
    fake.said().hold = Hold::No;
    assert!(ended(&mut tree).is_empty(), "the stop was seen a moment ago");
    tree.set_now(Instant::from_nanos(1) + CONDITION_LASTS);
    assert_eq!(ended(&mut tree), [Ok(Answer::Done)]);
    assert_eq!(fake.counts(), (0, 1));
    let stopped = tree.stalls().all(saker_engine::write_gate::Hold::Stopped);
    assert_eq!((stopped.periods, stopped.writes, stopped.time), (1, 1, CONDITION_LASTS));
}

#[test]
fn a_delayed_write_waits_in_rocksdb() {
    let (mut tree, fake) = tree();
    fake.said().hold = Hold::Delayed(1000);
    assert_eq!(tree.submit_unless_stopped(put(), Work::Free), Begun::Ended(Ok(Answer::Done)));
    assert_eq!(fake.counts(), (1, 1));
    assert!(tree.write_condition().is_delayed());
}

#[test]
fn the_condition_is_not_asked_for_in_every_turn() {
    let (mut tree, fake) = tree();
    for turn in 0..1000 {
        tree.set_now(Instant::from_nanos(turn * 1000));
        assert_eq!(tree.write_condition(), WriteCondition::Normal);
    }
    assert_eq!(fake.said().asked, 10, "1 ms, and what was said counts for 100 us");
}

#[test]
fn a_test_stops_what_has_another_place_alone() {
    let (tree, fake) = tree();
    let mut tree = tree.with_stops(Arc::new(AtomicBool::new(true)));
    assert_eq!(tree.submit_unless_stopped(put(), Work::Free), Begun::Stopped(put()));
    assert!(tree.write_condition().is_stopped());
    assert_eq!(fake.counts(), (0, 0));
    assert_eq!(tree.submit(put(), Work::Free), Ok(Ok(Answer::Done)));
    let get = Op::Get(b"key".to_vec());
    assert_eq!(
        tree.submit_unless_stopped(get, Work::Free),
        Begun::Ended(Ok(Answer::Value(b"value".to_vec())))
    );
}

#[test]
fn where_there_is_no_room_for_puts_deletes_go_on() {
    let (mut tree, fake) = tree();
    assert_eq!(tree.submit(put(), Work::Free), Ok(Ok(Answer::Done)));
    fake.said().room = (false, true);
    tree.set_now(Instant::from_nanos(1) + ROOM_LASTS);
    assert_eq!(tree.submit(put(), Work::Free), Ok(Err(KvError::CapacityExceeded)));
    let of = |is_tombstone| Stamp { sequence: 7, is_tombstone }.record(b"");
    let record = |is_tombstone| Op::Put(b"key".to_vec(), of(is_tombstone));
    assert_eq!(tree.submit(record(false), Work::Free), Ok(Err(KvError::CapacityExceeded)), "an empty value");
    assert_eq!(tree.submit(record(true), Work::Free), Ok(Ok(Answer::Done)), "a tombstone");
    let delete = Op::Delete(b"key".to_vec());
    assert_eq!(tree.submit(delete.clone(), Work::Free), Ok(Ok(Answer::Done)));
    assert_eq!(tree.submit(delete, Work::Free), Ok(Err(KvError::NotFound)));
    let long = Op::Put(b"key".to_vec(), vec![0; VALUE_BYTES_MAX as usize + 1]);
    assert_eq!(tree.submit(long, Work::Free), Ok(Err(KvError::ValueSize)));
}

#[test]
fn nobody_asks_while_rocksdb_has_said_that_writes_go_on() {
    let (mut tree, fake) = tree();
    fake.said().hold = Hold::Stopped;
    let ticket = tree.submit(put(), Work::Free).expect_err("it waits");
    let asked = fake.said().asked;
    {
        let mut said = fake.said();
        (said.hold, said.goes_on) = (Hold::No, true);
    }
    let mut ended = Vec::new();
    assert!(
        tree.advance(Work::Free, &mut |of, outcome| ended.push((of, outcome))),
        "it need not wait for the next question"
    );
    assert_eq!(ended, [(ticket, Ok(Answer::Done))]);
    assert_eq!((tree.write_condition(), fake.said().asked), (WriteCondition::Normal, asked));
    // Its word is late, and the write finds a stop all the same.
    fake.said().hold = Hold::Stopped;
    assert_eq!(tree.submit_unless_stopped(put(), Work::Free), Begun::Stopped(put()));
    assert_eq!(fake.counts().0, 0, "nobody waits in RocksDB");
}
