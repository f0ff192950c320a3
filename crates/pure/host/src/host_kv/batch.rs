// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A batch as the engine takes it: a group whose record recovery has whole or not at all.

use super::op::{Answer, Batch, Outcome};
use super::{Context, HostKv, with_cached};
use saker_engine::{
    Answers, Capability, Engine, GroupError, GroupOp, GroupSource, Groups, KvError, Member, SourceError,
    Version,
};
use saker_nvme::group::{Entry, Form, Malformed, Op, parse, parse_mut};
use saker_segment_store::Step;
use saker_sim::{Meter, Unit};

impl HostKv {
    /// Whether the engine keeps a group as one record, and so takes batches.
    pub fn takes_batches(&self) -> bool {
        self.store.capabilities().has(Capability::Groups)
    }

    /// Bytes of the longest payload of a batch.
    pub fn batch_bytes_max(&self) -> u32 {
        self.store.group_bytes_max()
    }

    pub(super) fn run_batch<W: Meter>(&mut self, batch: &Batch, w: &mut W) -> Step<Outcome> {
        let mut ended = Ended::default();
        let step = self.store.group(&mut Source(batch), &mut ended, &mut Context::new(&mut self.medium, w));
        step.map(|taken| match taken {
            Ok(()) => ended.0.map_or(Ok(Answer::Done), Err),
            Err(refused) => Err(refusal(&refused)),
        })
    }

    /// The read cache follows a batch that was carried out.
    pub(super) fn note_batch(&self, batch: &Batch, outcome: &Outcome, w: &mut impl Meter) {
        for (key, value) in batch.writes.iter() {
            let value = value.filter(|_| outcome.is_ok());
            with_cached(self.cache.as_ref(), key, |cache, key| match value {
                Some(value) => cache.update(key, Some(value), w),
                None => cache.remove(key),
            });
        }
    }
}

/// Packing it is the host's work.
pub(super) fn packed(batch: &Batch, w: &mut impl Meter) {
    w.work(Unit::Encode, batch.writes.len() as u64);
    w.work(Unit::CopyByte, batch.payload.len() as u64);
}

fn refusal(refused: &GroupError<Malformed>) -> KvError {
    match refused {
        GroupError::CapacityExceeded => KvError::CapacityExceeded,
        GroupError::TooLong => KvError::ValueSize,
        GroupError::Malformed(_) | GroupError::Duplicate(_) => KvError::KeySize,
        GroupError::Transfer => KvError::Transfer,
        GroupError::Member(_, e) => *e,
        GroupError::Unsupported(what) => (*what).into(),
    }
}

/// What failed first. To delete what is not there is no failure.
#[derive(Default)]
struct Ended(Option<KvError>);

impl Answers for Ended {
    fn begin(&mut self, _: u32, _: Version) {}

    fn done(&mut self, result: Result<(), KvError>) {
        let failed = result.err().filter(|why| *why != KvError::NotFound);
        self.0 = self.0.or(failed);
    }

    fn found(&mut self, _: u32) -> bool {
        false
    }

    fn value(&mut self, _: &[u8]) {}
}

/// The payload, in the host's memory.
struct Source<'b>(&'b Batch);

impl GroupSource for Source<'_> {
    type Malformed = Malformed;

    fn bytes(&self) -> u32 {
        self.0.bytes()
    }

    fn lead_bytes(&self) -> u32 {
        self.0.form.lead_bytes() as u32
    }

    fn only_writes(&self) -> bool {
        matches!(self.0.form, Form::All(_))
    }

    fn only_stores(&self) -> bool {
        self.0.form == Form::All(Op::Store)
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        out.copy_from_slice(&self.0.payload);
        Ok(())
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        Ok(&self.0.payload)
    }

    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Malformed> {
        parse(self.0.form, payload, |entry| visit(member(entry))).map(drop)
    }

    fn parse_mut(
        &self,
        payload: &mut [u8],
        visit: &mut impl FnMut(Member, &mut [u8]),
    ) -> Result<(), Malformed> {
        parse_mut(self.0.form, payload, |entry, bytes| visit(member(entry), bytes)).map(drop)
    }
}

fn member(entry: Entry) -> Member {
    let op = match entry.op {
        Op::Store => GroupOp::Store,
        Op::Retrieve => GroupOp::Retrieve,
        Op::Delete => GroupOp::Delete,
        Op::Exist => GroupOp::Exist,
    };
    Member { op, key: entry.key, value: entry.value }
}
