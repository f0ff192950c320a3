// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doing what a plan says, once it is in the log.

use super::super::HashStore;
use crate::mix::IndexKey;
use saker_engine_api::{Answers, GroupOp, KvError, Version};
use saker_log::{Bytes, LogAddr};
use saker_segment_store::SegmentStore;
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::group::seal::Role;
use saker_value_log::group::{Planned, ToAnswers, member_loc};
use saker_value_log::record::record_bytes;

impl HashStore {
    /// Carries out the plan; `log_addr`: where its record is, if it wrote one.
    pub(super) fn apply<M: SegmentStore, W: Meter, A: Answers>(
        &mut self,
        log_addr: LogAddr,
        answers: &mut A,
        m: &M,
        w: &mut W,
    ) {
        let members = std::mem::take(&mut self.plan.members);
        let found = std::mem::take(&mut self.found);
        let mut reads = found.iter();
        let (mut bytes, mut wrote) = (0, false);
        answers.begin(members.len() as u32, Version(self.version));
        for p in &members {
            bytes +=
                u64::from(p.member.key.end - p.member.key.start + p.member.value.end - p.member.value.start);
            match (p.role, p.place) {
                (Role::Pair, Some(place)) => {
                    self.enter_soon(place, member_loc(p, log_addr), w);
                    self.stats.user_bytes_written += (p.member.key.len() + p.member.value.len()) as u64;
                    wrote = true;
                    answers.done(Ok(()));
                }
                (Role::Tombstone, Some(place)) => {
                    self.bury(p, place, log_addr);
                    wrote = true;
                    answers.done(Ok(()));
                }
                (_, place) if p.member.op == GroupOp::Retrieve => {
                    // The store is as it was when they were looked up: no other member writes their keys.
                    let addr = *reads.next().expect("each was looked up");
                    match place.zip(addr) {
                        Some((place, addr)) => self.answer((place, p.member.key.len()), addr, answers, m, w),
                        None => answers.done(p.result.and(Err(KvError::NotFound))),
                    }
                }
                _ => answers.done(p.result),
            }
        }
        self.version += u64::from(wrote);
        self.charge(members.len() as u64, if wrote { bytes } else { 0 }, w);
        self.plan.members = members;
        self.found = found;
    }

    /// A member is the tombstone of its key.
    fn bury(&mut self, p: &Planned<IndexKey>, place: IndexKey, log_addr: LogAddr) {
        let addr = member_loc(p, log_addr);
        let bytes = record_bytes(p.member.key.len() as u32, 0);
        self.log.add_until_checkpoint(self.segment_of(addr.position()), u64::from(bytes));
        let old = self.index.remove(place).expect("the plan found it");
        self.prefetch.drop_value(&place);
        self.forget(old);
        self.stats.user_bytes_written += p.member.key.len() as u64;
    }

    /// Delivers a value whose pages are here.
    fn answer<M: SegmentStore, W: Meter, A: Answers>(
        &self,
        (place, key_bytes): (IndexKey, usize),
        addr: RecordAddr,
        answers: &mut A,
        m: &M,
        w: &mut W,
    ) {
        let (key, _) = self.index.key(place);
        w.work(Unit::Compare, 1);
        w.work(Unit::ChecksumByte, u64::from(addr.bytes()));
        w.work(Unit::CopyByte, u64::from(addr.bytes()));
        let key = &key[..key_bytes];
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        if let Some(record) = range.whole(&self.log, m) {
            let Some(value) = self.value_of(key, addr, record) else {
                return answers.done(Err(KvError::Corrupt));
            };
            if answers.found(value.len() as u32) {
                answers.value(value);
            }
            return;
        }
        let (start, value_bytes) = match self.records().check(key, addr, self.config.owner, m) {
            Ok(found) => found,
            Err(e) => return answers.done(Err(e)),
        };
        if answers.found(value_bytes) {
            let mut sink = ToAnswers(answers);
            self.records().deliver(addr, start, value_bytes, &mut sink, m).expect("answers take everything");
        }
    }
}
