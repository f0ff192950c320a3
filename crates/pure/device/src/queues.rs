//! The device's ends of the queues.

use saker_link::{DeviceCq, DeviceSq, PostError, Sqe};
use saker_nvme::{Cqe, Status};
use std::collections::VecDeque;

/// A submission queue and the completion queue it reports to.
#[derive(Debug)]
pub struct Submission {
    /// The ring.
    pub sq: DeviceSq,
    /// Its completion queue.
    pub cqid: u16,
}

/// A completion queue and what did not fit in it yet.
#[derive(Debug)]
pub struct Completion {
    ring: DeviceCq,
    waiting: VecDeque<Cqe>,
}

/// All queues; number 0 is the admin pair.
#[derive(Debug, Default)]
pub struct Queues {
    sqs: Vec<Option<Submission>>,
    cqs: Vec<Option<Completion>>,
    /// Queues that failed (a doorbell value that cannot be): they are no longer served.
    pub failed: bool,
}

impl Queues {
    /// Adds a completion queue.
    pub fn add_cq(&mut self, qid: u16, ring: DeviceCq) {
        set(&mut self.cqs, qid, Completion { ring, waiting: VecDeque::new() });
    }

    /// Adds a submission queue.
    pub fn add_sq(&mut self, qid: u16, sq: DeviceSq, cqid: u16) {
        set(&mut self.sqs, qid, Submission { sq, cqid });
    }

    /// Removes a submission queue.
    pub fn remove_sq(&mut self, qid: u16) {
        if let Some(slot) = self.sqs.get_mut(usize::from(qid)) {
            *slot = None;
        }
    }

    /// Removes a completion queue.
    pub fn remove_cq(&mut self, qid: u16) {
        if let Some(slot) = self.cqs.get_mut(usize::from(qid)) {
            *slot = None;
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Numbers up to which submission queues may exist.
    #[inline]
    pub fn sq_count(&self) -> u16 {
        self.sqs.len() as u16
    }

    /// The next command of a queue. A doorbell that cannot be fails the queues.
    #[inline]
    pub fn fetch(&mut self, qid: u16, into: &mut Sqe) -> bool {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return false };
        match s.sq.fetch_into(into) {
            Ok(fetched) => fetched,
            Err(_) => {
                self.failed = true;
                false
            }
        }
    }

    /// Whether any queue has commands.
    pub fn has_pending(&mut self) -> bool {
        self.sqs.iter_mut().flatten().any(|s| s.sq.pending().is_ok_and(|n| n > 0))
    }

    /// A look at the commands that come next in a queue.
    #[inline]
    pub fn peek(&mut self, qid: u16, into: &mut [Sqe]) -> usize {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return 0 };
        s.sq.peek_batch(into).unwrap_or(0)
    }

    /// Posts a completion for a command of a submission queue; it waits when the ring is full. A queue that was
    /// deleted meanwhile gets none.
    #[inline]
    pub fn complete(&mut self, qid: u16, cid: u16, status: Status, result: u64) {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return };
        let cqe = Cqe::new(result, s.sq.head(), qid, cid, status);
        let Some(Some(c)) = self.cqs.get_mut(usize::from(s.cqid)) else { return };
        if !c.waiting.is_empty() {
            c.waiting.push_back(cqe);
            return;
        }
        match c.ring.post(&cqe) {
            Ok(()) => {}
            Err(PostError::Full) => c.waiting.push_back(cqe),
            Err(PostError::Doorbell(_)) => self.failed = true,
        }
    }

    /// Posts what waited for room.
    pub fn drain_waiting(&mut self) {
        for c in self.cqs.iter_mut().flatten() {
            while let Some(cqe) = c.waiting.front() {
                if c.ring.post(cqe).is_err() {
                    break;
                }
                c.waiting.pop_front();
            }
        }
    }

    /// Completions that wait for room in any queue.
    pub fn has_waiting(&self) -> bool {
        self.cqs.iter().flatten().any(|c| !c.waiting.is_empty())
    }
}

fn set<T>(slots: &mut Vec<Option<T>>, qid: u16, value: T) {
    let n = usize::from(qid);
    if slots.len() <= n {
        slots.resize_with(n + 1, || None);
    }
    slots[n] = Some(value);
}
