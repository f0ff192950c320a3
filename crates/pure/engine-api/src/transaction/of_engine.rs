// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pairs of an engine, and the writes of a transaction as a group that it carries out or refuses as a whole.

use super::{NotDone, ReadPair, State, Write};
use crate::answer::{PairVersion, Version};
use crate::capabilities::{Capability, Unsupported};
use crate::context::Context;
use crate::engine::Engine;
use crate::groups::{Answers, GroupError, GroupFlags, GroupOp, GroupSource, Member};
use crate::kv::{KvError, SourceError};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;
use std::convert::Infallible;

/// The pairs of an engine as they are.
#[derive(Debug)]
pub struct OfEngine<'e, 'c, E, M, W> {
    /// The engine.
    pub engine: &'e mut E,
    /// What its operations run with.
    pub cx: Context<'c, M, W>,
}

impl<E: Engine, M: SegmentStore, W: Meter> State for OfEngine<'_, '_, E, M, W> {
    fn version(&mut self, key: &[u8]) -> Step<Result<Option<PairVersion>, KvError>> {
        self.engine.version(key, &mut self.cx)
    }

    fn read(&mut self, key: &[u8]) -> Step<Result<ReadPair, KvError>> {
        read_pair(key, self.engine, &mut self.cx)
    }

    fn count(&mut self, from: &[u8], to: Option<&[u8]>, most: u32) -> Step<Result<u32, KvError>> {
        count_keys(from, to, most, self.engine, &mut self.cx)
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Step<Result<(), NotDone>> {
        write_all(writes, self.engine, &mut self.cx)
    }
}

/// The version and the value of a pair under a key of the engine's.
pub fn read_pair<E: Engine, M: SegmentStore, W: Meter>(
    key: &[u8],
    engine: &mut E,
    cx: &mut Context<'_, M, W>,
) -> Step<Result<ReadPair, KvError>> {
    let mut value = Vec::new();
    let step = engine.retrieve_versioned(key, &mut value, cx);
    step.map(|pair| pair.map(|pair| pair.map(|(version, _)| (version, value))))
}

/// How many keys an engine has from one on and before another, up to one more than `most`.
///
/// # Errors
/// [`KvError::Unsupported`] where List does not go in the order of keys.
pub fn count_keys<E: Engine, M: SegmentStore, W: Meter>(
    from: &[u8],
    to: Option<&[u8]>,
    most: u32,
    engine: &mut E,
    cx: &mut Context<'_, M, W>,
) -> Step<Result<u32, KvError>> {
    if !engine.capabilities().has(Capability::Scan) {
        return Step::Done(Err(Unsupported(Capability::Scan).into()));
    }
    let mut count = 0;
    let visit = |key: &[u8]| {
        let is_inside = to.is_none_or(|to| key < to);
        count += u32::from(is_inside);
        is_inside && count <= most
    };
    let step = engine.list(from, visit, cx);
    step.map(|listed| listed.map(|()| count))
}

/// Writes all or none under keys of the engine's.
pub fn write_all<E: Engine, M: SegmentStore, W: Meter>(
    writes: &[Write<'_>],
    engine: &mut E,
    cx: &mut Context<'_, M, W>,
) -> Step<Result<(), NotDone>> {
    if !engine.capabilities().has(Capability::Transactions) {
        return Step::Done(Err(NotDone::Unsupported(Unsupported(Capability::Transactions))));
    }
    let mut set = WriteSet::new(writes);
    let step = engine.group(&mut set, &mut Nobody, cx);
    step.map(|done| done.map_err(|refused| set.told(refused)))
}

/// The writes of a transaction as a group.
struct WriteSet {
    payload: Vec<u8>,
    members: Vec<Member>,
    /// Of each member its place in the transaction.
    places: Vec<u32>,
}

impl WriteSet {
    fn new(writes: &[Write<'_>]) -> Self {
        let padded = |bytes: &[u8]| size_of::<u32>() + bytes.len().next_multiple_of(4);
        let entry_bytes = |w: &Write<'_>| padded(w.key) + w.value.map_or(0, padded);
        let bytes = size_of::<u32>() + writes.iter().map(entry_bytes).sum::<usize>();
        let mut set = Self {
            payload: Vec::with_capacity(bytes),
            members: Vec::with_capacity(writes.len()),
            places: writes.iter().map(|write| write.place).collect(),
        };
        set.payload.extend((writes.len() as u32).to_le_bytes());
        for write in writes {
            let key = set.push(write.key);
            let (op, value) = match write.value {
                Some(value) => (GroupOp::Store, set.push(value)),
                None => (GroupOp::Delete, 0..0),
            };
            set.members.push(Member { op, key, value });
        }
        set
    }

    fn push(&mut self, bytes: &[u8]) -> std::ops::Range<u32> {
        self.payload.extend((bytes.len() as u32).to_le_bytes());
        let start = self.payload.len() as u32;
        self.payload.extend_from_slice(bytes);
        self.payload.resize(self.payload.len().next_multiple_of(4), 0);
        start..start + bytes.len() as u32
    }

    fn told(&self, refused: GroupError<Infallible>) -> NotDone {
        let place = |n: u32| self.places.get(n as usize).copied().unwrap_or_default();
        match refused {
            GroupError::Member(n, e) => NotDone::Member(place(n), e),
            GroupError::Duplicate(at) => {
                let n = self.members.iter().position(|m| m.key.start - 4 == at);
                NotDone::WrittenTwice(place(n.unwrap_or_default() as u32))
            }
            GroupError::TooLong => NotDone::TooLong,
            GroupError::CapacityExceeded => NotDone::CapacityExceeded,
            GroupError::Transfer => NotDone::Member(place(0), KvError::Transfer),
            GroupError::Unsupported(what) => NotDone::Unsupported(what),
        }
    }
}

impl GroupSource for WriteSet {
    type Malformed = Infallible;

    fn bytes(&self) -> u32 {
        self.payload.len() as u32
    }

    fn flags(&self) -> GroupFlags {
        GroupFlags::ATOMIC
    }

    fn lead_bytes(&self) -> u32 {
        0
    }

    fn only_writes(&self) -> bool {
        true
    }

    fn only_stores(&self) -> bool {
        self.members.iter().all(|m| m.op == GroupOp::Store)
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        out.copy_from_slice(&self.payload);
        Ok(())
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        Ok(&self.payload)
    }

    fn parse(&self, _: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Infallible> {
        self.members.iter().for_each(|member| visit(member.clone()));
        Ok(())
    }
}

/// Nobody asks how the writes ended: all or none.
struct Nobody;

impl Answers for Nobody {
    fn begin(&mut self, _: u32, _: Version) {}

    fn done(&mut self, result: Result<(), KvError>) {
        debug_assert_eq!(result, Ok(()), "one that fails refuses all");
    }

    fn found(&mut self, _: u32) -> bool {
        false
    }

    fn value(&mut self, _: &[u8]) {}
}
