// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which core a command goes to, and when it may start (`firmware.dispatch`).

use super::cores::Work;
use super::{Event, Id, Timed};
use crate::device::Device;
use saker_profile::Dispatch;

impl Device<Timed> {
    /// The dispatcher hands a command out. What it names counts from now on, though its data is still to come.
    pub(super) fn deal(&mut self, id: Id) {
        let t = &mut self.tempo;
        t.dealt += 1;
        let (turn, dispatch) = (t.dealt, t.costs.dispatch_by);
        let token = self.token(id);
        token.lane = turn;
        if dispatch != Dispatch::ByKey {
            return;
        }
        let keys = token.request.as_ref().map_or(Some(Vec::new()), |request| request.key_hashes());
        token.lane = keys.as_ref().and_then(|keys| keys.first().copied()).unwrap_or(turn);
        self.tempo.order.enter(id, keys);
    }

    /// Its data has come: it executes when it is its turn.
    pub(super) fn ready(&mut self, id: Id) {
        if self.tempo.costs.dispatch_by != Dispatch::ByKey {
            return self.want_core(Work::Command(id));
        }
        if self.tempo.order.is_unknown(id) {
            self.learn_keys(id);
        }
        if self.tempo.order.is_turn(id) {
            self.want_core(Work::Command(id));
        }
        self.wake_ordered();
    }

    /// A group's keys are known now.
    fn learn_keys(&mut self, id: Id) {
        let token = self.tempo.tokens[id as usize].as_mut().expect("a command on its way");
        let request = token.request.as_mut().expect("decoded");
        let keys = request.learn_keys(&self.host.space);
        token.lane = keys.first().copied().unwrap_or(token.lane);
        self.tempo.order.learn(id, keys);
    }

    /// The command has changed what it changes: whoever waited for that may start.
    pub(super) fn make_way(&mut self, id: Id) {
        if self.tempo.costs.dispatch_by == Dispatch::ByKey {
            self.tempo.order.leave(id);
            self.wake_ordered();
        }
    }

    fn wake_ordered(&mut self) {
        for id in self.tempo.order.wake() {
            self.tempo.enqueue(Work::Command(id));
            let at = self.tempo.now;
            self.tempo.events.push(at, Event::Core);
        }
    }
}
