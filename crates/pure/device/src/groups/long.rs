// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long keys in groups. The payload is rewritten before the engine sees it: what is stored or deleted under long keys
//! becomes a Store or Delete of their envelopes, in the same record as the rest, and what is read is answered from the
//! envelopes as they were before. Groups without long keys never come here.

use crate::long_keys::{DeviceKey, Envelope, look};
use saker_engine::{
    Answers, AnyEngine, Context, GroupError, GroupSource, Groups, KvError, Member, SourceError, Version,
};
use saker_long_keys::{NarrowDigest, device_key};
use saker_nvme::Key;
use saker_nvme::group::{COUNT_BYTES, Entry, Form, Malformed, Op, Packer, entry_bytes, parse};
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::collections::BTreeMap;

/// How a member of the group is answered.
#[derive(Debug)]
enum Fate {
    /// As the engine answers its n-th member.
    Engine(usize),
    /// As the envelope is stored.
    Envelope(DeviceKey),
    /// By itself.
    Done(Result<(), KvError>),
    /// With a value of an envelope.
    Value(Vec<u8>),
}

/// An envelope that the group looks at.
#[derive(Debug, Default)]
struct Touched {
    now: Envelope,
    changed: bool,
    /// The engine's member that stores it.
    member: usize,
}

/// How a member ended, with the value it found.
type Ended = (Result<(), KvError>, Option<Vec<u8>>);

/// What the engine answered, by member.
#[derive(Debug, Default)]
struct Answered(Vec<Ended>);

type Refused = GroupError<Malformed>;

/// Carries a group out. `pages`: what earlier calls needed, and may need again.
#[expect(clippy::too_many_arguments, reason = "an engine call takes its medium and meter")]
pub(super) fn carry_out<M: SegmentStore, W: Meter, A: Answers>(
    form: Form,
    payload: &[u8],
    digest: NarrowDigest,
    pages: &mut Reads,
    answers: &mut A,
    store: &mut AnyEngine,
    m: &mut M,
    w: &mut W,
) -> Step<Result<(), Refused>> {
    let mut entries = Vec::new();
    if let Err(malformed) = parse(form, payload, |e| entries.push(e)) {
        return Step::Done(Err(GroupError::Malformed(malformed)));
    }
    if let Some(at) = duplicate(payload, &entries) {
        return Step::Done(Err(GroupError::Duplicate(at)));
    }
    let mut touched = match look_at_all(payload, &entries, digest, pages, store, m, w) {
        Step::Done(touched) => touched,
        Step::Need(reads) => return Step::Need(reads),
        Step::Blocked(stall) => return Step::Blocked(stall),
    };
    let mut rewritten = Rewritten::default();
    let fates: Vec<Fate> =
        entries.iter().map(|e| rewritten.member(payload, e, digest, &mut touched)).collect();
    rewritten.envelopes(&mut touched);
    w.work(Unit::CopyByte, rewritten.bytes as u64);
    let mut answered = Answered::default();
    if !rewritten.members.is_empty() {
        let mut packed = rewritten.pack();
        if packed.payload.len() as u64 > u64::from(store.group_bytes_max()) {
            return Step::Done(Err(GroupError::CapacityExceeded));
        }
        match store.group(&mut packed, &mut answered, &mut Context::new(m, w)) {
            Step::Done(Ok(())) => {}
            Step::Done(Err(refused)) => return Step::Done(Err(refused)),
            Step::Need(reads) => return Step::Need(add(pages, reads)),
            Step::Blocked(stall) => return Step::Blocked(stall),
        }
    }
    tell(fates, &touched, answered, answers);
    Step::Done(Ok(()))
}

fn key_of<'p>(payload: &'p [u8], e: &Entry) -> &'p [u8] {
    &payload[e.key.start as usize..e.key.end as usize]
}

fn is_long(e: &Entry) -> bool {
    e.key.len() > Key::MAX_LEN
}

/// Where the second of two members with one key has its key's length, if one of them writes.
fn duplicate(payload: &[u8], entries: &[Entry]) -> Option<u32> {
    let mut seen: BTreeMap<&[u8], bool> = BTreeMap::new();
    entries.iter().find_map(|e| {
        let writes = e.op.is_write();
        let wrote = seen.insert(key_of(payload, e), writes);
        wrote.is_some_and(|wrote| wrote || writes).then_some(e.key.start - 4)
    })
}

/// `more` and everything that was needed before: all pages that the next call will look at.
fn add(pages: &mut Reads, more: Reads) -> Reads {
    pages.extend(more);
    pages.sort_unstable();
    pages.dedup();
    pages.clone()
}

/// The envelopes of all long keys.
fn look_at_all<M: SegmentStore, W: Meter>(
    payload: &[u8],
    entries: &[Entry],
    digest: NarrowDigest,
    pages: &mut Reads,
    store: &mut AnyEngine,
    m: &mut M,
    w: &mut W,
) -> Step<BTreeMap<DeviceKey, Result<Touched, KvError>>> {
    let (mut touched, mut absent) = (BTreeMap::new(), Reads::new());
    for e in entries.iter().filter(|e| is_long(e)) {
        let at = device_key(key_of(payload, e), &digest);
        if touched.contains_key(&at) {
            continue;
        }
        match look(store, &at, digest, m, w) {
            Step::Done(found) => {
                touched.insert(at, found.map(|now| Touched { now, ..Touched::default() }));
            }
            Step::Need(reads) => absent.extend(reads),
            Step::Blocked(stall) => return Step::Blocked(stall),
        }
    }
    if absent.is_empty() { Step::Done(touched) } else { Step::Need(add(pages, absent)) }
}

/// What the engine gets: operation, key, value.
#[derive(Debug, Default)]
struct Rewritten {
    members: Vec<(Op, Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

impl Rewritten {
    fn push(&mut self, op: Op, key: &[u8], value: &[u8]) -> usize {
        self.bytes += key.len() + value.len();
        self.members.push((op, key.to_vec(), value.to_vec()));
        self.members.len() - 1
    }

    fn member(
        &mut self,
        payload: &[u8],
        e: &Entry,
        digest: NarrowDigest,
        touched: &mut BTreeMap<DeviceKey, Result<Touched, KvError>>,
    ) -> Fate {
        let (key, value) = (key_of(payload, e), &payload[e.value.start as usize..e.value.end as usize]);
        if !is_long(e) {
            return Fate::Engine(self.push(e.op, key, value));
        }
        let at = device_key(key, &digest);
        match touched.get_mut(&at) {
            Some(Ok(envelope)) => envelope.apply(e.op, key, value, at),
            Some(Err(e)) => Fate::Done(Err(*e)),
            None => Fate::Done(Err(KvError::Corrupt)),
        }
    }

    /// What has changed is stored, or deleted if nothing is left of it.
    fn envelopes(&mut self, touched: &mut BTreeMap<DeviceKey, Result<Touched, KvError>>) {
        let changed = touched.iter_mut().filter_map(|(at, t)| Some((at, t.as_mut().ok()?)));
        for (at, envelope) in changed.filter(|(_, t)| t.changed) {
            let bytes = envelope.now.bytes();
            let op = if bytes.is_empty() { Op::Delete } else { Op::Store };
            envelope.member = self.push(op, at, bytes);
        }
    }

    fn pack(&self) -> Packed {
        let form = Form::Mixed;
        let bytes = self.members.iter().fold(COUNT_BYTES, |sum, (op, key, value)| {
            sum + form.lead_bytes() + entry_bytes(*op, key.len(), value.len())
        });
        let mut payload = vec![0; bytes];
        let mut packer = Packer::new(form, &mut payload).expect("room for the count");
        for (op, key, value) in &self.members {
            packer.push(*op, key, value).expect("room as counted, and keys of 1 to 16 bytes");
        }
        packer.finish();
        Packed { payload }
    }
}

impl Touched {
    fn apply(&mut self, op: Op, key: &[u8], value: &[u8], at: DeviceKey) -> Fate {
        let there = self.now.value(key);
        match (op, there) {
            (Op::Retrieve, Some(value)) => return Fate::Value(value.to_vec()),
            (Op::Exist, Some(_)) => return Fate::Done(Ok(())),
            (Op::Retrieve | Op::Exist | Op::Delete, None) => return Fate::Done(Err(KvError::NotFound)),
            (Op::Store, _) | (Op::Delete, Some(_)) => {}
        }
        let changed =
            if op == Op::Store { self.now.with(key, value).map(Some) } else { self.now.without(key) };
        match changed {
            Err(e) => Fate::Done(Err(e)),
            Ok(bytes) => {
                (self.now, self.changed) = (Envelope::of(bytes), true);
                Fate::Envelope(at)
            }
        }
    }
}

/// Answers in the order of the members.
fn tell<A: Answers>(
    fates: Vec<Fate>,
    touched: &BTreeMap<DeviceKey, Result<Touched, KvError>>,
    Answered(answered): Answered,
    answers: &mut A,
) {
    answers.begin(fates.len() as u32, Version::NONE);
    let give = |answers: &mut A, value: &[u8]| {
        if answers.found(value.len() as u32) {
            answers.value(value);
        }
    };
    for fate in fates {
        match fate {
            Fate::Done(result) => answers.done(result),
            Fate::Value(value) => give(answers, &value),
            Fate::Engine(n) => match &answered[n] {
                (_, Some(value)) => give(answers, value),
                (result, None) => answers.done(*result),
            },
            Fate::Envelope(at) => {
                let stored = touched.get(&at).and_then(|t| t.as_ref().ok()).map(|t| answered[t.member].0);
                answers.done(stored.unwrap_or(Err(KvError::Corrupt)));
            }
        }
    }
}

impl Answers for Answered {
    fn begin(&mut self, members: u32, _: Version) {
        self.0.reserve(members as usize);
    }

    fn done(&mut self, result: Result<(), KvError>) {
        self.0.push((result, None));
    }

    fn found(&mut self, value_bytes: u32) -> bool {
        self.0.push((Ok(()), Some(Vec::with_capacity(value_bytes as usize))));
        value_bytes > 0
    }

    fn value(&mut self, bytes: &[u8]) {
        if let Some((_, Some(value))) = self.0.last_mut() {
            value.extend_from_slice(bytes);
        }
    }
}

/// A payload of form mixed that the device has put together.
#[derive(Debug)]
struct Packed {
    payload: Vec<u8>,
}

impl GroupSource for Packed {
    type Malformed = Malformed;

    fn bytes(&self) -> u32 {
        self.payload.len() as u32
    }

    fn lead_bytes(&self) -> u32 {
        Form::Mixed.lead_bytes() as u32
    }

    fn only_writes(&self) -> bool {
        false
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        out.copy_from_slice(&self.payload);
        Ok(())
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        Ok(&self.payload)
    }

    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Malformed> {
        parse(Form::Mixed, payload, |e| {
            visit(Member { op: super::source::op(e.op), key: e.key, value: e.value })
        })
        .map(|_| ())
    }
}
