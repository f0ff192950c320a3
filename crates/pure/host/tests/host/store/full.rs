// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A full store refuses, reads and deletes go on, deletes give room back, and it is opened again as it was.

use super::expected::{Expected, KeyNumber};
use super::{Rig, Subject, nobody, subjects, writes};
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op};

/// Of what may live that percentage does when a pair is refused: the first one may be a long one.
const FULL_PERCENT: u64 = 80;
/// Writes between two Flushes.
const FLUSH_EVERY: KeyNumber = 64;

struct Full {
    subject: Subject,
    rig: Rig,
    expected: Expected,
}

impl Full {
    fn new(subject: Subject, is_volatile: bool) -> Self {
        let rig = Rig::new(subject, subject.disk(is_volatile, 1));
        Self { subject, rig, expected: Expected::default() }
    }

    /// Whether there was room.
    fn write(&mut self, keys: &[(KeyNumber, bool)]) -> bool {
        let op = writes(&mut self.expected, keys);
        match self.rig.run(op, &mut nobody) {
            Ok(Answer::Done) => true,
            Err(KvError::CapacityExceeded) => {
                self.expected.undo();
                false
            }
            other => panic!("{:?}, {keys:?}: {other:?}", self.subject),
        }
    }

    /// New pairs until one is refused. How many there are.
    fn fill(&mut self, keys: impl Iterator<Item = KeyNumber>) -> KeyNumber {
        let mut stored = 0;
        for of in keys {
            if !self.write(&[(of, true)]) {
                break;
            }
            stored += 1;
            if stored % FLUSH_EVERY == 0 {
                self.flush();
            }
        }
        stored
    }

    fn is_full(&self) -> bool {
        let (live, most) = self.rig.store.fill_bytes();
        live * 100 > most * FULL_PERCENT
    }

    fn flush(&mut self) {
        assert_eq!(self.rig.run(Op::Flush, &mut nobody), Ok(Answer::Done));
    }

    /// Everything is there, and again when it has been opened anew.
    fn is_whole(&mut self) {
        for _ in 0..2 {
            assert_eq!(self.rig.seen(&self.expected), self.expected.now(), "{:?}", self.subject);
            self.flush();
            let opened = Rig::open(self.subject, self.rig.disk.clone(), &mut nobody);
            self.rig = opened.unwrap_or_else(|damage| panic!("{:?}: {damage}", self.subject));
        }
    }
}

/// A group that does not fit is refused as a whole.
fn refuses_groups(full: &mut Full, from: KeyNumber) {
    if !full.rig.store.takes_batches() {
        return;
    }
    let keys: Vec<_> = (from..from + 8).map(|of| (of, true)).collect();
    while full.write(&keys) {}
    assert_eq!(full.rig.seen(&full.expected), full.expected.now());
}

fn is_filled(subject: Subject, is_volatile: bool) {
    let mut full = Full::new(subject, is_volatile);
    let stored = full.fill(0..);
    assert!(stored > 200 && full.is_full(), "{subject:?}: {stored} pairs, {:?}", full.rig.store.fill_bytes());
    refuses_groups(&mut full, stored);
    full.is_whole();
    let (gone, kept): (Vec<_>, Vec<_>) = (0..stored).partition(|of| of % 3 == 0);
    for of in &gone {
        assert!(full.write(&[(*of, false)]), "{subject:?}: key {of} is deleted, however full it is");
    }
    for of in kept.iter().step_by(5) {
        assert_eq!(full.rig.get(*of), full.expected.value_now(*of), "{subject:?}: key {of}");
    }
    full.is_whole();
    // They have values of other lengths now.
    let again = full.fill(gone.iter().copied()) as usize;
    assert!(again == gone.len() || full.is_full(), "{subject:?}: {again} of {} fit again", gone.len());
    full.is_whole();
}

#[test]
fn a_full_store_refuses_reads_deletes_and_has_room_again() {
    for subject in subjects() {
        is_filled(subject, true);
    }
}
