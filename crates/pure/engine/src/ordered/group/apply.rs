// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doing what a plan says, once it is in the log.

use super::super::Store;
use super::super::key::{Entry, Key};
use super::super::leaves::Near;
use super::super::living::Replaced;
use super::super::structure::Structure;
use super::Landed;
use super::look::Looked;
use saker_engine_api::{Answers, GroupOp, Version};
use saker_log::LogAddr;
use saker_segment_store::SegmentStore;
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::group::seal::Role;
use saker_value_log::group::{Plan, Planned, ToAnswers, member_loc};
use saker_value_log::record::{HEADER_BYTES, record_bytes};

/// Members whose places in the memtable are asked for together: about as many lines as a processor has on their way.
const AHEAD: usize = 16;

impl<S: Structure> Store<S> {
    /// Asks for what entering these members looks at, and says where that is, so that their cache misses overlap.
    #[inline]
    fn ask_ahead<W: Meter>(&self, members: &[Planned<Key>], w: &mut W) -> [Near; AHEAD] {
        let mut near = [Near::NOWHERE; AHEAD];
        if !w.touches() {
            return near;
        }
        let enters = |p: &Planned<Key>| if p.role.is_kept() { p.place } else { None };
        for (key, near) in members.iter().zip(&mut near).filter_map(|(p, near)| Some((enters(p)?, near))) {
            self.mem.touch(key.hash(), w);
            *near = self.mem.touch_leaf(&key, w);
        }
        for (key, near) in members.iter().zip(&near).filter_map(|(p, near)| Some((enters(p)?, near))) {
            self.mem.touch_place(&key, *near, w);
        }
        near
    }

    /// Carries out the plan.
    pub(super) fn apply<M: SegmentStore, W: Meter, A: Answers>(
        &mut self,
        plan: &Plan<Key>,
        looked: &Looked<S>,
        landed: Landed,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) {
        let (mut found, mut replaced) = (looked.found.iter(), looked.replaced.iter().copied());
        let (mut entered, mut user_bytes) = (0, 0);
        answers.begin(plan.members.len() as u32, Version(self.version));
        for members in plan.members.chunks(AHEAD) {
            for (p, near) in members.iter().zip(self.ask_ahead(members, w)) {
                let found = if p.member.op == GroupOp::Store { None } else { found.next() };
                match (p.role, p.place, found) {
                    (Role::Pair | Role::Tombstone, Some(key), found) => {
                        let replaced = match found {
                            Some(Ok(old)) => self.replaced_by(*old),
                            _ => replaced.next().unwrap_or(Replaced::Unknown),
                        };
                        self.enter_member((p, replaced), (key, near), landed, m);
                        entered += 1;
                        user_bytes += p.member.key.len() + p.member.value.len();
                        answers.done(Ok(()));
                    }
                    (_, Some(key), Some(Ok(Some(e)))) if p.member.op == GroupOp::Retrieve => {
                        self.answer(&key, e, answers, m, w);
                        self.note_entry_read(e);
                    }
                    _ => answers.done(p.result),
                }
            }
        }
        w.work(Unit::Decode, plan.members.len() as u64);
        w.work(Unit::Probe, 2 * entered);
        if entered > 0 {
            self.groups.records += 1;
            self.groups.members += entered;
            w.work(Unit::Encode, 1);
            w.work(Unit::ChecksumByte, 2 * user_bytes as u64);
            self.written(user_bytes, m);
        }
    }

    /// Whether the value of a member goes beside its key.
    pub(super) fn member_goes_inside(&self, p: &Planned<Key>) -> bool {
        !p.stays && self.settings.may_be_inside(p.member.value.len() as u32)
    }

    /// A member of the record becomes the newest of its key.
    fn enter_member<M: SegmentStore>(
        &mut self,
        (p, replaced): (&Planned<Key>, Replaced),
        (key, near): (Key, Near),
        (log_addr, stamp): Landed,
        m: &M,
    ) {
        let mut addr = member_loc(p, log_addr);
        let value_bytes = p.member.value.len() as u32;
        if p.role == Role::Pair && self.member_goes_inside(p) {
            self.note_passing(self.segment_at(addr.position()), record_bytes(key.len() as u32, value_bytes));
            let value = LogAddr(log_addr.0 + u64::from(HEADER_BYTES + p.member.value.start));
            let e = self.take_inside((key, self.version), (value, value_bytes), m);
            let e = e.expect("the record was just written");
            self.note_put(&e, value_bytes);
            return self.enter_near(e, replaced, near);
        }
        if p.role == Role::Tombstone {
            let id = self.segment_at(addr.position());
            self.log.add_until_checkpoint(id, u64::from(record_bytes(key.len() as u32, 0)));
            addr = RecordAddr::NONE;
        }
        let e = Entry { key, version: self.version, addr, stamp };
        if p.role == Role::Pair {
            self.note_put(&e, value_bytes);
        }
        self.enter_near(e, replaced, near);
    }

    /// Delivers a value whose pages are here.
    fn answer<M: SegmentStore, W: Meter, A: Answers>(
        &self,
        key: &Key,
        e: &Entry,
        answers: &mut A,
        m: &M,
        w: &mut W,
    ) {
        if e.is_inside() {
            return self.answer_inside(e, answers, m, w);
        }
        let addr = e.addr;
        w.work(Unit::Decode, 1);
        w.work(Unit::ChecksumByte, u64::from(addr.bytes()));
        w.work(Unit::CopyByte, u64::from(addr.bytes()));
        let checked = self.records().check(&key.padded()[..key.len()], addr, self.settings.owner, m);
        match checked {
            Err(e) => answers.done(Err(e)),
            Ok((start, bytes)) => {
                if answers.found(bytes) {
                    let sink = &mut ToAnswers(answers);
                    self.records().deliver(addr, start, bytes, sink, m).expect("answers take everything");
                }
            }
        }
    }

    fn answer_inside<M: SegmentStore, W: Meter, A: Answers>(
        &self,
        e: &Entry,
        answers: &mut A,
        m: &M,
        w: &mut W,
    ) {
        let bytes = e.addr.value_bytes_inside();
        w.work(Unit::Decode, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        if answers.found(bytes) {
            let sink = &mut ToAnswers(answers);
            self.deliver_inside(e, bytes, sink, m).expect("it was just found, and answers take everything");
        }
    }
}
