// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups that are done as a whole: what a transaction writes.
//!
//! Their records lie together in one segment, behind a head that says how far they go ([`head`]), and are published together.
//! Recovery takes the records of a group only if all of its pages are there, so a cut leaves all or none. Segments go as a whole, and
//! a collection copies records as if they had come alone: nothing has to be remembered of a group.

pub mod head;
mod write;

use super::HashFtl;
use super::lookup::{For, Found};
use super::record::Head;
use saker_engine_api::{
    Answers, Capability, Context, GroupError, GroupFlags, GroupOp, GroupSource, Groups, KvError, PairVersion,
    Unsupported,
};
use saker_segment_store::{Reads, SegmentStore, Step, ready};
use saker_sim::Meter;
use saker_value_log::group::GROUP_BYTES_MAX;
use std::collections::BTreeSet;

type Refused<G> = GroupError<<G as GroupSource>::Malformed>;

/// A write, and where it goes.
#[derive(Debug)]
struct Part<'p> {
    key: &'p [u8],
    /// `None`: the pair is deleted.
    value: Option<&'p [u8]>,
    head: Head,
    found: Found,
    slot: u64,
}

impl Groups for HashFtl {
    fn group_bytes_max(&self) -> u32 {
        GROUP_BYTES_MAX.min(self.config.value_bytes_max)
    }

    /// Others than those that are done as a whole are carried out by [`Singly`](saker_engine_api::Singly).
    fn group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), Refused<G>>> {
        if source.flags() != GroupFlags::ATOMIC || !source.only_writes() {
            return Step::Done(Err(GroupError::Unsupported(Unsupported(Capability::Groups))));
        }
        if source.bytes() > self.group_bytes_max() {
            return Step::Done(Err(GroupError::TooLong));
        }
        let payload = match source.staged() {
            Ok(payload) => payload.to_vec(),
            Err(_) => return Step::Done(Err(GroupError::Transfer)),
        };
        let mut members = Vec::new();
        if let Err(malformed) = source.parse(&payload, &mut |member| members.push(member)) {
            return Step::Done(Err(GroupError::Malformed(malformed)));
        }
        let mut written = BTreeSet::new();
        let bytes = |r: &std::ops::Range<u32>| &payload[r.start as usize..r.end as usize];
        if let Some(twice) = members.iter().find(|member| !written.insert(bytes(&member.key))) {
            return Step::Done(Err(GroupError::Duplicate(twice.key.start - 4)));
        }
        let writes: Vec<_> = members
            .iter()
            .map(|member| (bytes(&member.key), (member.op == GroupOp::Store).then(|| bytes(&member.value))))
            .collect();
        self.counted(|this| this.write_group(&writes, answers, cx)).map(|done| done.map_err(Refusal::into))
    }

    /// Of each pair the version that its record has: a collection leaves it as it is.
    fn version<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Option<PairVersion>, KvError>> {
        let (m, w) = cx.parts();
        let version = |found: Found| found.pair.map(|pair| PairVersion(u128::from(pair.head.version)));
        self.counted(|this| this.find(key, For::Reading, m, w)).map(|found| found.map(version))
    }
}

/// Why a group is not done.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    Member(u32, KvError),
    TooLong,
    CapacityExceeded,
}

impl<E> From<Refusal> for GroupError<E> {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Member(n, e) => Self::Member(n, e),
            Refusal::TooLong => Self::TooLong,
            Refusal::CapacityExceeded => Self::CapacityExceeded,
        }
    }
}

impl HashFtl {
    /// Where each write goes. The sections of all of them are in memory then, and stay there until the operation ends.
    fn find_parts<'p, M: SegmentStore, W: Meter>(
        &mut self,
        writes: &[(&'p [u8], Option<&'p [u8]>)],
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Vec<Part<'p>>, Refusal>> {
        self.operation += 1;
        let (mut parts, mut taken) = (Vec::with_capacity(writes.len()), BTreeSet::new());
        let (mut reads, mut absent) = (Reads::new(), false);
        for (n, (key, value)) in (0..).zip(writes) {
            let found = match self.search((key, For::Writing), &taken, m, w) {
                Step::Done(Ok(found)) => found,
                Step::Done(Err(e)) => return Step::Done(Err(Refusal::Member(n, e))),
                Step::Blocked(stall) => return Step::Blocked(stall),
                Step::Need(more) => {
                    reads.extend(more);
                    absent = true;
                    continue;
                }
            };
            reads.extend(self.pages_of_way(&found, m));
            if let Some(part) = ready!(self.part(n, (key, *value), found, &mut taken)) {
                match part {
                    Ok(part) => parts.push(part),
                    Err(refusal) => return Step::Done(Err(refusal)),
                }
            }
        }
        if absent {
            reads.sort_unstable();
            reads.dedup();
            return Step::Need(reads);
        }
        Step::Done(Ok(parts))
    }
}
