// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups as engines take them: many operations in one call. An engine knows where keys and values lie, and leaves the
//! layout of payloads to whoever speaks it.

use crate::answer::{PairVersion, Version};
use crate::capabilities::{Capability, Unsupported};
use crate::context::Context;
use crate::kv::{KvError, SourceError};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;
use std::ops::Range;

/// Groups ([`Capability::Groups`]; compound commands).
pub trait Groups {
    /// Longest payload of a group in bytes; 0 without the capability.
    fn group_bytes_max(&self) -> u32 {
        0
    }

    /// Carries out a group. The answers are given only when it is done, one for each member.
    ///
    /// # Errors
    /// [`GroupError`] for a group that is refused as a whole; [`GroupError::Unsupported`] without the capability: drivers carry
    /// groups out by [`Singly`](crate::Singly) then.
    fn group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), GroupError<G::Malformed>>> {
        let _ = (source, answers, cx);
        Step::Done(Err(GroupError::Unsupported(Unsupported(Capability::Groups))))
    }

    /// The version of a pair, by which [transactions](crate::transact) know whether it is still the same; `None`: there is none.
    ///
    /// # Errors
    /// [`KvError::KeySize`]; what keeps the engine from looking; [`KvError::Unsupported`] without [`Capability::Transactions`].
    fn version<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Option<PairVersion>, KvError>> {
        let _ = (key, cx);
        Step::Done(Err(KvError::Unsupported(Unsupported(Capability::Transactions))))
    }
}

/// How a group is to be carried out. Engines refuse flags that they do not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupFlags(pub u32);

impl GroupFlags {
    /// None.
    pub const NONE: Self = Self(0);
    /// All members are carried out or none: the first that cannot be refuses the whole ([`GroupError::Member`]). Only with
    /// [`Capability::Transactions`].
    pub const ATOMIC: Self = Self(1);

    /// Whether there are others than [`GroupFlags::ATOMIC`].
    #[inline]
    pub fn has_unknown(self) -> bool {
        self.0 > Self::ATOMIC.0
    }

    /// Whether all is done or nothing.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self == Self::ATOMIC
    }
}

/// What a member of a group asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOp {
    /// Store a pair.
    Store,
    /// Deliver a value.
    Retrieve,
    /// Remove a pair.
    Delete,
    /// Tell whether there is such a pair.
    Exist,
}

impl Member {
    /// Length of its key in bytes.
    #[inline]
    pub fn key_bytes(&self) -> u32 {
        self.key.end - self.key.start
    }

    /// Length of its value in bytes.
    #[inline]
    pub fn value_bytes(&self) -> u32 {
        self.value.end - self.value.start
    }
}

impl GroupOp {
    /// Whether it changes what is stored.
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, Self::Store | Self::Delete)
    }
}

/// A member: its key and value as parts of the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it asks for.
    pub op: GroupOp,
    /// Its key, behind four bytes of length.
    pub key: Range<u32>,
    /// The value of a store, behind four bytes of length.
    pub value: Range<u32>,
}

/// A group on its way into an engine. Keys and values begin at multiples of four bytes, each behind its length and
/// before zeros up to the next multiple, with nothing between them; [`GroupSource::lead_bytes`] precede each member and
/// four bytes the first. An engine that keeps the payload as its record may write into the lengths there.
pub trait GroupSource {
    /// What is wrong with a payload.
    type Malformed;
    /// Length of the payload in bytes.
    fn bytes(&self) -> u32;
    /// How it is to be carried out.
    #[inline]
    fn flags(&self) -> GroupFlags {
        GroupFlags::NONE
    }
    /// Bytes before the key length of each member: 0 or 4.
    fn lead_bytes(&self) -> u32;
    /// Whether members only store and delete. Such a payload may be copied to its landing before it is looked at.
    fn only_writes(&self) -> bool;
    /// Whether members only store: their fate does not depend on what is there.
    fn only_stores(&self) -> bool {
        false
    }
    /// Whether a core copies the payload, and not an engine.
    fn is_copied_by_core(&self) -> bool {
        true
    }
    /// Copies the payload from the host into `out`, as long as it. Called once, unless [`GroupSource::staged`] has been.
    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError>;
    /// The payload in memory of the driver's: copied there once, and kept until the command is over.
    fn staged(&mut self) -> Result<&[u8], SourceError>;
    /// Checks the whole payload and shows its members. Some may have been seen before an error is found.
    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Self::Malformed>;
    /// The same, with the bytes of each member from its key length on, which the engine may change when it is shown them.
    fn parse_mut(
        &self,
        payload: &mut [u8],
        visit: &mut impl FnMut(Member, &mut [u8]),
    ) -> Result<(), Self::Malformed> {
        let mut members = Vec::new();
        self.parse(payload, &mut |member| members.push(member))?;
        for member in members {
            let end = member.key.end.max(member.value.end).next_multiple_of(4);
            let bytes = member.key.start as usize - 4..end as usize;
            visit(member, &mut payload[bytes]);
        }
        Ok(())
    }
}

/// Takes what became of each member, in their order.
pub trait Answers {
    /// The group is done, its writes under that version if they share one; so many answers follow.
    fn begin(&mut self, members: u32, version: Version);
    /// The next member is done, or failed; it has no value.
    fn done(&mut self, result: Result<(), KvError>);
    /// The next `members` members are done; none failed, and none has a value.
    fn all_done(&mut self, members: u32) {
        (0..members).for_each(|_| self.done(Ok(())));
    }
    /// The next member has found a value of that many bytes. True if its bytes are wanted; [`Answers::value`] follows.
    fn found(&mut self, value_bytes: u32) -> bool;
    /// The next bytes of the value.
    fn value(&mut self, bytes: &[u8]);
}

/// Why a group was refused as a whole. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError<E> {
    /// The payload is not one.
    Malformed(E),
    /// A key that is stored or deleted appears again; its length is at this offset.
    Duplicate(u32),
    /// The payload is longer than the engine takes.
    TooLong,
    /// The store is full.
    CapacityExceeded,
    /// The payload could not be fetched.
    Transfer,
    /// Of a group with [`GroupFlags::ATOMIC`]: the member at that place cannot be carried out.
    Member(u32, KvError),
    /// The engine has no groups, or none with these flags.
    Unsupported(Unsupported),
}
