// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device's ends of the queues.

use crate::methods::{Behind, Gather, HELD_BYTES_MAX, InlineHead};
use saker_link::{DeviceCq, DeviceSq, DoorbellError, PostError, Sqe};
use saker_nvme::{Cqe, Status};
use std::collections::VecDeque;

/// A submission queue and the completion queue it reports to.
#[derive(Debug)]
pub struct Submission {
    /// The ring.
    pub sq: DeviceSq,
    /// Its completion queue.
    pub cqid: u16,
    /// Values that arrive in commands.
    pub gather: Gather,
    /// The value behind the command fetched last.
    behind: Behind,
    /// Gathered bytes that wait for their execution.
    held: u32,
}

/// A completion queue and what did not fit in it yet.
#[derive(Debug)]
pub struct Completion {
    ring: DeviceCq,
    waiting: VecDeque<(Cqe, Vec<u8>)>,
    /// The interrupt vector, unless the host looks by itself.
    vector: Option<u16>,
    /// What had been posted when the host was told last.
    told: (u32, u32),
}

impl Submission {
    #[inline(always)]
    fn fetch(&mut self, into: &mut Sqe) -> Result<bool, DoorbellError> {
        if self.behind.is_open() || self.held > HELD_BYTES_MAX {
            return self.behind.fetch_rest(&mut self.sq, into);
        }
        self.behind.fetch(&mut self.sq, into)
    }
}

impl Completion {
    #[cold]
    fn wait(&mut self, cqe: Cqe) {
        self.waiting.push_back((cqe, Vec::new()));
    }

    fn drain(&mut self) {
        while let Some((cqe, payload)) = self.waiting.front() {
            let posted =
                if payload.is_empty() { self.ring.post(cqe) } else { self.ring.post_with(cqe, payload) };
            if posted.is_err() {
                break;
            }
            self.waiting.pop_front();
        }
    }
}

/// All queues; number 0 is the admin pair.
#[derive(Debug, Default)]
pub struct Queues {
    sqs: Vec<Option<Submission>>,
    cqs: Vec<Option<Completion>>,
    /// Values that are open in some queue.
    open_values: u32,
    /// The only completion queue that can have entries which the host cannot see yet.
    unpublished: u16,
    /// Completions wait for room in some queue.
    has_waiting: bool,
}

impl Queues {
    /// Adds a completion queue, and the interrupt vector to tell its host by.
    pub fn add_cq(&mut self, qid: u16, ring: DeviceCq, vector: Option<u16>) {
        let told = ring.posted();
        set(&mut self.cqs, qid, Completion { ring, waiting: VecDeque::new(), vector, told });
    }

    /// Tells the interrupt vectors of queues with completions since the last call.
    pub fn interrupts(&mut self, mut tell: impl FnMut(u16)) {
        for c in self.cqs.iter_mut().flatten() {
            if let Some(vector) = c.vector
                && c.told != c.ring.posted()
            {
                c.told = c.ring.posted();
                tell(vector);
            }
        }
    }

    /// Looks where all rings are, after memory of another process was mapped or unmapped. False if one is nowhere.
    pub fn follow_memory(&mut self) -> bool {
        let sqs = self.sqs.iter_mut().flatten().map(|s| s.sq.follow_memory());
        let cqs = self.cqs.iter_mut().flatten().map(|c| c.ring.follow_memory());
        sqs.chain(cqs).fold(true, |all, is_there| all & is_there)
    }

    /// Adds a submission queue; `behind` knows whose values are in the entries behind their commands.
    pub fn add_sq(&mut self, qid: u16, sq: DeviceSq, cqid: u16, behind: Behind) {
        let gather = Gather::default();
        set(&mut self.sqs, qid, Submission { sq, cqid, gather, behind, held: 0 });
    }

    /// The queue's place for values that arrive in commands.
    #[inline]
    pub fn gather(&mut self, qid: u16) -> Option<&mut Gather> {
        self.sqs.get_mut(usize::from(qid))?.as_mut().map(|s| &mut s.gather)
    }

    /// The inline store `sqe` that [`fetch`](Self::fetch) has just given, with its value.
    #[inline]
    pub fn take_inline(&mut self, qid: u16, sqe: &Sqe) -> Option<Box<InlineHead>> {
        let submission = self.sqs.get_mut(usize::from(qid))?.as_mut()?;
        submission.behind.take(&mut submission.sq, sqe)
    }

    /// The ring that has the value of the inline store just fetched, if it is still there.
    #[inline]
    pub fn value_behind(&self, qid: u16) -> Option<&DeviceSq> {
        let submission = self.sqs.get(usize::from(qid))?.as_ref()?;
        submission.behind.is_in_ring().then_some(&submission.sq)
    }

    /// The value behind the inline store just fetched has been taken from the ring; the number of its entries.
    #[inline]
    pub fn pass_value_behind(&mut self, qid: u16) -> u32 {
        match self.sqs.get_mut(usize::from(qid)) {
            Some(Some(s)) => s.behind.pass(&mut s.sq),
            _ => 0,
        }
    }

    /// Counts gathered bytes that wait for their execution, so that memory stays bounded.
    pub fn hold(&mut self, qid: u16, bytes: u32) {
        if let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) {
            s.held += bytes;
        }
    }

    /// They were executed. True if the queue was not looked at because of them.
    pub fn release(&mut self, qid: u16, bytes: u32) -> bool {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return false };
        let was_full = s.held > HELD_BYTES_MAX;
        s.held = s.held.saturating_sub(bytes);
        was_full && s.held <= HELD_BYTES_MAX
    }

    /// Gathered bytes of all queues, executing ones included.
    pub fn gathered_bytes(&self) -> usize {
        let of = |s: &Submission| s.gather.bytes() + s.held as usize + s.behind.bytes();
        self.sqs.iter().flatten().map(of).sum()
    }

    /// Aborts an inline store that waits for its value. True if there is one with that identifier.
    pub fn abort_inline(&mut self, qid: u16, cid: u16) -> bool {
        self.sqs.get_mut(usize::from(qid)).and_then(Option::as_mut).is_some_and(|s| s.behind.abort(cid))
    }

    /// Whether a value is open in a queue.
    pub fn is_value_open(&mut self, qid: u16) -> bool {
        self.gather(qid).is_some_and(|g| g.is_open())
    }

    /// Whether a value is open in any queue.
    #[inline]
    pub fn has_open_values(&self) -> bool {
        self.open_values > 0
    }

    /// Counts a value that was opened or closed.
    pub fn note_open(&mut self, qid: u16, was_open: bool) {
        self.open_values -= u32::from(was_open);
        self.open_values += u32::from(self.is_value_open(qid));
    }

    /// Forgets the value that is open in a queue: another command has come.
    #[cold]
    pub fn close_value(&mut self, qid: u16) {
        let was_open = self.is_value_open(qid);
        if let Some(gather) = self.gather(qid) {
            gather.close();
        }
        self.note_open(qid, was_open);
    }

    /// Removes a submission queue.
    pub fn remove_sq(&mut self, qid: u16) {
        self.close_value(qid);
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

    /// The next command of a queue. A queue whose doorbell has a value that cannot be is not
    /// served as long as it has it, nor is one whose completions wait for room: a host that takes none would fill memory. Whoever gets an inline store
    /// [takes](Self::take_inline) its value before the next fetch, or [passes](Self::pass_value_behind) it.
    #[inline(always)]
    pub fn fetch(&mut self, qid: u16, into: &mut Sqe) -> bool {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return false };
        if self.has_waiting && is_stuck(&self.cqs, s.cqid) {
            return false;
        }
        s.fetch(into).unwrap_or(false)
    }

    /// Commands of a queue that may be on their way: as many as it or its completion queue has entries. No host has more under way that
    /// has room for their completions; one that writes any doorbells could make the device fetch for ever.
    pub fn fetched_max(&self, qid: u16) -> u32 {
        let submission = self.sqs.get(usize::from(qid)).and_then(Option::as_ref);
        submission.map_or(u32::MAX, |s| s.sq.entries().max(self.cq_entries(qid)))
    }

    /// Whether a queue has entries that are known without a look at its doorbell.
    #[inline(always)]
    pub fn has_more(&self, qid: u16) -> bool {
        matches!(self.sqs.get(usize::from(qid)), Some(Some(s)) if s.sq.known() > 0)
    }

    /// Whether any queue has commands.
    pub fn has_pending(&mut self) -> bool {
        self.sqs.iter_mut().flatten().any(|s| s.sq.pending().is_ok_and(|n| n > 0))
    }

    /// Posts a completion for a command of a submission queue; it waits when the ring is full. A queue that was
    /// deleted meanwhile gets none.
    #[inline]
    pub fn complete(&mut self, qid: u16, cid: u16, status: Status, result: u64) {
        self.complete_later(qid, cid, status, result);
        self.publish();
    }

    /// As [`complete`](Self::complete), but while more commands are known of the host may see it only after
    /// [`publish`](Self::publish). True if none [more](Self::has_more) is known.
    // Always inlined: the end of every command, which was 15 instructions dearer as a call.
    #[inline(always)]
    pub fn complete_later(&mut self, qid: u16, cid: u16, status: Status, result: u64) -> bool {
        let Some(Some(s)) = self.sqs.get(usize::from(qid)) else { return true };
        let (sq_head, cqid, is_last) = (s.sq.head(), s.cqid, s.sq.known() == 0);
        let answer = || Cqe::new(result, sq_head, qid, cid, status);
        if self.unpublished != cqid {
            self.publish();
            self.unpublished = cqid;
        }
        let Some(Some(c)) = self.cqs.get_mut(usize::from(cqid)) else { return is_last };
        if !c.waiting.is_empty() {
            c.wait(answer());
            return is_last;
        }
        // Whoever waits for the last is not made to wait for the next look at the doorbell.
        let posted = if is_last { c.ring.post(&answer()) } else { c.ring.post_later(&answer()) };
        match posted {
            Ok(()) => {}
            Err(PostError::Full) => {
                c.wait(answer());
                self.has_waiting = true;
            }
            // Nobody reads a queue whose doorbell cannot be: its host finds out by a time-out.
            Err(PostError::Doorbell(_)) => {}
        }
        is_last
    }

    /// Lets the host see all completions.
    #[inline]
    pub fn publish(&mut self) {
        if let Some(Some(c)) = self.cqs.get_mut(usize::from(self.unpublished)) {
            c.ring.publish();
        }
    }

    /// [`complete`](Self::complete) with `payload` in the entries behind the completion.
    pub fn complete_with(&mut self, qid: u16, cid: u16, status: Status, result: u64, payload: Vec<u8>) {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return };
        let cqe = Cqe::new(result, s.sq.head(), qid, cid, status);
        let Some(Some(c)) = self.cqs.get_mut(usize::from(s.cqid)) else { return };
        // Posting with payload publishes what was posted before.
        c.waiting.push_back((cqe, payload));
        c.drain();
        self.has_waiting |= !c.waiting.is_empty();
    }

    /// Entries of the completion queue of a submission queue.
    pub fn cq_entries(&self, qid: u16) -> u32 {
        let cqid = self.sqs.get(usize::from(qid)).and_then(Option::as_ref).map(|s| s.cqid);
        let cq = cqid.and_then(|cqid| self.cqs.get(usize::from(cqid))?.as_ref());
        cq.map_or(0, |c| c.ring.entries())
    }

    /// Posts what waited for room.
    pub fn drain_waiting(&mut self) {
        self.cqs.iter_mut().flatten().for_each(Completion::drain);
        self.has_waiting = self.cqs.iter().flatten().any(|c| !c.waiting.is_empty());
    }

    /// Completions that wait for room in any queue.
    pub fn has_waiting(&self) -> bool {
        self.has_waiting
    }
}

/// Whether completions wait for room in a queue.
#[cold]
fn is_stuck(cqs: &[Option<Completion>], cqid: u16) -> bool {
    matches!(cqs.get(usize::from(cqid)), Some(Some(c)) if !c.waiting.is_empty())
}

fn set<T>(slots: &mut Vec<Option<T>>, qid: u16, value: T) {
    let n = usize::from(qid);
    if slots.len() <= n {
        slots.resize_with(n + 1, || None);
    }
    slots[n] = Some(value);
}
