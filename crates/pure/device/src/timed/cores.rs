// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The modelled cores that execute commands and background work.

use saker_profile::Dispatch;
use saker_sim::{Activity, Busy, Class, Duration, Instant, Lanes};

/// Work for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A command.
    Command(u32),
    /// A quantum of a worker of a namespace's background work.
    Background {
        /// Which namespace.
        namespace: u16,
        /// Which of its workers.
        worker: u16,
    },
}

impl Work {
    /// A quantum of a worker of a namespace.
    pub fn background(namespace: usize, worker: usize) -> Self {
        Self::Background { namespace: namespace as u16, worker: worker as u16 }
    }

    fn class(self) -> Class {
        match self {
            Self::Command(_) => Class::Foreground,
            Self::Background { .. } => Class::Background,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Core {
    busy_until: Instant,
    /// Whether an event ends its work, in which cores are looked at anyway.
    has_end: bool,
}

/// A core whose work has no known end.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pool: usize,
    core: usize,
    /// When what is known of its work ends.
    since: Instant,
}

/// Cores that take the same work, and what waits for them.
#[derive(Clone, Debug, Default)]
struct Pool {
    cores: Vec<Core>,
    /// Where its first core stands among all.
    first: usize,
    waiting: Lanes<Work>,
}

impl Pool {
    fn new(first: u32, count: u32) -> Self {
        let idle = Core { busy_until: Instant::ZERO, has_end: false };
        Self { cores: vec![idle; count as usize], first: first as usize, waiting: Lanes::default() }
    }

    /// A core that is free, and work for it.
    fn take(&mut self, now: Instant) -> Option<(usize, Work)> {
        if self.waiting.is_empty() {
            return None;
        }
        let core = self.cores.iter().position(|core| core.busy_until <= now)?;
        Some((core, self.waiting.pop()?))
    }

    /// When a core is free for what waits, if no event tells.
    fn ready_at(&self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        let first = self.cores.iter().min_by_key(|core| core.busy_until)?;
        (!first.has_end).then_some(first.busy_until)
    }
}

/// A few cores and the work that waits for them: commands first, but not for ever. They share their work, or each has its
/// own. Background work has cores of its own if there are any.
#[derive(Clone, Debug)]
pub struct Cores {
    /// Pools for commands, and behind them the one for background work.
    pools: Vec<Pool>,
    /// Work that waits in all of them.
    waiting: usize,
    /// The core that took work last: its pool and its number there.
    chosen: (usize, usize),
    /// The instant for which a wake-up is scheduled.
    wake: Option<Instant>,
    /// Of the pools' cores in their order.
    busy: Busy,
}

impl Cores {
    /// `count` idle cores, and `background` for background work alone.
    pub fn new(count: u32, background: u32, dispatch: Dispatch) -> Self {
        let count = count.max(1);
        let mut pools = match dispatch {
            Dispatch::Shared => vec![Pool::new(0, count)],
            Dispatch::RoundRobin | Dispatch::ByKey => (0..count).map(|n| Pool::new(n, 1)).collect(),
        };
        pools.push(Pool::new(count, background));
        let busy = Busy::of_cores((count + background) as usize);
        Self { pools, waiting: 0, chosen: (0, 0), wake: None, busy }
    }

    /// Whether all commands wait in one place: lanes decide nothing then.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.pools.len() == 2
    }

    /// Where work belongs. Which pool of several is `lane`, counted round.
    fn pool_of(&self, work: Work, lane: u64) -> usize {
        let apart = self.pools.len() - 1;
        if work.class() == Class::Background && !self.pools[apart].cores.is_empty() {
            return apart;
        }
        if apart == 1 { 0 } else { (lane % apart as u64) as usize }
    }

    /// Work that is ready, for the core of that lane.
    pub fn enqueue(&mut self, work: Work, lane: u64) {
        let pool = self.pool_of(work, lane);
        self.pools[pool].waiting.push(work, work.class());
        self.waiting += 1;
    }

    /// The next work, if a core is free for it now. [`Cores::occupy`] follows.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<Work> {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
        }
        if self.waiting == 0 { None } else { self.take_waiting(now) }
    }

    fn take_waiting(&mut self, now: Instant) -> Option<Work> {
        let (pool, (core, work)) =
            self.pools.iter_mut().enumerate().find_map(|(n, pool)| Some((n, pool.take(now)?)))?;
        self.chosen = (pool, core);
        self.waiting -= 1;
        Some(work)
    }

    /// The core chosen by [`Cores::take`] is busy for that long. `has_end`: an event comes then, and looks at the cores.
    pub fn occupy(&mut self, now: Instant, length: Duration, has_end: bool, activity: Activity) {
        let (pool, core) = self.chosen;
        self.pools[pool].cores[core] = Core { busy_until: now + length, has_end };
        self.busy.add(self.pools[pool].first + core, activity, length);
    }

    /// The core chosen by [`Cores::take`] goes on with its work until [`Cores::release`], after what [`Cores::occupy`] was told.
    pub fn hold(&mut self) -> Held {
        let (pool, core) = self.chosen;
        let core = &mut self.pools[pool].cores[core];
        let since = core.busy_until;
        *core = Core { busy_until: Instant::FAR, has_end: true };
        Held { pool: self.chosen.0, core: self.chosen.1, since }
    }

    /// A core is free that was held; the time since its work's end counts as that work.
    pub fn release(&mut self, held: Held, now: Instant, activity: Activity) {
        let waited = now.since(held.since.min(now));
        self.pools[held.pool].cores[held.core] = Core { busy_until: now, has_end: true };
        self.busy.add(self.pools[held.pool].first + held.core, activity, waited);
    }

    /// What each core was busy with: those for commands, then those for background work alone.
    pub fn busy(&self) -> &Busy {
        &self.busy
    }

    /// When waiting work should be looked at again, if nobody has been told yet.
    #[inline]
    pub fn wake_at(&mut self) -> Option<Instant> {
        if self.waiting == 0 { None } else { self.wake_for_waiting() }
    }

    fn wake_for_waiting(&mut self) -> Option<Instant> {
        let at = self.pools.iter().filter_map(Pool::ready_at).min()?;
        if self.wake.is_some_and(|w| w <= at) {
            return None;
        }
        self.wake = Some(at);
        Some(at)
    }
}

#[cfg(test)]
mod tests;
