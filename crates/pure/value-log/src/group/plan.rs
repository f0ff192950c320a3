// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a group will do, worked out before anything is done.

use super::seal::{Role, padded};
use super::seen::Seen;
use crate::record::record_bytes;
use saker_engine_api::{GroupError, GroupFlags, GroupOp, GroupSource, KvError, Member};

/// Where a key belongs in a store.
pub trait Placed: Copy + Eq {
    /// Bits that differ between keys.
    fn spread(self) -> usize;
}

/// A member and its part.
#[derive(Clone, Debug)]
pub struct Planned<P> {
    /// The member.
    pub member: Member,
    /// Where its key belongs; `None` if it is too long.
    pub place: Option<P>,
    /// What it leaves in the log.
    pub role: Role,
    /// Of a pair: its value stays there although the store has such values beside their keys. Nobody else sets it.
    pub stays: bool,
    /// How it ends; reads can still fail.
    pub result: Result<(), KvError>,
}

/// Memory for planning, used again and again.
#[derive(Clone, Debug)]
pub struct Plan<P> {
    /// The members in their order.
    pub members: Vec<Planned<P>>,
    /// Pairs that are stored.
    pub pairs: u64,
    /// Bytes that these count with.
    pub pair_bytes: u64,
    /// Members that do not store: what becomes of them depends on the store.
    pub others: u64,
    seen: Seen,
    /// A payload that does not land in one piece.
    pub payload: Vec<u8>,
}

impl<P> Default for Plan<P> {
    fn default() -> Self {
        let (members, seen, payload) = (Vec::new(), Seen::default(), Vec::new());
        Self { members, pairs: 0, pair_bytes: 0, others: 0, seen, payload }
    }
}

impl<P: Placed> Plan<P> {
    /// Offset of the key length of a member whose key appeared before, if any.
    fn duplicate(&mut self) -> Option<u32> {
        let is_same = |a: &Planned<P>, b: &Planned<P>| {
            (a.member.op.is_write() || b.member.op.is_write()) && a.place == b.place
        };
        let n = self.seen.repeated(&self.members, |p| Some(p.place?.spread()), is_same)?;
        Some(self.members[n].member.key.start - 4)
    }

    #[inline]
    fn clear(&mut self) {
        self.members.clear();
        (self.pairs, self.pair_bytes, self.others) = (0, 0, 0);
    }

    /// Takes a member in. What becomes of a store does not depend on what is there.
    #[inline]
    fn take(&mut self, member: Member, place: Option<P>, value_bytes_max: u32) {
        let (mut role, mut result) = (Role::Nothing, Ok(()));
        if member.op != GroupOp::Store {
            self.others += 1;
        } else if member.value.len() > value_bytes_max as usize {
            (role, result) = (Role::RefusedPair, Err(KvError::ValueSize));
        } else if place.is_none() {
            (role, result) = (Role::RefusedPair, Err(KvError::KeySize));
        } else {
            role = Role::Pair;
            self.pairs += 1;
            self.pair_bytes += u64::from(counted_bytes(&member));
        }
        self.members.push(Planned { member, place, role, stays: false, result });
    }

    /// Reads a payload; `place` says where a key belongs.
    #[inline]
    pub fn read<G: GroupSource>(
        &mut self,
        source: &G,
        payload: &[u8],
        value_bytes_max: u32,
        mut place: impl FnMut(&[u8]) -> Option<P>,
    ) -> Result<(), GroupError<G::Malformed>> {
        self.clear();
        source
            .parse(payload, &mut |member| {
                let place = place(&payload[member.key.start as usize..member.key.end as usize]);
                self.take(member, place, value_bytes_max);
            })
            .map_err(GroupError::Malformed)?;
        let has_writes =
            self.others < self.members.len() as u64 || self.members.iter().any(|p| p.member.op.is_write());
        match if has_writes { self.duplicate() } else { None } {
            Some(at) => Err(GroupError::Duplicate(at)),
            None => Ok(()),
        }
    }

    /// Refuses an atomic group if some member cannot be carried out.
    #[inline]
    pub fn atomic<E>(&self, flags: GroupFlags) -> Result<(), GroupError<E>> {
        if flags.is_atomic() { self.all_or_none() } else { Ok(()) }
    }

    fn all_or_none<E>(&self) -> Result<(), GroupError<E>> {
        let failed = |(n, p): (usize, &Planned<P>)| Some(GroupError::Member(n as u32, p.result.err()?));
        self.members.iter().enumerate().find_map(failed).map_or(Ok(()), Err)
    }

    /// Whether anything will change.
    pub fn writes(&self) -> bool {
        self.pairs > 0
            || self.others > 0 && self.members.iter().any(|p| matches!(p.role, Role::Pair | Role::Tombstone))
    }
}

/// Bytes that a stored member counts with: see [`crate::RecordAddr::record_bytes`].
#[inline]
pub fn counted_bytes(member: &Member) -> u32 {
    let at_most = |r: &std::ops::Range<u32>| padded(r.end - r.start);
    record_bytes(at_most(&member.key), at_most(&member.value))
}
