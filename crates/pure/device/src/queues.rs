//! The device's ends of the queues.

use crate::gather::{Gather, HELD_BYTES_MAX, InlineHead};
use saker_link::{DeviceCq, DeviceSq, DoorbellError, PostError, Sqe};
use saker_nvme::vendor::opcode::STORE_INLINE;
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
    /// Namespaces for which an inline store brings its value behind it: all but these. `None`: for none.
    inline_except: Option<Box<[u32]>>,
    /// An inline store whose value is not complete, or has just become it.
    head: Option<Box<InlineHead>>,
    /// One for the next.
    spare: Option<Box<InlineHead>>,
    /// Gathered bytes that wait for their execution.
    held: u32,
}

/// A completion queue and what did not fit in it yet.
#[derive(Debug)]
pub struct Completion {
    ring: DeviceCq,
    waiting: VecDeque<(Cqe, Vec<u8>)>,
}

impl Submission {
    #[inline]
    fn fetch(&mut self, into: &mut Sqe) -> Result<bool, DoorbellError> {
        match self.sq.fetch_into(into) {
            Ok(true) if into.opcode == STORE_INLINE && self.takes_inline(into) => self.begin_inline(into),
            fetched => fetched,
        }
    }

    /// Other command sets may give the opcode another meaning, or none.
    fn takes_inline(&self, sqe: &Sqe) -> bool {
        self.inline_except.as_ref().is_some_and(|except| !except.contains(&sqe.nsid.get()))
    }

    /// Fetches an inline store. It counts as fetched when its value is complete.
    #[inline]
    fn begin_inline(&mut self, sqe: &Sqe) -> Result<bool, DoorbellError> {
        let mut head = self.spare.take().unwrap_or_default();
        head.begin(sqe, &mut self.sq)?;
        let complete = head.feed(&mut self.sq);
        self.head = Some(head);
        complete
    }

    /// The next command of a queue that waits for the value of an inline store, or for room.
    #[cold]
    fn fetch_slowly(&mut self, into: &mut Sqe) -> Result<bool, DoorbellError> {
        let Some(head) = &mut self.head else { return Ok(false) };
        if !head.feed(&mut self.sq)? {
            return Ok(false);
        }
        if head.is_aborted() {
            self.head = None;
            return self.fetch(into);
        }
        *into = *head.sqe();
        Ok(true)
    }
}

impl Completion {
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
    /// Queues that failed (a doorbell value that cannot be): they are no longer served.
    pub failed: bool,
}

impl Queues {
    /// Adds a completion queue.
    pub fn add_cq(&mut self, qid: u16, ring: DeviceCq) {
        set(&mut self.cqs, qid, Completion { ring, waiting: VecDeque::new() });
    }

    /// Adds a submission queue; the values of inline stores are in the entries behind them, except for those namespaces.
    /// `None`: there are no inline stores.
    pub fn add_sq(&mut self, qid: u16, sq: DeviceSq, cqid: u16, inline_except: Option<Box<[u32]>>) {
        let gather = Gather::default();
        let submission = Submission { sq, cqid, gather, inline_except, head: None, spare: None, held: 0 };
        set(&mut self.sqs, qid, submission);
    }

    /// The queue's place for values that arrive in commands.
    #[inline]
    pub fn gather(&mut self, qid: u16) -> Option<&mut Gather> {
        self.sqs.get_mut(usize::from(qid))?.as_mut().map(|s| &mut s.gather)
    }

    /// The inline store that [`fetch`](Self::fetch) has just given, with its value.
    #[inline]
    pub fn take_inline(&mut self, qid: u16) -> Option<Box<InlineHead>> {
        self.sqs.get_mut(usize::from(qid))?.as_mut()?.head.take()
    }

    /// Gives it back for the next.
    #[inline]
    pub fn recycle(&mut self, qid: u16, head: Box<InlineHead>) {
        if let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) {
            s.spare = Some(head);
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
        let of = |s: &Submission| {
            s.gather.bytes() + s.held as usize + s.head.as_ref().map_or(0, |h| h.bytes().len())
        };
        self.sqs.iter().flatten().map(of).sum()
    }

    /// Aborts an inline store that waits for its value. True if there is one with that identifier.
    pub fn abort_inline(&mut self, qid: u16, cid: u16) -> bool {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return false };
        match &mut s.head {
            Some(head) if head.sqe().cid.get() == cid && !head.is_aborted() => {
                head.abort();
                true
            }
            _ => false,
        }
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

    /// The next command of a queue. A doorbell that cannot be fails the queues.
    #[inline]
    pub fn fetch(&mut self, qid: u16, into: &mut Sqe) -> bool {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return false };
        let waits = s.head.is_some() || s.held > HELD_BYTES_MAX;
        let fetched = if waits { s.fetch_slowly(into) } else { s.fetch(into) };
        fetched.unwrap_or_else(|_| {
            self.failed = true;
            false
        })
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
            c.waiting.push_back((cqe, Vec::new()));
            return;
        }
        match c.ring.post(&cqe) {
            Ok(()) => {}
            Err(PostError::Full) => c.waiting.push_back((cqe, Vec::new())),
            Err(PostError::Doorbell(_)) => self.failed = true,
        }
    }

    /// [`complete`](Self::complete) with `payload` in the entries behind the completion.
    pub fn complete_with(&mut self, qid: u16, cid: u16, status: Status, result: u64, payload: Vec<u8>) {
        let Some(Some(s)) = self.sqs.get_mut(usize::from(qid)) else { return };
        let cqe = Cqe::new(result, s.sq.head(), qid, cid, status);
        let Some(Some(c)) = self.cqs.get_mut(usize::from(s.cqid)) else { return };
        c.waiting.push_back((cqe, payload));
        c.drain();
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
