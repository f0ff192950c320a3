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

/// A few cores and the work that waits for them: commands first, but not for ever.
#[derive(Clone, Debug)]
pub struct Cores {
    busy_until: Vec<Instant>,
    waiting: Lanes<Work>,
    chosen: usize,
    /// The instant for which a wake-up is scheduled.
    wake: Option<Instant>,
}

impl Cores {
    /// `count` idle cores.
    pub fn new(count: u32) -> Self {
        Self {
            busy_until: vec![Instant::ZERO; count.max(1) as usize],
            waiting: Lanes::default(),
            chosen: 0,
            wake: None,
        }
    }

    /// Work that is ready.
    pub fn enqueue(&mut self, work: Work) {
        self.waiting.push(work, work.class());
    }

    /// The next work, if a core is free for it now. [`Cores::occupy`] follows.
    pub fn take(&mut self, now: Instant) -> Option<Work> {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
        }
        self.chosen = self.busy_until.iter().position(|busy| *busy <= now)?;
        self.waiting.pop()
    }

    /// The core chosen by [`Cores::take`] is busy for that long.
    pub fn occupy(&mut self, now: Instant, length: Duration) {
        self.busy_until[self.chosen] = now + length;
    }

    /// When waiting work should be looked at again, if nobody has been told yet.
    pub fn wake_at(&mut self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        let at = self.busy_until.iter().min().copied()?;
        if self.wake.is_some_and(|w| w <= at) {
            return None;
        }
        self.wake = Some(at);
        Some(at)
    }
}
