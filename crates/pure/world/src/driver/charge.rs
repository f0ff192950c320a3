// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What cores are charged with, and what they are busy with.

use super::{Driver, State};
use crate::measured::Measured;
use saker_sim::{Activity, Busy, Duration, Instant};
use saker_store::{Doorbells, Lane as _, Prices, Work};

/// Work by what it was for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    work: Duration,
    /// Finding and taking completions.
    completions: Duration,
}

impl Spent {
    fn of(work: &Work, prices: &Prices) -> Self {
        let completions = prices.completion * work.completions;
        Self { work: prices.of(work) - completions, completions }
    }

    fn total(self) -> Duration {
        self.work + self.completions
    }

    fn and(self, other: Self) -> Self {
        Self { work: self.work + other.work, completions: self.completions + other.completions }
    }
}

/// What a core is charged with: its own work, and what nobody paid for so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    own: Spent,
    debt: Spent,
}

impl Charge {
    pub fn total(&self) -> Duration {
        self.own.total() + self.debt.total()
    }

    /// As something that nobody pays for now.
    pub fn owed(&self) -> Spent {
        self.own.and(self.debt)
    }

    /// A core was busy with it. What was owed is operations' work that was tried again, and completions.
    pub fn note(&self, core: usize, activity: Activity, busy: &mut Busy) {
        busy.add(core, activity, self.own.work);
        busy.add(core, Activity::Foreground, self.debt.work);
        busy.add(core, Activity::Completions, self.own.completions + self.debt.completions);
    }

    /// Each of so many pays as much, rounded up; of that, so much is for completions.
    pub fn shared_by(&self, count: u64) -> (Duration, Duration) {
        let share = |all: Duration| Duration::from_nanos(all.as_nanos().div_ceil(count));
        let all = share(self.total());
        (all, share(self.owed().completions).min(all))
    }
}

impl<S: Measured> Driver<S> {
    /// The lane's core is busy with what was spent since the last time; returns when it is through with it.
    pub(super) fn spend(&mut self, n: usize, at: Instant) -> Instant {
        self.polled(n, at);
        let charge = match self.order.doorbells {
            Doorbells::OfStore => self.spent_by_store(n, at),
            Doorbells::OfLane { .. } => {
                let work = self.lanes[n].work();
                if work.rings {
                    self.cores[n].state = State::Ringing;
                }
                let charge = Charge { own: Spent::of(&work, &self.prices), debt: Spent::default() };
                self.result.host_busy += charge.total();
                charge
            }
        };
        charge.note(n, Activity::Foreground, &mut self.result.busy);
        let core = &mut self.cores[n];
        core.busy = core.busy.max(at) + charge.total();
        core.busy
    }

    /// The same where a core does the work of a store that lanes share: what nobody paid for so far, too. One doorbell rings for
    /// what was submitted together, when the core has got there.
    pub(super) fn spent_by_store(&mut self, n: usize, at: Instant) -> Charge {
        let work = self.lanes[n].work();
        let debt = std::mem::take(&mut self.debt);
        let charge = Charge { own: Spent::of(&work, &self.prices), debt };
        if work.rings {
            self.doorbell.get_or_insert(at + charge.total());
        }
        charge
    }

    /// What was done for operations that go on waiting: a core that polls does it. If none does, the next one that acts pays.
    pub(super) fn spend_idle(&mut self, charge: Charge, at: Instant) {
        let idle = self.idle_core(at).filter(|n| self.cores[*n].busy <= at);
        let Some(n) = idle.filter(|_| charge.total() > Duration::ZERO) else {
            self.debt = charge.owed();
            return;
        };
        self.polled(n, at);
        charge.note(n, Activity::Foreground, &mut self.result.busy);
        self.cores[n].busy = at + charge.total();
    }

    /// Up to now the lane's core looked for completions, if it waits for one.
    pub(super) fn polled(&mut self, n: usize, at: Instant) {
        let core = &self.cores[n];
        if core.state == State::Waiting && at > core.busy {
            self.result.busy.add(n, Activity::Polling, at.since(core.busy));
        }
    }
}
