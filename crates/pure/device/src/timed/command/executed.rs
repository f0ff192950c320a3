// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command at its core: the engine is asked, and what it answers is noted.

use super::ALL;
use crate::device::Device;
use crate::execute::{Outcome, Reach, Reply, Request};
use crate::immediate::failed;
use crate::timed::ahead::Ahead;
use crate::timed::cores::Work;
use crate::timed::{Event, Id, Stage, Timed};
use crate::trace::Part;
use saker_nvme::Status;
use saker_sim::{Activity, Class, CpuMeter, Duration};

impl Device<Timed> {
    /// Executes a command on a core; returns how long the core is busy with it, and whether an event ends that.
    pub(in crate::timed) fn execute(&mut self, id: Id) -> (Duration, bool) {
        let before = self.flash.operations();
        let (outcome, mut length) = self.call_engine(id);
        let asked = self.flash.operations() - before;
        let n = self.token(id).namespace;
        let (mut is_blocked, mut has_end) = (false, false);
        match outcome {
            Outcome::Done(reply) => {
                let reply = Reply { status: self.truthful(reply.status), ..reply };
                length += self.tempo.costs.complete;
                self.note_admitted(id, reply.status);
                self.make_way(id);
                let reply = self.written_through(id, reply);
                self.let_go(id);
                let awaited =
                    (asked > 0 && self.tempo.costs.programs_awaited).then(|| self.flash.submitted());
                let token = self.token(id);
                (token.stage, token.reply, token.service) = (Stage::Executed, reply, length);
                token.awaited = awaited.map(|tag| (tag, None));
                let at = self.tempo.now + length;
                self.tempo.events.push(at, Event::Step(id));
                has_end = true;
            }
            Outcome::Need(reads) => {
                // What it looked at before is held until it holds that again: nothing is read twice for it.
                let pages = self.bring(Work::Command(id), &reads, Class::Foreground);
                self.let_go(id);
                let token = self.token(id);
                (token.stage, token.pages) = (Stage::Waiting, pages);
            }
            Outcome::Blocked(stall) => {
                // It goes on holding its pages: it is to try again.
                self.token(id).stage = Stage::Waiting;
                is_blocked = self.hold_back(id, stall);
            }
        }
        self.settle();
        let owner = self.namespaces[n].owner();
        if is_blocked || self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
            self.start_worker(n);
        }
        (length, has_end)
    }

    /// The core that has executed a command goes on with it, if the command waits for the flash.
    pub(in crate::timed) fn hold_core(&mut self, id: Id) {
        let t = &mut self.tempo;
        let awaited = t.tokens[id as usize].as_mut().and_then(|token| token.awaited.as_mut());
        if let Some((_, held)) = awaited {
            *held = Some(t.cores.hold());
        }
    }

    /// The command goes on once the flash is through with what was asked of it, or can do no more of that now.
    pub(in crate::timed) fn await_flash(&mut self, id: Id) {
        if let Some((tag, held)) = self.token(id).awaited {
            if self.flash.finished() < tag && !self.flash.is_quiet() {
                self.token(id).stage = Stage::Awaiting;
                return self.tempo.awaiting.push(id);
            }
            let t = &mut self.tempo;
            if let Some(held) = held {
                t.cores.release(held, t.now, Activity::Foreground);
            }
            let token = self.token(id);
            (token.awaited, token.service) = (None, ALL);
            self.lap(id, Part::Flash);
        }
        self.after_execution(id);
        self.start_on_cores();
    }

    /// The namespace executes the command, as far as it can now. Returns what came of it and how long a core took.
    #[inline]
    fn call_engine(&mut self, id: Id) -> (Outcome, Duration) {
        let t = &mut self.tempo;
        let token = t.tokens[id as usize].as_mut().expect("a command on its way");
        if self.flash.is_read_only() && token.request.as_ref().is_some_and(Request::is_write) {
            return (Outcome::Done(Reply::status(Status::WRITE_FAULT)), Duration::ZERO);
        }
        let namespace = &mut self.namespaces[token.namespace];
        let mut meter = Ahead(CpuMeter::new(t.costs.prices));
        let mut view = self.flash.view(namespace.owner(), Class::Foreground);
        let waited = if token.stage == Stage::Waiting { Part::Flash } else { Part::Queue };
        token.clock.lap(t.now, waited, ALL);
        let request = token.request.as_mut().expect("decoded");
        let reach = Reach { space: &self.host.space, dma_engine: t.costs.dma_engine };
        let outcome = if token.erasures == namespace.erasures {
            if token.passes {
                namespace.let_pass(1);
            }
            let outcome = request.execute(namespace, reach, &mut view, &mut meter);
            if token.passes {
                namespace.let_pass(0);
            }
            outcome
        } else {
            // What it has found out, and perhaps done, so far was of what is no more.
            Outcome::Done(failed(Status::FORMAT_IN_PROGRESS))
        };
        self.stats.copied_bytes += meter.0.copied_bytes();
        (outcome, meter.0.take())
    }

    /// A command needs the pages that it holds no longer.
    pub(super) fn let_go(&mut self, id: Id) {
        if let Some(pages) = self.token(id).pages.take() {
            self.flash.unpin(pages);
        }
    }

    /// A write without a write cache is complete when a Flush would be.
    fn written_through(&mut self, id: Id, mut reply: Reply) -> Reply {
        let token = self.tempo.tokens[id as usize].as_ref().expect("a command on its way");
        let is_write = token.request.as_ref().is_some_and(Request::is_write);
        if self.write_through && is_write && reply.status.is_success() {
            let namespace = &mut self.namespaces[token.namespace];
            reply.flush = namespace.flush(&mut self.flash.view(namespace.owner(), Class::Foreground));
        }
        reply
    }
}
