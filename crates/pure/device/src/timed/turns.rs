// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that an engine delays or stops: each has its turn when its tokens have come.

use super::cores::Work;
use super::{Event, Id, Timed};
use crate::device::Device;
use crate::execute::Request;
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
        if stall == Stall::Debt {
            let condition = self.namespaces[n].write_condition();
            let token = self.tempo.tokens[id as usize].as_mut().expect("a command on its way");
            self.namespaces[n].gate.refused(condition, now, &mut token.counted);
        }
        self.tempo.blocked[n].push_back(id);
        true
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
