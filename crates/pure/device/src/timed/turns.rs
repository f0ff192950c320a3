// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that cannot go on now, and when they try again: delayed writes when their tokens have come, others when something has happened.

use super::cores::Work;
use super::{Event, Id, Timed};
use crate::device::Device;
use crate::execute::Request;
use saker_engine::WriteCondition;
use saker_nvme::Status;
use saker_segment_store::Stall;

impl Device<Timed> {
    /// A command cannot go on now. Whether it is background work or I/O that it waits for.
    pub(super) fn hold_back(&mut self, id: Id, stall: Stall) -> bool {
        let (n, now) = (self.token(id).namespace, self.tempo.now);
        if let Stall::Delayed { bytes } = stall {
            self.token(id).passes = false;
            self.namespaces[n].gate.delay(id, bytes);
            self.look_at_turns(n);
            return false;
        }
        self.token(id).stopped = WriteCondition::Normal;
        if stall == Stall::Debt {
            let condition = self.namespaces[n].write_condition();
            let token = self.tempo.tokens[id as usize].as_mut().expect("a command on its way");
            token.stopped = condition;
            self.namespaces[n].gate.refused(condition, now, &mut token.counted);
        }
        self.tempo.blocked[n].push_back(id);
        true
    }

    /// Something has happened: blocked commands try again. When the engine says of each that it would wait again, none does: in a stop
    /// there are as many as queues hold, and events that end nothing are many.
    pub(super) fn retry_unless_stopped(&mut self, n: usize) {
        let (tokens, namespace) = (&self.tempo.tokens, &self.namespaces[n]);
        let waits = |id: &Id| {
            let token = tokens[*id as usize].as_ref().expect("a command on its way");
            namespace.keeps_waiting(token.stopped)
        };
        let blocked = &self.tempo.blocked[n];
        if self.flash.is_read_only() || blocked.is_empty() || !blocked.iter().all(waits) {
            return self.retry_blocked(n);
        }
        // Whoever tries in vain starts it, too.
        self.start_worker(n);
    }

    /// Blocked commands try again.
    pub(super) fn retry_blocked(&mut self, n: usize) {
        for id in std::mem::take(&mut self.tempo.blocked[n]) {
            self.tempo.enqueue(Work::Command(id));
        }
        let at = self.tempo.now;
        self.tempo.events.push(at, Event::Core);
    }

    /// A command was executed: a write that was let in may end a period without writes.
    pub(super) fn note_admitted(&mut self, id: Id, status: Status) {
        let token = self.tempo.tokens[id as usize].as_ref().expect("a command on its way");
        let namespace = &mut self.namespaces[token.namespace];
        if !namespace.gate.holds() || !status.is_success() {
            return;
        }
        if token.request.as_ref().is_some_and(Request::is_write) {
            let condition = namespace.write_condition();
            namespace.gate.admitted(condition, self.tempo.now);
        }
    }

    /// Time has come for a turn.
    pub(super) fn on_turn(&mut self, n: usize) {
        self.tempo.turns[n] = None;
        self.look_at_turns(n);
        self.start_on_cores();
    }

    /// The condition of writes may have changed, or time has passed: whose turn it is goes on.
    pub(super) fn look_at_turns(&mut self, n: usize) {
        let now = self.tempo.now;
        if self.namespaces[n].gate.is_idle() {
            return;
        }
        let condition = self.namespaces[n].write_condition();
        let gate = &mut self.namespaces[n].gate;
        gate.changed(condition, now);
        let mut any = false;
        while let Some(released) = gate.release(condition, now) {
            let token = self.tempo.tokens[released.id as usize].as_mut().expect("a command on its way");
            token.passes |= released.passes;
            self.tempo.enqueue(Work::Command(released.id));
            any = true;
        }
        let next = gate.next();
        let t = &mut self.tempo;
        if any {
            t.events.push(now, Event::Core);
        }
        if let Some(at) = next.filter(|at| t.turns[n] != Some(*at)) {
            t.turns[n] = Some(at);
            t.events.push(at, Event::Turn(n as u32));
        }
    }
}
