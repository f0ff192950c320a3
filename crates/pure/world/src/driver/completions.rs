// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Taking what has completed, and charging cores for it.

use super::{Driver, Ended, State};
use crate::measured::Measured;
use saker_sim::{Activity, Duration, Instant};
use saker_store::{Completed, Completions, Lane as _, Outcome};

impl<S: Measured> Driver<S> {
    /// Something has completed: who waits looks.
    pub(super) fn completed(&mut self, at: Instant) {
        if self.order.completions == Completions::Shared {
            self.take_everybodys(at);
            return self.wake_worker(at);
        }
        for n in 0..self.cores.len() {
            if self.cores[n].state != State::Waiting || !self.reap(n, at) {
                continue;
            }
            // What it sends now it rings for first.
            if self.cores[n].state == State::Waiting {
                self.cores[n].state = State::Ready;
            }
        }
    }

    /// A lane takes what has completed; its core is charged. False if there was nothing.
    #[inline]
    pub(super) fn reap(&mut self, n: usize, at: Instant) -> bool {
        self.lanes[n].look(at) && self.take_news(n, at)
    }

    fn take_news(&mut self, n: usize, at: Instant) -> bool {
        let each = self.order.completions == Completions::EachEnds;
        let mut ended = std::mem::take(&mut self.ended);
        while let Some(taken) = self.take(n, at) {
            if each {
                let to = self.spend(n, at);
                self.note(taken, to);
            } else {
                ended.push(taken);
            }
        }
        let to = self.spend(n, at);
        ended.drain(..).for_each(|taken| self.note(taken, to));
        self.ended = ended;
        true
    }

    /// Takes one thing that has ended, looking through lane `n`.
    fn take(&mut self, n: usize, at: Instant) -> Option<Ended> {
        let Self { lanes, cores, read, in_flight, .. } = self;
        let mut visit = |completed: Completed<'_>| {
            let Completed { lane, ticket, outcome } = completed;
            read.bytes(outcome.data());
            let (core, operations) = (&mut cores[lane], ticket.operations);
            core.in_flight -= 1;
            *in_flight -= 1;
            let failed = Outcome::failures(&outcome, operations);
            let (started, is_read) = core.started[ticket.slot as usize];
            Ended { lane, started, is_read, operations, failed }
        };
        loop {
            // An error is an answer to nobody.
            if let Ok(taken) = lanes[n].poll(at, &mut visit) {
                return taken;
            }
        }
    }

    /// Takes what has completed, whosever it is. The work is shared by those whose operations it completed.
    pub(super) fn take_everybodys(&mut self, at: Instant) {
        let mut ended = std::mem::take(&mut self.ended);
        if self.lanes[0].look(at) {
            while let Some(taken) = self.take(0, at) {
                ended.push(taken);
            }
        }
        let spent = self.spent_by_store(0, at);
        if ended.is_empty() {
            self.spend_idle(spent, at);
        } else {
            let share = spent.shared_by(ended.len() as u64);
            ended.drain(..).for_each(|taken| self.complete(taken, at, share));
        }
        self.ended = ended;
    }

    /// What waited has ended; its lane's core is busy with it for that long, partly with completions.
    fn complete(&mut self, taken: Ended, at: Instant, (share, completions): (Duration, Duration)) {
        self.polled(taken.lane, at);
        let core = &mut self.cores[taken.lane];
        if core.state == State::Waiting {
            core.state = State::Ready;
        }
        core.late += core.busy.max(at).since(at);
        core.busy = core.busy.max(at) + share;
        let to = core.busy;
        self.result.busy.add(taken.lane, Activity::Completions, completions);
        self.result.busy.add(taken.lane, Activity::Foreground, share - completions);
        self.note(taken, to);
    }

    pub(super) fn note(&mut self, taken: Ended, to: Instant) {
        let after = to.since(self.begun);
        for n in 0..taken.operations {
            self.result.note(taken.started, to, n >= taken.failed);
            self.result.note_read(taken.is_read, to.since(taken.started));
            self.result.count(after, self.interval);
        }
        self.result.elapsed = self.result.elapsed.max(after);
    }
}
