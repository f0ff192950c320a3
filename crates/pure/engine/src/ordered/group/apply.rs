// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doing what a plan says, once it is in the log.

use super::super::Store;
use super::super::key::{Entry, Key};
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

impl<S: Structure> Store<S> {
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
        let (mut members, mut user_bytes) = (0, 0);
        answers.begin(plan.members.len() as u32, Version(self.version));
        for p in &plan.members {
            let found = if p.member.op == GroupOp::Store { None } else { found.next() };
            match (p.role, p.place, found) {
                (Role::Pair | Role::Tombstone, Some(key), found) => {
                    let replaced = match found {
                        Some(Ok(old)) => self.replaced_by(*old),
                        _ => replaced.next().unwrap_or(Replaced::Unknown),
                    };
                    self.enter_member((p, replaced), key, landed, m);
                    (members, user_bytes) =
                        (members + 1, user_bytes + p.member.key.len() + p.member.value.len());
                    answers.done(Ok(()));
                }
                (_, Some(key), Some(Ok(Some(e)))) if p.member.op == GroupOp::Retrieve => {
                    self.answer(&key, e, answers, m, w);
                }
                _ => answers.done(p.result),
            }
        }
        w.work(Unit::Decode, plan.members.len() as u64);
        w.work(Unit::Probe, 2 * members);
        if members > 0 {
            self.groups.records += 1;
            self.groups.members += members;
            w.work(Unit::Encode, 1);
            w.work(Unit::ChecksumByte, 2 * user_bytes as u64);
            self.written(user_bytes, m);
        }
    }

    /// A member of the record becomes the newest of its key.
    fn enter_member<M: SegmentStore>(
        &mut self,
        (p, replaced): (&Planned<Key>, Replaced),
        key: Key,
        (log_addr, stamp): Landed,
        m: &M,
    ) {
        let mut addr = member_loc(p, log_addr);
        let value_bytes = p.member.value.len() as u32;
        if p.role == Role::Pair && self.settings.is_inside(value_bytes) {
            self.note_passing(self.segment_at(addr.position()), record_bytes(key.len() as u32, value_bytes));
            let value = LogAddr(log_addr.0 + u64::from(HEADER_BYTES + p.member.value.start));
            let e = self.take_inside((key, self.version), (value, value_bytes), m);
            return self.enter(e.expect("the record was just written"), replaced);
        }
        if p.role == Role::Tombstone {
            let id = self.segment_at(addr.position());
            self.log.add_until_checkpoint(id, u64::from(record_bytes(key.len() as u32, 0)));
            addr = RecordAddr::NONE;
        }
        self.enter(Entry { key, version: self.version, addr, stamp }, replaced);
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
