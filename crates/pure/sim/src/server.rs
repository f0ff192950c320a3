// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A resource that serves one job at a time: a LUN, a channel, a link direction, a core.
//!
//! The law of timelines: a server is taken only at the current event time, by a job that is ready now.
//! A job that finds it busy waits: foreground first, but not for ever ([`Lanes`]). Nothing is booked ahead, so a
//! job that becomes ready later can never push out one that is ready earlier.

use crate::{Class, Duration, Instant, Lanes};

/// A single server with waiting jobs of type `J`.
#[derive(Clone, Debug)]
pub struct Server<J> {
    busy_until: Option<Instant>,
    waiting: Lanes<(J, Duration)>,
    busy_total: Duration,
}

impl<J> Default for Server<J> {
    fn default() -> Self {
        Self { busy_until: None, waiting: Lanes::default(), busy_total: Duration::ZERO }
    }
}

impl<J> Server<J> {
    /// Asks for `length` of service for a job that is ready at `now`. Returns when it ends if it starts
    /// now; otherwise the job waits and comes back from [`Server::release`].
    pub fn request(&mut self, now: Instant, job: J, length: Duration, class: Class) -> Option<(J, Instant)> {
        if self.busy_until.is_some() {
            self.waiting.push((job, length), class);
            return None;
        }
        Some((job, self.start(now, length)))
    }

    /// Ends the running service at `now`. Returns the waiting job that starts now and when it ends.
    ///
    /// # Panics
    /// When nothing was running, or it was to end at another time: the law of timelines is broken.
    pub fn release(&mut self, now: Instant) -> Option<(J, Instant)> {
        let end = self.busy_until.take().expect("a server is released only while it serves");
        assert_eq!(end, now, "a service ends when it was said to end");
        let (job, length) = self.waiting.pop()?;
        Some((job, self.start(now, length)))
    }

    fn start(&mut self, now: Instant, length: Duration) -> Instant {
        let end = now + length;
        self.busy_until = Some(end);
        self.busy_total += length;
        end
    }

    /// Whether a job is being served.
    pub fn is_busy(&self) -> bool {
        self.busy_until.is_some()
    }

    /// Jobs waiting for service.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Time spent serving so far (the running job counted in full).
    pub fn busy_total(&self) -> Duration {
        self.busy_total
    }
}

/// A resource that is held for a time not known beforehand, such as a LUN whose register waits for the
/// channel. Same law, same order of waiting.
#[derive(Clone, Debug)]
pub struct Gate<J> {
    held: bool,
    waiting: Lanes<J>,
}

impl<J> Default for Gate<J> {
    fn default() -> Self {
        Self { held: false, waiting: Lanes::default() }
    }
}

impl<J> Gate<J> {
    /// Takes the gate for a job that is ready now, or lets the job wait. Returns the job that may go on.
    pub fn acquire(&mut self, job: J, class: Class) -> Option<J> {
        if !std::mem::replace(&mut self.held, true) {
            return Some(job);
        }
        self.waiting.push(job, class);
        None
    }

    /// Gives the gate up. Returns the waiting job that has it now.
    ///
    /// # Panics
    /// When nobody held it.
    pub fn release(&mut self) -> Option<J> {
        assert!(self.held, "a gate is released only while it is held");
        let next = self.waiting.pop();
        self.held = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn foreground_overtakes_waiting_background_but_not_running_work() {
        let mut s = Server::default();
        let ten = Duration::from_nanos(10);
        assert_eq!(s.request(at(0), "gc1", ten, Class::Background), Some(("gc1", at(10))));
        assert_eq!(s.request(at(1), "gc2", ten, Class::Background), None);
        assert_eq!(s.request(at(2), "read", ten, Class::Foreground), None);
        assert_eq!(s.release(at(10)), Some(("read", at(20))));
        assert_eq!(s.release(at(20)), Some(("gc2", at(30))));
        assert_eq!(s.release(at(30)), None);
        assert_eq!(s.busy_total(), Duration::from_nanos(30));
    }

    #[test]
    #[should_panic(expected = "ends when it was said")]
    fn early_release_breaks_the_law() {
        let mut s = Server::default();
        s.request(at(0), (), Duration::from_nanos(10), Class::Foreground);
        s.release(at(5));
    }
}
