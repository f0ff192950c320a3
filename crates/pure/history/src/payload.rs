// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of a script as payloads, for devices and for engines.

use super::script::Member;
use saker_engine::{Answers, GroupOp, GroupSource, KvError, SourceError, Version};
use saker_nvme::group::{COUNT_BYTES, Form, Malformed, Op, Packer, entry_bytes, parse};
use saker_sim::Digest;

/// A packed group.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    pub form: Form,
    pub bytes: Vec<u8>,
}

impl Member {
    fn parts(&self) -> (Op, &[u8], &[u8]) {
        match self {
            Self::Store(key, value) => (Op::Store, key, value),
            Self::Retrieve(key) => (Op::Retrieve, key, &[]),
            Self::Delete(key) => (Op::Delete, key, &[]),
            Self::Exist(key) => (Op::Exist, key, &[]),
        }
    }
}

impl Payload {
    /// Of one form if all members are of one kind.
    pub fn of(members: &[Member]) -> Self {
        let parts: Vec<_> = members.iter().map(Member::parts).collect();
        let first = parts.first().map_or(Op::Store, |(op, ..)| *op);
        let form = if parts.iter().all(|(op, ..)| *op == first) { Form::All(first) } else { Form::Mixed };
        let entries = parts.iter().map(|(op, k, v)| form.lead_bytes() + entry_bytes(*op, k.len(), v.len()));
        let mut bytes = vec![0; COUNT_BYTES + entries.sum::<usize>()];
        let mut packer = Packer::new(form, &mut bytes).expect("there is room for a count");
        for (op, key, value) in parts {
            packer.push(op, key, value).expect("there is room for every member");
        }
        packer.finish();
        Self { form, bytes }
    }

    /// Keys that belong together.
    pub fn of_keys(keys: &[Vec<u8>]) -> Self {
        let members: Vec<_> = keys.iter().cloned().map(Member::Retrieve).collect();
        Self::of(&members)
    }

    /// Whether nothing comes back but whether it was done.
    pub fn only_writes(&self) -> bool {
        matches!(self.form, Form::All(op) if op.is_write())
    }
}

const fn op(op: Op) -> GroupOp {
    match op {
        Op::Store => GroupOp::Store,
        Op::Retrieve => GroupOp::Retrieve,
        Op::Delete => GroupOp::Delete,
        Op::Exist => GroupOp::Exist,
    }
}

impl GroupSource for Payload {
    type Malformed = Malformed;

    fn bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn lead_bytes(&self) -> u32 {
        self.form.lead_bytes() as u32
    }

    fn only_writes(&self) -> bool {
        Self::only_writes(self)
    }

    fn only_stores(&self) -> bool {
        self.form == Form::All(Op::Store)
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        out.copy_from_slice(&self.bytes);
        Ok(())
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        Ok(&self.bytes)
    }

    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(saker_engine::Member)) -> Result<(), Malformed> {
        let member =
            |e: saker_nvme::group::Entry| saker_engine::Member { op: op(e.op), key: e.key, value: e.value };
        parse(self.form, payload, |entry| visit(member(entry))).map(|_| ())
    }
}

/// Answers of a group as they are given.
#[derive(Debug, Default)]
pub(super) struct Answered(pub Digest);

impl Answers for Answered {
    fn begin(&mut self, members: u32, _: Version) {
        self.0.number(u64::from(members));
    }

    fn done(&mut self, result: Result<(), KvError>) {
        self.0.bytes(format!("{result:?}").as_bytes());
    }

    fn found(&mut self, value_bytes: u32) -> bool {
        self.0.number(u64::from(value_bytes));
        value_bytes > 0
    }

    fn value(&mut self, bytes: &[u8]) {
        self.0.bytes(bytes);
    }
}
