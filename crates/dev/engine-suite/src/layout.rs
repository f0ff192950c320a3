// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Payloads as the engine's contract describes them: lengths in front, zeros behind.

use saker_engine::{Answers, GroupOp, GroupSource, KvError, Member, SourceError, Version};

/// A member of a group.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it asks for.
    pub op: GroupOp,
    /// Its key.
    pub key: Vec<u8>,
    /// The value of a store.
    pub value: Vec<u8>,
}

/// A payload, and what its entries ask for (which the engine does not read from it).
#[derive(Clone, Debug)]
pub struct Payload {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it cannot be fetched.
    pub unreadable: bool,
    members: Vec<Member>,
    lead: bool,
}

/// The payload is not as long as its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal;

/// What a member was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It was carried out or refused.
    Done(Result<(), KvError>),
    /// What was retrieved.
    Value(Vec<u8>),
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) -> std::ops::Range<u32> {
    bytes.extend((part.len() as u32).to_le_bytes());
    let start = bytes.len();
    bytes.extend(part);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    start as u32..(start + part.len()) as u32
}

impl Payload {
    /// With a type in each entry only if they differ.
    pub fn of(entries: &[Entry]) -> Self {
        Self::new(entries, entries.iter().any(|e| e.op != entries[0].op))
    }

    /// With a type in each entry or in none.
    pub fn new(entries: &[Entry], lead: bool) -> Self {
        let mut bytes = vec![0xC7; 4];
        let mut members = Vec::new();
        for e in entries {
            if lead {
                bytes.extend([0x1E; 4]);
            }
            let key = push(&mut bytes, &e.key);
            let value = if e.op == GroupOp::Store { push(&mut bytes, &e.value) } else { 0..0 };
            members.push(Member { op: e.op, key, value });
        }
        Self { bytes, unreadable: false, members, lead }
    }
}

impl GroupSource for Payload {
    type Malformed = Refusal;

    fn bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn lead_bytes(&self) -> u32 {
        if self.lead { 4 } else { 0 }
    }

    fn only_writes(&self) -> bool {
        self.members.iter().all(|m| m.op.is_write())
    }

    fn only_stores(&self) -> bool {
        self.members.iter().all(|m| m.op == GroupOp::Store)
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        if self.unreadable {
            return Err(SourceError);
        }
        out.copy_from_slice(&self.bytes);
        Ok(())
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        if self.unreadable { Err(SourceError) } else { Ok(&self.bytes) }
    }

    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Refusal> {
        let end = |m: &Member| m.key.end.max(m.value.end).next_multiple_of(4) as usize;
        for m in &self.members {
            if end(m) > payload.len() {
                return Err(Refusal);
            }
            visit(m.clone());
        }
        Ok(())
    }
}

/// Everything that was answered.
#[derive(Debug, Default)]
pub struct Answered(pub Vec<Told>);

impl Answers for Answered {
    fn begin(&mut self, members: u32, _: Version) {
        assert!(self.0.is_empty(), "answers of another group");
        self.0.reserve(members as usize);
    }

    fn done(&mut self, result: Result<(), KvError>) {
        self.0.push(Told::Done(result));
    }

    fn found(&mut self, value_bytes: u32) -> bool {
        self.0.push(Told::Value(Vec::new()));
        value_bytes > 0
    }

    fn value(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Told::Value(value)) => value.extend(bytes),
            other => panic!("a value for {other:?}"),
        }
    }
}
