// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A payload in host memory, as the engine takes it.

use crate::answer::Reach;
use crate::transfer::Pieces;
use saker_engine::{GroupError, GroupFlags, GroupOp, GroupSource, Member, SourceError};
use saker_long_keys::{MARK, NarrowDigest};
use saker_nvme::Key;
use saker_nvme::group::{Entry, Form, Malformed, Op, parse, parse_mut};

/// The host's memory, and whether long keys are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupReach<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) long_keys: Option<NarrowDigest>,
}

/// What keeps the engine from taking a payload as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Malformed(Malformed),
    /// A key may go into an envelope, and the device takes such keys.
    LongKey,
}

/// A refusal that is none of long keys.
pub(super) fn plain(refused: GroupError<Fault>) -> GroupError<Malformed> {
    match refused {
        GroupError::Malformed(Fault::Malformed(malformed)) => GroupError::Malformed(malformed),
        GroupError::Malformed(Fault::LongKey) => unreachable!("found only where long keys are taken"),
        GroupError::Duplicate(at) => GroupError::Duplicate(at),
        GroupError::TooLong => GroupError::TooLong,
        GroupError::CapacityExceeded => GroupError::CapacityExceeded,
        GroupError::Transfer => GroupError::Transfer,
        GroupError::Member(n, e) => GroupError::Member(n, e),
        GroupError::Unsupported(what) => GroupError::Unsupported(what),
    }
}

/// A payload in host memory.
pub(super) struct HostGroup<'a> {
    pub(super) reach: GroupReach<'a>,
    pub(super) pieces: &'a Pieces,
    pub(super) bytes: u32,
    pub(super) form: Form,
    pub(super) staged: &'a mut Option<Vec<u8>>,
    pub(super) flags: GroupFlags,
}

impl GroupSource for HostGroup<'_> {
    type Malformed = Fault;

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flags(&self) -> GroupFlags {
        self.flags
    }

    fn lead_bytes(&self) -> u32 {
        self.form.lead_bytes() as u32
    }

    fn only_writes(&self) -> bool {
        // What was staged once is not fetched again.
        matches!(self.form, Form::All(op) if op.is_write()) && self.staged.is_none()
    }

    fn only_stores(&self) -> bool {
        self.form == Form::All(Op::Store) && self.staged.is_none()
    }

    fn is_copied_by_core(&self) -> bool {
        !self.reach.reach.dma_engine
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        if out.is_empty() { Ok(()) } else { self.pieces.read(self.reach.reach.space, 0, out) }
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        if self.staged.is_none() {
            let mut payload = vec![0; self.bytes as usize];
            self.read(&mut payload)?;
            *self.staged = Some(payload);
        }
        Ok(self.staged.as_deref().unwrap_or_default())
    }

    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Fault> {
        let mut key_bytes_max = 0;
        let parsed = parse(self.form, payload, |e| {
            let member = member(e);
            let key = payload.get(member.key.start as usize..).unwrap_or_default();
            key_bytes_max = key_bytes_max.max(room(&member, key));
            visit(member);
        });
        self.judge(parsed, key_bytes_max)
    }

    // Its closure is the loop over members: 27 instructions an operation where it is called instead.
    #[inline(always)]
    fn parse_mut(&self, payload: &mut [u8], visit: &mut impl FnMut(Member, &mut [u8])) -> Result<(), Fault> {
        let mut key_bytes_max = 0;
        let parsed = parse_mut(self.form, payload, |e, bytes| {
            let member = member(e);
            // These bytes begin with the key's length.
            let key = bytes.get(size_of::<u32>()..).unwrap_or_default();
            key_bytes_max = key_bytes_max.max(room(&member, key));
            visit(member, bytes);
        });
        self.judge(parsed, key_bytes_max)
    }
}

impl HostGroup<'_> {
    /// Whether the device takes a payload that was read, given its longest key.
    #[inline]
    fn judge(&self, parsed: Result<u32, Malformed>, key_bytes_max: u32) -> Result<(), Fault> {
        match parsed {
            Err(malformed) => Err(Fault::Malformed(malformed)),
            Ok(_) if key_bytes_max > Key::MAX_LEN as u32 && self.reach.long_keys.is_some() => {
                Err(Fault::LongKey)
            }
            Ok(_) => Ok(()),
        }
    }
}

/// Bytes of a key; one more if it begins with the mark of envelopes, so that a key of the device's length counts as a longer one: in a
/// transaction it goes into an envelope as these do.
#[inline]
fn room(member: &Member, from_key_on: &[u8]) -> u32 {
    member.key_bytes() + u32::from(from_key_on.starts_with(&MARK))
}

#[inline]
fn member(e: Entry) -> Member {
    Member { op: op(e.op), key: e.key, value: e.value }
}

#[inline]
pub(super) fn op(op: Op) -> GroupOp {
    match op {
        Op::Store => GroupOp::Store,
        Op::Retrieve => GroupOp::Retrieve,
        Op::Delete => GroupOp::Delete,
        Op::Exist => GroupOp::Exist,
    }
}
