// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The I/O queues that exist, and which may be made or removed (Base 2.0, sections 5.4, 5.5, 5.6 and 5.7).

use std::collections::BTreeMap;

use saker_nvme::Status;
use saker_nvme::admin::{CreateCq, CreateSq};

use super::identity::PAGE_BYTES;
use super::outcome::{Action, Decision, Outcome};

/// What bounds a new queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueLimits {
    /// The largest QID of a submission queue.
    pub submission: u16,
    /// The largest QID of a completion queue.
    pub completion: u16,
    /// Most entries.
    pub entries: u32,
    /// Interrupt vectors.
    pub vectors: u16,
}

/// I/O queues by QID. The admin queues are not in it.
#[derive(Debug, Default)]
pub(super) struct QueueTable {
    /// Completion queues with the number of submission queues that post to each.
    completion: BTreeMap<u16, u32>,
    /// Submission queues with their completion queue.
    submission: BTreeMap<u16, u16>,
}

impl QueueTable {
    pub fn is_empty(&self) -> bool {
        self.completion.is_empty() && self.submission.is_empty()
    }

    /// Whether `qid` is a submission queue; the admin queue, 0, always is.
    pub fn has_submission(&self, qid: u16) -> bool {
        qid == 0 || self.submission.contains_key(&qid)
    }

    pub fn create_cq(&mut self, command: &CreateCq, limits: QueueLimits) -> Decision {
        if !(1..=limits.completion).contains(&command.qid) || self.completion.contains_key(&command.qid) {
            return Err(Status::INVALID_QUEUE_ID);
        }
        let entries = check_memory(command.entries, command.contiguous, command.base, limits.entries)?;
        let vector = command.interrupts_enabled.then_some(command.interrupt_vector);
        if vector.is_some_and(|vector| vector >= limits.vectors) {
            return Err(Status::INVALID_INTERRUPT_VECTOR);
        }
        self.completion.insert(command.qid, 0);
        Ok(Outcome::act(Action::CreateCq { qid: command.qid, entries, iova: command.base, vector }))
    }

    pub fn create_sq(&mut self, command: &CreateSq, limits: QueueLimits) -> Decision {
        let (qid, cqid) = (command.qid, command.cqid);
        if !(1..=limits.submission).contains(&qid) || self.submission.contains_key(&qid) {
            return Err(Status::INVALID_QUEUE_ID);
        }
        if !(1..=limits.completion).contains(&cqid) {
            return Err(Status::INVALID_QUEUE_ID);
        }
        if !self.completion.contains_key(&cqid) {
            return Err(Status::CQ_INVALID);
        }
        let entries = check_memory(command.entries, command.contiguous, command.base, limits.entries)?;
        self.attach(qid, cqid);
        Ok(Outcome::act(Action::CreateSq { qid, cqid, entries, iova: command.base }))
    }

    pub fn delete_sq(&mut self, qid: u16) -> Decision {
        let cqid = self.detach(qid).ok_or(Status::INVALID_QUEUE_ID)?;
        Ok(Outcome::act(Action::DeleteSq { qid, cqid }))
    }

    pub fn delete_cq(&mut self, qid: u16) -> Decision {
        match self.completion.get(&qid) {
            None => Err(Status::INVALID_QUEUE_ID),
            Some(0) => {
                self.completion.remove(&qid);
                Ok(Outcome::act(Action::DeleteCq { qid }))
            }
            Some(_) => Err(Status::INVALID_QUEUE_DELETION),
        }
    }

    /// Takes back the entry of a queue that the device could not make or remove.
    pub fn undo(&mut self, action: &Action) {
        match action {
            Action::CreateCq { qid, .. } => {
                self.completion.remove(qid);
            }
            Action::CreateSq { qid, .. } => {
                self.detach(*qid);
            }
            Action::DeleteSq { qid, cqid } => self.attach(*qid, *cqid),
            Action::DeleteCq { qid } => {
                self.completion.insert(*qid, 0);
            }
            _ => {}
        }
    }

    fn attach(&mut self, qid: u16, cqid: u16) {
        let earlier = self.submission.insert(qid, cqid);
        assert!(earlier.is_none(), "submission queue {qid} exists already");
        *self.completion.entry(cqid).or_default() += 1;
    }

    fn detach(&mut self, qid: u16) -> Option<u16> {
        let cqid = self.submission.remove(&qid)?;
        let attached = self.completion.get_mut(&cqid).expect("a submission queue keeps its completion queue");
        *attached = attached.checked_sub(1).expect("every submission queue is counted");
        Some(cqid)
    }
}

/// The entries of a queue, if its size and memory can be accepted. CAP.CQR wants one contiguous piece.
fn check_memory(entries: u32, contiguous: bool, base: u64, entries_max: u32) -> Result<u32, Status> {
    if !(2..=entries_max).contains(&entries) {
        return Err(Status::INVALID_QUEUE_SIZE);
    }
    if !contiguous {
        return Err(Status::INVALID_FIELD);
    }
    if !base.is_multiple_of(u64::from(PAGE_BYTES)) {
        return Err(Status::PRP_OFFSET_INVALID);
    }
    Ok(entries)
}
