// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a group finds before anything is done, and whether there is room for what it stores.

use super::super::Store;
use super::super::inside::Inside;
use super::super::key::{Entry, Key};
use super::super::living::Replaced;
use super::super::space::replaceable_bytes;
use super::super::structure::Structure;
use saker_engine_api::{GroupError, GroupOp, KvError};
use saker_log::{Bytes, LogAddr, Look, lines};
use saker_segment_store::{Reads, SegmentStore, Stall, Step, ready};
use saker_sim::Meter;
use saker_value_log::group::seal::Role;
use saker_value_log::group::{Plan, Planned, counted_bytes};

/// What was found.
pub struct Looked<S: Structure> {
    /// The pair of each member that does not store, in their order.
    pub found: Vec<Result<Option<Entry>, KvError>>,
    /// What each member that stores replaces, in their order, if they looked.
    pub replaced: Vec<Replaced>,
    /// What the searches looked at.
    pub trails: Vec<S::Trail>,
    /// All pages that were looked at, those of values included.
    reads: Reads,
}

impl<S: Structure> Default for Looked<S> {
    fn default() -> Self {
        Self { found: Vec::new(), replaced: Vec::new(), trails: Vec::new(), reads: Reads::new() }
    }
}

impl<S: Structure> Looked<S> {
    /// The pages that the next call looks at.
    fn needed(&mut self) -> Reads {
        self.reads.sort_unstable();
        self.reads.dedup();
        std::mem::take(&mut self.reads)
    }
}

fn looks(p: &Planned<Key>) -> bool {
    p.member.op != GroupOp::Store
}

impl<S: Structure> Store<S> {
    /// Finds the pairs that the group reads or deletes. `Need` names the pages of all.
    pub(super) fn look_up<M: SegmentStore, W: Meter>(
        &self,
        plan: &Plan<Key>,
        m: &M,
        w: &mut W,
    ) -> Step<Looked<S>> {
        let (mut looked, mut is_absent) = (Looked::default(), false);
        for p in plan.members.iter().filter(|p| looks(p)) {
            let Some(key) = p.place else {
                looked.found.push(Ok(None));
                continue;
            };
            match self.find_for_group(&key, &mut looked, m, w) {
                Step::Done(mut found) => {
                    if p.member.op == GroupOp::Retrieve
                        && let Ok(Some(e)) = found
                        && !e.is_inside()
                    {
                        let range = Bytes::new(LogAddr(e.addr.position()), e.addr.bytes());
                        looked.reads.extend(range.pages(&self.log));
                        match range.look(&self.log, m) {
                            // Their cache misses overlap.
                            Look::Whole(record) if w.touches() => {
                                lines(record).for_each(|byte| w.touch(byte))
                            }
                            Look::Whole(_) => {}
                            Look::Absent(_) | Look::Elsewhere => match range.resident(&self.log, m) {
                                Step::Done(Ok(())) => {}
                                Step::Done(Err(failed)) => found = Err(failed.into()),
                                Step::Need(_) | Step::Blocked(_) => is_absent = true,
                            },
                        }
                    }
                    looked.found.push(found);
                }
                Step::Need(_) => is_absent = true,
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
        }
        if is_absent { Step::Need(looked.needed()) } else { Step::Done(looked) }
    }

    /// The pair of a key. What was looked at, or must be, is noted.
    fn find_for_group<M: SegmentStore, W: Meter>(
        &self,
        key: &Key,
        looked: &mut Looked<S>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        match S::find(self, key, None, m, w) {
            Step::Done((found, trail)) => {
                looked.reads.extend(trail.clone().into());
                looked.trails.push(trail);
                Step::Done(found.map(|e| e.filter(|e| !e.is_tombstone())))
            }
            Step::Need(pages) => {
                looked.reads.extend(pages);
                Step::Need(Reads::new())
            }
            Step::Blocked(stall) => Step::Blocked(stall),
        }
    }

    /// Gives their roles to the members that do not store; and to all, once nothing is written any more.
    pub(super) fn assign(&self, plan: &mut Plan<Key>, looked: &Looked<S>) {
        for (p, found) in plan.members.iter_mut().filter(|p| looks(p)).zip(&looked.found) {
            (p.role, p.result) = match (p.place, *found) {
                (None, _) => (Role::Nothing, Err(KvError::KeySize)),
                (_, Err(e)) => (Role::Nothing, Err(e)),
                (_, Ok(None)) => (Role::Nothing, Err(KvError::NotFound)),
                (_, Ok(Some(_))) if p.member.op == GroupOp::Delete => (Role::Tombstone, Ok(())),
                (_, Ok(Some(_))) => (Role::Nothing, Ok(())),
            };
        }
        let Some(e) = self.upkeep.error() else { return };
        plan.pairs = 0;
        for p in &mut plan.members {
            p.role = match p.role {
                Role::Pair => Role::RefusedPair,
                Role::Tombstone => Role::Nothing,
                _ => continue,
            };
            p.result = Err(e);
        }
    }

    /// Whether what the group stores fits. Near the capacity what it replaces is looked up. It is admitted or refused as a
    /// whole. Collections copy members, so it is the longest of these that counts and not the group's record.
    pub(super) fn admit_group<M: SegmentStore, W: Meter, E>(
        &mut self,
        plan: &Plan<Key>,
        looked: &mut Looked<S>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), GroupError<E>>> {
        let stores = || plan.members.iter().filter(|p| p.role == Role::Pair);
        let lengths = || stores().map(|p| counted_bytes(&p.member));
        let inside = stores().map(|p| self.inside_of(p.member.value.len() as u32, counted_bytes(&p.member)));
        let inside = inside.fold(Inside::NONE, Inside::and);
        let content = self.content_with(plan.pairs, inside, lengths().max().unwrap_or(0));
        let new: u64 = lengths().map(u64::from).sum();
        let (all, capacity) = (self.content_bytes() + new, S::capacity_for(self, &content, m));
        if plan.pairs == 0 || all <= capacity && !self.tells(all, capacity) {
            return Step::Done(Ok(()));
        }
        let replaced = ready!(self.replaced_bytes(stores(), looked, m, w));
        if all <= capacity {
            return Step::Done(Ok(()));
        }
        let never_takes_room =
            replaced.is_some_and(|old| new <= old) && content.longest == self.longest.bytes();
        if never_takes_room {
            return Step::Done(Ok(()));
        }
        if self.knows_that_none_is_left(new) || self.is_known(new, capacity, m) {
            return Step::Done(Err(GroupError::CapacityExceeded));
        }
        self.want_reveal();
        self.later(Stall::NoSegment, GroupError::CapacityExceeded)
    }

    /// Bytes of what is replaced; `None` if that cannot be read. What each member replaces is noted.
    fn replaced_bytes<'p, M: SegmentStore, W: Meter>(
        &self,
        stores: impl Iterator<Item = &'p Planned<Key>>,
        looked: &mut Looked<S>,
        m: &M,
        w: &mut W,
    ) -> Step<Option<u64>> {
        let (mut bytes, mut is_absent) = (Some(0), false);
        for (p, key) in stores.filter_map(|p| Some((p, p.place?))) {
            let inside = self.settings.is_inside(p.member.value.len() as u32);
            match self.find_for_group(&key, looked, m, w) {
                Step::Done(found) => {
                    looked.replaced.push(found.as_ref().map_or(Replaced::Unknown, |e| self.replaced_by(*e)));
                    let bytes_of = |e: Entry| u64::from(replaceable_bytes(&e, inside));
                    let old = found.ok().map(|e| e.map_or(0, bytes_of));
                    bytes = bytes.zip(old).map(|(all, old)| all + old);
                }
                Step::Need(_) => is_absent = true,
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
        }
        if is_absent { Step::Need(looked.needed()) } else { Step::Done(bytes) }
    }
}
