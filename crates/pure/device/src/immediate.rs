// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timing `off`: a command is served when it is seen, and is finished before the next one is looked at.

mod aside;
mod quick;
mod small;

pub use aside::Aside;

use crate::config::DeviceConfig;
use crate::device::{Attachment, Device, FLUSH};
use crate::execute::{Outcome, Reach, Reply, Request, check_flush, kv_status};
use crate::namespace::Namespace;
use crate::vendor;
use saker_engine::{Background, Job, Progress};
use saker_flash::{Flash, NamespaceSegments};
use saker_link::{DmaSpace, Sqe};
use saker_nvme::{NSID_ALL, Status};
use saker_segment_store::{SegmentStore, Stall, Step, Tag};
use saker_sim::{Class, Meter, Unit};

/// No clock, no costs.
#[derive(Debug, Default)]
pub struct Untimed {
    /// The last media operation when background work was looked for, and what was due.
    looked_at: Tag,
    due: Due,
    /// Who computes beside it.
    beside: aside::Beside,
}

/// Background work, as far as is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Due {
    #[default]
    Nothing,
    /// What writes put off: nobody looks again behind one before pages were programmed.
    PutOff,
    Now,
}

impl Due {
    /// Whether somebody looks for work behind a command, or where nothing else is done.
    fn is_for(self, is_write: bool) -> bool {
        match self {
            Self::Nothing => false,
            Self::PutOff => !is_write,
            Self::Now => true,
        }
    }
}

/// Counts nothing, but tells the processor what will be needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick;

impl Meter for Quick {
    #[inline(always)]
    fn touches(&self) -> bool {
        true
    }
    #[inline(always)]
    fn work(&mut self, _: Unit, _: u64) {}
    #[inline(always)]
    fn touch<T>(&mut self, at: &T) {
        saker_link::prefetch_early(at);
    }
}

/// Commands of a queue that are served before the next queue has its turn (round-robin arbitration).
const BURST: u32 = 64;
/// Attempts without any progress after which a blocked command is given up.
const FRUITLESS_MAX: u32 = 4;
/// Quanta for each page of a namespace after which a blocked command is given up although they did something: more than
/// moving every record and merging every table through all levels takes.
const QUANTA_PER_PAGE: u64 = 64;
/// The same for what waits for the host's file: work that needs pages comes to nothing, other work makes room soon or
/// never.
pub(crate) const QUANTA_WHILE_HELD: u64 = 64;

/// What was tried for a blocked command.
#[derive(Default)]
struct Tries {
    /// Attempts in a row without any progress.
    fruitless: u32,
    /// Quanta of background work.
    quanta: u64,
}

/// What a blocked command does next.
#[derive(PartialEq, Eq)]
enum Room {
    TryAgain,
    GivenUp,
}

impl Device<Untimed> {
    /// A device that keeps no time. It recovers at once.
    pub fn new(flash: Flash, config: DeviceConfig, host: Attachment) -> Self {
        assert!(!flash.is_timed(), "flash with a timing model needs a timed device");
        let mut device = Self::with_tempo(flash, config, host, Untimed::default());
        device.boot();
        device
    }

    fn boot(&mut self) {
        self.advance_formats();
        self.fail_formats_without_power();
        for n in 0..self.namespaces.len() {
            let owner = self.namespaces[n].owner();
            loop {
                let step = self.namespaces[n].recover(&mut self.flash.view(owner, Class::Foreground));
                match step {
                    Step::Done(Progress::Finished) => break,
                    // Nothing is programmed any more: recovery would wait for that for ever.
                    Step::Done(Progress::More) if !self.flash.is_powered() => break,
                    Step::Done(Progress::More) => {}
                    Step::Need(_) | Step::Blocked(_) => unreachable!("untimed pages are resident"),
                }
            }
            self.settle();
        }
        // The last life may have put something off.
        self.tempo.due = Due::Now;
        self.note_boot();
    }

    /// Serves what the host has submitted. True if there was anything.
    // Not marked for inlining: the device would be compiled into every crate that calls it.
    pub fn advance(&mut self) -> bool {
        self.watch_registers();
        let mut any = false;
        for qid in 1..self.queues.sq_count() {
            let mut sqe = Sqe::new(0, 0);
            for _ in 0..BURST {
                if !self.queues.fetch(qid, &mut sqe) {
                    break;
                }
                let served = self.serve_quickly(qid, &sqe);
                let is_last = served.unwrap_or_else(|| self.serve(qid, &sqe));
                any = true;
                // One look at the doorbell for all that it announced: the next is the next turn's.
                if is_last {
                    break;
                }
            }
            self.queues.publish();
        }
        any || self.advance_rarely()
    }

    #[cold]
    fn advance_rarely(&mut self) -> bool {
        if self.queues.has_waiting() {
            self.queues.drain_waiting();
        }
        let has_served = self.serve_admin();
        // What has become due by a setting is noticed although nothing was programmed.
        if std::mem::take(&mut self.retuned) {
            self.tempo.due = Due::Now;
        }
        has_served || self.format() || self.drain() || self.resume_if_due() || self.catch_up()
    }

    /// Formats are over in one step here; a namespace that was damaged recovers then.
    fn format(&mut self) -> bool {
        let any = self.advance_formats();
        if any {
            self.boot();
        }
        any || self.give_up_formats()
    }

    /// Carries out and answers any command; true if no more is known of its queue.
    #[inline(never)]
    fn serve(&mut self, qid: u16, sqe: &Sqe) -> bool {
        if sqe.opcode >= vendor::FIRST {
            self.serve_vendor(qid, sqe);
            return !self.queues.has_more(qid);
        }
        if self.queues.has_open_values() {
            self.queues.close_value(qid);
        }
        let reply = if self.flash.is_powered() { self.reply(sqe) } else { failed(Status::INTERNAL_ERROR) };
        self.count(qid, sqe, reply.status);
        self.queues.complete_later(qid, sqe.cid.get(), reply.status, u64::from(reply.dw0))
    }

    #[inline(always)]
    fn count(&mut self, qid: u16, sqe: &Sqe, status: Status) {
        self.stats.commands += 1;
        self.stats.traffic.sqe_fetches += 1;
        self.stats.traffic.cqes += 1;
        self.count_opcode(sqe, status, None);
        if !status.is_success() {
            self.note_failure(qid, sqe, status);
        }
    }

    #[inline]
    fn reply(&mut self, sqe: &Sqe) -> Reply {
        let nsid = sqe.nsid.get();
        if nsid == NSID_ALL && sqe.opcode == FLUSH {
            return self.flush_all(sqe);
        }
        let Some(n) = self.namespace_index(nsid) else {
            let broadcast = nsid == NSID_ALL;
            return failed(if broadcast {
                Status::INVALID_FIELD
            } else {
                Status::INVALID_NAMESPACE_OR_FORMAT
            });
        };
        if self.is_formatting(n) {
            return failed(Status::FORMAT_IN_PROGRESS);
        }
        self.execute(n, sqe)
    }

    #[inline]
    fn execute(&mut self, n: usize, sqe: &Sqe) -> Reply {
        if sqe.opcode == FLUSH {
            return self.flush(n, sqe);
        }
        let kind = &self.namespaces[n].config.kind;
        let mut request = match Request::decode(sqe, kind, &self.host.space, self.pointer_rule()) {
            Ok(request) => request,
            Err(status) => return failed(status),
        };
        request.count_in(sqe, &mut self.stats.traffic);
        let reply = self.run(n, &mut request);
        self.count_out(&request, sqe, reply.bytes_out);
        request.count_work(&reply, &mut self.stats.work);
        reply
    }

    #[inline]
    fn count_out(&mut self, request: &Request, sqe: &Sqe, bytes: u32) {
        if bytes > 0 {
            request.pieces().count(bytes, &mut self.stats.traffic.to_host);
            request.count_list(sqe, bytes, &mut self.stats.traffic);
        }
    }

    #[inline(always)]
    fn run(&mut self, n: usize, request: &mut Request) -> Reply {
        let reply = self.run_once(n, request);
        if !reply.status.is_success() { self.run_again(n, request, reply) } else { reply }
    }

    /// Of a group that was done in part, what was done is told.
    #[cold]
    fn run_again(&mut self, n: usize, request: &mut Request, reply: Reply) -> Reply {
        let no_room = self.no_room();
        if reply.status.is(kv_status(no_room)) && request.give_up(no_room) {
            return self.run_once(n, request);
        }
        let status = self.truthful(reply.status);
        self.note_refused(n, request.user_bytes(), status);
        Reply { status, ..reply }
    }

    #[inline(always)]
    fn run_once(&mut self, n: usize, request: &mut Request) -> Reply {
        if let Some(status) = self.refusal(n, request) {
            return failed(status);
        }
        let is_write = request.is_write();
        if is_write && self.flash.is_read_only() {
            return failed(Status::WRITE_FAULT);
        }
        self.run_with(n, is_write, |namespace, space, view| {
            request.execute(namespace, Reach { space, dma_engine: false }, view, &mut Quick)
        })
    }

    /// Executes as often as it takes.
    #[inline(always)]
    fn run_with(
        &mut self,
        n: usize,
        is_write: bool,
        mut execute: impl FnMut(&mut Namespace, &DmaSpace, &mut NamespaceSegments<'_>) -> Outcome,
    ) -> Reply {
        let owner = self.namespaces[n].owner();
        let mut tries = Tries::default();
        loop {
            let mut view = self.flash.view(owner, Class::Foreground);
            match execute(&mut self.namespaces[n], &self.host.space, &mut view) {
                Outcome::Done(mut reply) => {
                    if self.write_through && is_write && reply.status.is_success() {
                        reply.flush =
                            self.namespaces[n].flush(&mut self.flash.view(owner, Class::Foreground));
                    }
                    self.after_command(n, is_write);
                    return if reply.flush.is_some() { self.finish_flush(n, reply) } else { reply };
                }
                Outcome::Need(_) => unreachable!("untimed pages are resident"),
                Outcome::Blocked(stall) => {
                    if self.try_for_room(n, stall, &mut tries) == Room::GivenUp {
                        return failed(kv_status(self.no_room()));
                    }
                }
            }
            if !self.flash.is_powered() {
                return failed(Status::INTERNAL_ERROR);
            }
        }
    }

    /// One attempt for a command that is blocked.
    #[cold]
    fn try_for_room(&mut self, n: usize, stall: Stall, tries: &mut Tries) -> Room {
        let worked = self.make_room(n);
        if stall == Stall::Worker {
            // It may need this core.
            if !worked {
                std::thread::yield_now();
            }
            return Room::TryAgain;
        }
        tries.fruitless = if worked { 0 } else { tries.fruitless + 1 };
        tries.quanta += 1;
        if self.gives_up(n, tries.fruitless, tries.quanta) { Room::GivenUp } else { Room::TryAgain }
    }

    /// Whether a blocked command waits no longer. While the host's file refuses pages it has to refuse once more for
    /// that.
    #[cold]
    fn gives_up(&mut self, n: usize, fruitless: u32, quanta: u64) -> bool {
        if self.flash.is_held() {
            return (fruitless > 0 || quanta > QUANTA_WHILE_HELD) && !self.resume();
        }
        fruitless > FRUITLESS_MAX || quanta > self.quanta_max(n)
    }

    /// Background work that a command waits for at most.
    #[cold]
    fn quanta_max(&mut self, n: usize) -> u64 {
        let owner = self.namespaces[n].owner();
        let view = self.flash.view(owner, Class::Background);
        QUANTA_PER_PAGE * u64::from(view.geometry().segment_pages) * u64::from(view.quota_segments())
    }

    /// Media completions and one quantum of background work, if any is due. Work becomes due as pages are programmed:
    /// most commands fill no page and pass by.
    #[inline(always)]
    fn after_command(&mut self, n: usize, is_write: bool) {
        let tempo = &self.tempo;
        if self.flash.submitted() != tempo.looked_at || tempo.due.is_for(is_write) || tempo.beside.is_done() {
            self.look_after(n, is_write);
        }
    }

    /// Behind a write nothing is done that can be put off: what reads find is in order before long, and what an idle device has. True if
    /// anything was done.
    #[inline(never)]
    fn look_after(&mut self, n: usize, is_write: bool) -> bool {
        self.settle();
        self.take_back_done();
        if self.flash.is_held() {
            self.resume_if_due();
        }
        let mut waits = false;
        let first = (n..self.namespaces.len()).chain(0..n).find(|k| {
            let has_debt = self.has_debt(*k);
            let is_put_off = has_debt && is_write && self.puts_off(*k);
            waits |= is_put_off;
            has_debt && !is_put_off
        });
        let others = if waits { Due::PutOff } else { Due::Nothing };
        let due = if first.is_some() { Due::Now } else { others };
        (self.tempo.looked_at, self.tempo.due) = (self.flash.submitted(), due);
        let job = if is_write { Job::URGENT } else { Job::UPKEEP };
        let did = first.is_some_and(|n| self.work_on(n, job));
        if !did && self.tempo.beside.is_busy() {
            // It is what is waited for: nobody needs to look before it is done.
            self.tempo.due = Due::Nothing;
        }
        did
    }

    fn puts_off(&mut self, n: usize) -> bool {
        let owner = self.namespaces[n].owner();
        self.namespaces[n].puts_off(&self.flash.view(owner, Class::Background))
    }

    /// Nothing else is to be done: what is due goes on, which may have been put off. True if that did anything.
    fn catch_up(&mut self) -> bool {
        (self.tempo.due.is_for(false) || self.tempo.beside.is_done()) && self.look_after(0, false)
    }

    fn has_debt(&mut self, n: usize) -> bool {
        let owner = self.namespaces[n].owner();
        self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background))
    }

    /// One quantum of background work. True if something was done.
    fn make_room(&mut self, n: usize) -> bool {
        self.take_back_done();
        // What is computed makes room before long: nothing is begun for it that could wait.
        let job = if self.is_computing() { Job::URGENT } else { Job::UPKEEP };
        self.work_on(n, job) || self.take_back()
    }

    /// One quantum of a job.
    fn work_on(&mut self, n: usize, job: Job) -> bool {
        let settled = self.settle();
        let owner = self.namespaces[n].owner();
        let mut view = self.flash.view(owner, Class::Background);
        let step = self.namespaces[n].background(job, &mut view, &mut Quick);
        let did = matches!(step, Step::Done(Background::Worked));
        let handed_out = self.hand_out(n);
        // Slots that wait for a sync are room too.
        self.settle() || settled || did || handed_out || self.flash.cool()
    }

    /// A Flush moves no data and names no key: what a [`Request`] holds beside it would be made and dropped for nothing.
    fn flush(&mut self, n: usize, sqe: &Sqe) -> Reply {
        if let Err(status) = check_flush(sqe, self.pointer_rule()) {
            return failed(status);
        }
        let owner = self.namespaces[n].owner();
        let tag = self.namespaces[n].flush(&mut self.flash.view(owner, Class::Foreground));
        self.after_command(n, true);
        let reply = match tag {
            Some(_) => self.finish_flush(n, Reply { flush: tag, ..failed(Status::SUCCESS) }),
            None => failed(self.namespaces[n].store.refusal()),
        };
        if reply.status.is_success() { reply } else { failed(self.truthful(reply.status)) }
    }

    /// A Flush has completed its programs (they are done at submission); what is left is the sync.
    fn finish_flush(&mut self, n: usize, reply: Reply) -> Reply {
        let is_flushed =
            |d: &Self| reply.flush.is_none_or(|tag| d.namespaces[n].is_flushed(tag, d.flash.finished()));
        let mut quanta = 0;
        while !is_flushed(self) && !self.is_kept_by_ring() {
            let worked = self.make_room(n);
            quanta += 1;
            let is_refused =
                self.flash.is_held() && (!worked || quanta > QUANTA_WHILE_HELD) && !self.resume();
            if is_refused || !worked && !self.flash.is_held() && !is_flushed(self) {
                return failed(self.not_flushed());
            }
        }
        let synced = self.sync_all();
        if synced && self.flash.is_powered() { reply } else { failed(self.not_flushed()) }
    }

    /// Programs are done at submission; what a drain can still wait for is failed ones.
    fn drain(&mut self) -> bool {
        if self.drains.is_empty() || self.end_drains() {
            return false;
        }
        let mut any = false;
        for n in 0..self.namespaces.len() {
            any |= self.make_room(n);
        }
        if (!any || self.flash.is_held()) && !self.resume() {
            self.give_up_drains();
        }
        true
    }

    fn flush_all(&mut self, sqe: &Sqe) -> Reply {
        let mut last = failed(Status::SUCCESS);
        for n in 0..self.namespaces.len() {
            last = self.execute(n, sqe);
            if !last.status.is_success() {
                break;
            }
        }
        last
    }

    /// Whether the host has submitted commands that were not served yet.
    pub fn has_pending(&mut self) -> bool {
        self.queues.has_pending()
    }
}

/// A command that changed nothing.
pub(crate) fn failed(status: Status) -> Reply {
    Reply { status, dw0: 0, dw1: 0, bytes_out: 0, flush: None }
}
