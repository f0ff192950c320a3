// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a group finds before anything is done, and whether there is room for what it stores.

use super::super::Store;
use super::super::inside::Inside;
use super::super::key::{Entry, Key};
use super::super::living::Replaced;
use super::super::structure::{Sought, Structure};
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
    /// Pages that searches want which went no further.
    reads: Reads,
    is_absent: bool,
}

impl<S: Structure> From<Sought<S::Trail>> for Looked<S> {
    fn from(sought: Sought<S::Trail>) -> Self {
        let Sought { found, trails, needed, is_absent } = sought;
        Self { found, replaced: Vec::new(), trails, reads: needed, is_absent }
    }
}

impl<S: Structure> Default for Looked<S> {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            replaced: Vec::new(),
            trails: Vec::new(),
            reads: Reads::new(),
            is_absent: false,
        }
    }
}

impl<S: Structure> Looked<S> {
    /// The pages that the next call looks at.
    fn needed(&mut self) -> Reads {
        self.reads.extend(self.trails.drain(..).flat_map(Into::<Reads>::into));
        self.reads.sort_unstable();
        self.reads.dedup();
        std::mem::take(&mut self.reads)
    }
}

fn looks(p: &Planned<Key>) -> bool {
    p.member.op != GroupOp::Store
}

/// Where the record lies that a member retrieves, if its value is not beside its key.
fn value_of(p: &Planned<Key>, found: &Result<Option<Entry>, KvError>) -> Option<Bytes> {
    let Ok(Some(e)) = found else { return None };
    let is_read = p.member.op == GroupOp::Retrieve && !e.is_inside();
    is_read.then(|| Bytes::new(LogAddr(e.addr.position()), e.addr.bytes()))
}

impl<S: Structure> Store<S> {
    /// Finds the pairs that the group reads or deletes, all together. `Need` names the pages of all.
    pub(super) fn look_up<M: SegmentStore, W: Meter>(
        &self,
        plan: &Plan<Key>,
        m: &M,
        w: &mut W,
    ) -> Step<Looked<S>> {
        let mut keys: Vec<Key> = Vec::with_capacity(plan.others as usize);
        keys.extend(plan.members.iter().filter(|p| looks(p)).filter_map(|p| p.place));
        let mut sought = ready!(S::find_all(self, &keys, m, w));
        // A key that is too long has no place, and no pair.
        if keys.len() < plan.others as usize {
            let mut found = std::mem::take(&mut sought.found).into_iter();
            let one = |p: &Planned<Key>| {
                if p.place.is_some() { found.next().unwrap_or(Ok(None)) } else { Ok(None) }
            };
            sought.found = plan.members.iter().filter(|p| looks(p)).map(one).collect();
        }
        let mut looked = Looked::from(sought);
        let mut is_absent = looked.is_absent;
        for (p, found) in plan.members.iter().filter(|p| looks(p)).zip(&mut looked.found) {
            *found = found.map(|e| e.filter(|e| !e.is_tombstone()));
            let Some(range) = value_of(p, found) else { continue };
            match range.look(&self.log, m) {
                // Their cache misses overlap.
                Look::Whole(record) if w.touches() => lines(record).for_each(|byte| w.touch(byte)),
                Look::Whole(_) => {}
                Look::Absent(_) | Look::Elsewhere => match range.resident(&self.log, m) {
                    Step::Done(Ok(())) => {}
                    Step::Done(Err(failed)) => *found = Err(failed.into()),
                    Step::Need(_) | Step::Blocked(_) => is_absent = true,
                },
            }
        }
        if is_absent { Step::Need(self.absent(plan, looked)) } else { Step::Done(looked) }
    }

    /// The pages of all that was looked at, values included.
    #[cold]
    fn absent(&self, plan: &Plan<Key>, mut looked: Looked<S>) -> Reads {
        let found = plan.members.iter().filter(|p| looks(p)).zip(&looked.found);
        let values: Reads = found
            .filter_map(|(p, found)| value_of(p, found))
            .flat_map(|range| range.pages(&self.log))
            .collect();
        looked.reads.extend(values);
        looked.needed()
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
        let inside = stores().map(|p| self.inside_of(self.member_goes_inside(p), counted_bytes(&p.member)));
        let inside = inside.fold(Inside::NONE, Inside::and);
        let content = self.content_with(plan.pairs, inside, lengths().max().unwrap_or(0));
        let new: u64 = lengths().map(u64::from).sum();
        let (all, capacity) = (self.content_bytes() + new, S::capacity_for(self, &content, m));
        if plan.pairs == 0 || all <= capacity && !self.tells(all, capacity) {
            return Step::Done(Ok(()));
        }
        let replaced = ready!(self.replaced_bytes(plan, looked, m, w));
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
    fn replaced_bytes<M: SegmentStore, W: Meter>(
        &self,
        plan: &Plan<Key>,
        looked: &mut Looked<S>,
        m: &M,
        w: &mut W,
    ) -> Step<Option<u64>> {
        let (mut bytes, mut is_absent) = (Some(0), false);
        let stores = plan.members.iter().filter(|p| p.role == Role::Pair);
        for (p, key) in stores.filter_map(|p| Some((p, p.place?))) {
            let inside = self.member_goes_inside(p);
            match self.find_for_group(&key, looked, m, w) {
                Step::Done(found) => {
                    looked.replaced.push(found.as_ref().map_or(Replaced::Unknown, |e| self.replaced_by(*e)));
                    let bytes_of = |e: Entry| u64::from(self.replaceable_bytes(&e, inside));
                    let old = found.ok().map(|e| e.map_or(0, bytes_of));
                    bytes = bytes.zip(old).map(|(all, old)| all + old);
                }
                Step::Need(_) => is_absent = true,
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
        }
        if is_absent { Step::Need(self.absent(plan, std::mem::take(looked))) } else { Step::Done(bytes) }
    }
}
