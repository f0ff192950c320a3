//! The modelled cores that execute commands and background work.

use saker_sim::{Class, Duration, Instant, Lanes};

/// Work for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A command.
    Command(u32),
    /// A quantum of a namespace's background work.
    Background(usize),
}

impl Work {
    fn class(self) -> Class {
        match self {
            Self::Command(_) => Class::Foreground,
            Self::Background(_) => Class::Background,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Core {
    busy_until: Instant,
    /// Whether an event ends its work, in which cores are looked at anyway.
    has_end: bool,
}

/// Cores that take the same work, and what waits for them.
#[derive(Clone, Debug, Default)]
struct Pool {
    cores: Vec<Core>,
    waiting: Lanes<Work>,
}

impl Pool {
    fn new(count: u32) -> Self {
        let idle = Core { busy_until: Instant::ZERO, has_end: false };
        Self { cores: vec![idle; count as usize], waiting: Lanes::default() }
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

/// A few cores and the work that waits for them: commands first, but not for ever. Background work has cores of its own if
/// there are any.
#[derive(Clone, Debug)]
pub struct Cores {
    shared: Pool,
    background: Pool,
    /// The core that took work last.
    chosen: (Class, usize),
    /// The instant for which a wake-up is scheduled.
    wake: Option<Instant>,
}

impl Cores {
    /// `count` idle cores, and `background` for background work alone.
    pub fn new(count: u32, background: u32) -> Self {
        Self {
            shared: Pool::new(count.max(1)),
            background: Pool::new(background),
            chosen: (Class::Foreground, 0),
            wake: None,
        }
    }

    fn is_apart(&self, work: Work) -> bool {
        work.class() == Class::Background && !self.background.cores.is_empty()
    }

    /// Work that is ready.
    pub fn enqueue(&mut self, work: Work) {
        let pool = if self.is_apart(work) { &mut self.background } else { &mut self.shared };
        pool.waiting.push(work, work.class());
    }

    /// The next work, if a core is free for it now. [`Cores::occupy`] follows.
    pub fn take(&mut self, now: Instant) -> Option<Work> {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
        }
        let shared = self.shared.take(now).map(|(core, work)| (Class::Foreground, core, work));
        let next = shared.or_else(|| {
            let (core, work) = self.background.take(now)?;
            Some((Class::Background, core, work))
        });
        let (pool, core, work) = next?;
        self.chosen = (pool, core);
        Some(work)
    }

    /// The core chosen by [`Cores::take`] is busy for that long. `has_end`: an event comes then, and looks at the cores.
    pub fn occupy(&mut self, now: Instant, length: Duration, has_end: bool) {
        let (pool, core) = self.chosen;
        let pool = if pool == Class::Background { &mut self.background } else { &mut self.shared };
        pool.cores[core] = Core { busy_until: now + length, has_end };
    }

    /// When waiting work should be looked at again, if nobody has been told yet.
    pub fn wake_at(&mut self) -> Option<Instant> {
        let at = [&self.shared, &self.background].into_iter().filter_map(Pool::ready_at).min()?;
        if self.wake.is_some_and(|w| w <= at) {
            return None;
        }
        self.wake = Some(at);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(ns)
    }

    fn two_works(background: u32) -> Cores {
        let mut cores = Cores::new(1, background);
        cores.enqueue(Work::Background(0));
        cores.enqueue(Work::Command(7));
        cores
    }

    #[test]
    fn background_work_waits_for_commands_unless_it_has_a_core() {
        let mut cores = two_works(0);
        assert_eq!(cores.take(at(0)), Some(Work::Command(7)));
        cores.occupy(at(0), Duration::from_nanos(50), false);
        assert_eq!((cores.take(at(0)), cores.wake_at()), (None, Some(at(50))));
        let mut cores = two_works(1);
        assert_eq!(cores.take(at(0)), Some(Work::Command(7)));
        cores.occupy(at(0), Duration::from_nanos(50), false);
        assert_eq!(cores.take(at(0)), Some(Work::Background(0)));
        cores.occupy(at(0), Duration::from_nanos(20), false);
        cores.enqueue(Work::Background(0));
        assert_eq!((cores.take(at(0)), cores.wake_at()), (None, Some(at(20))));
        assert_eq!(cores.take(at(20)), Some(Work::Background(0)));
    }
}
