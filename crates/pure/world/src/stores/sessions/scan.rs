// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scan through a session, step by step: what is buffered, merged with an iterator of the device.
//!
//! First the keys of all writes that have not come to their end are copied, then the device opens an iterator. A pair that is
//! there all the time is among the copied keys, which are shown as they are when their turn comes, or is seen by the iterator.

use super::SharedMeter;
use saker_host::KvQueue;
use saker_host::session::{CallId, Command, Hub, Refusal as NotNow, Reply};
use saker_nvme::group::{PairList, pairs_of};
use saker_nvme::vendor_specific::{IteratorRange, NextAnswer};
use saker_nvme::{Key, Status};
use saker_store::{Failure, Outcome};
use std::collections::{BTreeSet, VecDeque};

/// Bytes of a buffer for pairs: that of a client's iterators.
const BUFFER_BYTES: u32 = 64 << 10;
/// Bytes that a pending key's Retrieve asks for first.
const RETRIEVE_BYTES: u32 = 4096;

/// A command that the scan needs now.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Open,
    Next,
    /// The value of a pending key, of so many bytes.
    Value(Key, u32),
    Close,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// There was no room for the command.
    Wants(Wanted),
    Waits(Wanted, CallId),
    Over,
}

/// How far it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// It waits for a completion.
    On,
    Over,
    /// The session cannot be used any more.
    Broken,
}

/// A scan on its way.
pub(super) struct Scanning {
    slot: u32,
    range: IteratorRange,
    entries: u32,
    pending: BTreeSet<Key>,
    iterator: u32,
    buffer_bytes: u32,
    /// Pairs that the device answered and that were not shown.
    ahead: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// The device has no more.
    has_all: bool,
    shown: PairList,
    data: Vec<u8>,
    failed: Option<Failure>,
    stage: Stage,
}

impl Scanning {
    /// From a key of at most 16 bytes on.
    pub fn new(hub: &Hub<KvQueue>, slot: u32, from: &[u8], entries: u32) -> Self {
        let nothing = || IteratorRange::new(&[], &[], &[]).expect("bounds of no bytes");
        Self {
            slot,
            range: IteratorRange::new(from, &[], &[]).unwrap_or_else(nothing),
            entries,
            pending: hub.pending().into_iter().filter(|key| key.as_bytes() >= from).collect(),
            iterator: 0,
            buffer_bytes: BUFFER_BYTES,
            ahead: VecDeque::new(),
            has_all: false,
            shown: PairList::default(),
            data: Vec::new(),
            failed: None,
            stage: Stage::Wants(Wanted::Open),
        }
    }

    /// Its ticket's slot.
    pub const fn slot(&self) -> u32 {
        self.slot
    }

    /// Whether its next command found no room.
    pub const fn waits_for_room(&self) -> bool {
        matches!(self.stage, Stage::Wants(_))
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome<'_> {
        match self.failed {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Pairs { data: &self.data },
        }
    }

    /// Goes as far as it can without waiting.
    pub fn go_on(&mut self, (hub, lane): (&Hub<KvQueue>, usize), meter: &mut SharedMeter) -> Went {
        loop {
            self.stage = match self.stage {
                Stage::Over => return Went::Over,
                Stage::Wants(wanted) => match self.call(hub, lane, wanted) {
                    Ok(id) => Stage::Waits(wanted, id),
                    Err(NotNow::Busy | NotNow::Changed) => return Went::On,
                    Err(NotNow::Broken(_)) => {
                        self.failed = Some(Failure::Other("the session cannot be used any more"));
                        self.stage = Stage::Over;
                        return Went::Broken;
                    }
                },
                Stage::Waits(wanted, id) => {
                    let Some(answer) = hub.take_call(lane, id, |reply| self.answered(wanted, reply)) else {
                        return Went::On;
                    };
                    if answer.is_err() {
                        self.failed = Some(Failure::Other("the answer is lost"));
                        self.stage = Stage::Over;
                        return Went::Over;
                    }
                    self.next(wanted, hub, meter)
                }
            };
        }
    }

    fn call(&self, hub: &Hub<KvQueue>, lane: usize, wanted: Wanted) -> Result<CallId, NotNow> {
        let command = match &wanted {
            Wanted::Open => Command::IteratorOpen(&self.range),
            Wanted::Next => Command::IteratorNext { iterator: self.iterator, bytes: self.buffer_bytes },
            Wanted::Value(key, bytes) => Command::Retrieve(key, *bytes),
            Wanted::Close => Command::IteratorClose(self.iterator),
        };
        hub.call(lane, command)
    }

    /// Takes an answer: what it failed with, or what it brought.
    fn answered(&mut self, wanted: Wanted, reply: &Reply) {
        let (status, is_absent) = (reply.status, reply.status.is(Status::KEY_DOES_NOT_EXIST));
        match wanted {
            // One that has timed out is closed already; a pair may have gone.
            Wanted::Close | Wanted::Value(..) if is_absent => {}
            _ if !status.is_success() => self.failed = self.failed.or(Some(Failure::Status(status))),
            Wanted::Open => self.iterator = reply.dw0,
            Wanted::Next => self.take_batch(NextAnswer(reply.dw1), &reply.data),
            Wanted::Value(key, bytes) if reply.dw0 > bytes => {
                // Longer than was asked for: again, with room for it.
                self.stage = Stage::Wants(Wanted::Value(key, reply.dw0));
            }
            Wanted::Value(key, _) => self.shown.push(key.as_bytes(), &reply.data),
            Wanted::Close => {}
        }
    }

    fn take_batch(&mut self, answer: NextAnswer, payload: &[u8]) {
        let needed = answer.bytes_needed();
        if needed > 0 && needed <= self.buffer_bytes {
            self.failed = Some(Failure::Other("the device answers a scan with what is no pairs"));
        }
        self.buffer_bytes = self.buffer_bytes.max(needed);
        self.has_all = needed == 0 && answer.ended();
        self.ahead.extend(pairs_of(payload).into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }

    /// What follows an answer.
    fn next(&mut self, wanted: Wanted, hub: &Hub<KvQueue>, meter: &mut SharedMeter) -> Stage {
        match (wanted, self.failed) {
            (Wanted::Close, _) | (Wanted::Open, Some(_)) => self.end(),
            (_, Some(_)) => Stage::Wants(Wanted::Close),
            _ if matches!(self.stage, Stage::Wants(_)) => self.stage,
            _ => self.show(hub, meter),
        }
    }

    fn end(&mut self) -> Stage {
        self.data = std::mem::take(&mut self.shown).finish();
        Stage::Over
    }

    /// Shows what is known here, in the order of keys.
    fn show(&mut self, hub: &Hub<KvQueue>, meter: &mut SharedMeter) -> Stage {
        while self.shown.len() < self.entries {
            let Some((key, _)) = self.ahead.front() else {
                if !self.has_all {
                    return Stage::Wants(Wanted::Next);
                }
                match self.pending.pop_first() {
                    Some(key) => match self.show_pending(key, hub, meter) {
                        Some(stage) => return stage,
                        None => continue,
                    },
                    None => break,
                }
            };
            let first = self.pending.first().copied().filter(|first| first.as_bytes() <= key.as_slice());
            let Some(first) = first else {
                if let Some((key, value)) = self.ahead.pop_front() {
                    self.shown.push(&key, &value);
                }
                continue;
            };
            if first.as_bytes() == key.as_slice() {
                self.ahead.pop_front();
            }
            self.pending.remove(&first);
            if let Some(stage) = self.show_pending(first, hub, meter) {
                return stage;
            }
        }
        Stage::Wants(Wanted::Close)
    }

    /// Shows a pending key as it is now. What only the device knows is asked for.
    fn show_pending(&mut self, key: Key, hub: &Hub<KvQueue>, meter: &mut SharedMeter) -> Option<Stage> {
        let shown = &mut self.shown;
        if hub.cached(&key, meter, |value| shown.push(key.as_bytes(), value)).is_some() {
            return None;
        }
        let seen = hub.look(&key, meter, |write| {
            if let Some(value) = write {
                shown.push(key.as_bytes(), value);
            }
        });
        seen.is_err().then_some(Stage::Wants(Wanted::Value(key, RETRIEVE_BYTES)))
    }
}
