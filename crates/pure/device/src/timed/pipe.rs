// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A resource that serves commands one after the other: a link direction, the dispatcher.

use saker_sim::{Duration, EventQueue, Instant};

/// One server. Commands ask for it at the time at which they are ready for it, know how long they need it, and none overtakes
/// another: so when each is served is known at once, and waiting takes no event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipe {
    busy_until: Instant,
    busy_total: Duration,
}

impl Pipe {
    /// Serves a command, ready now, for `length`, behind all that asked before; its next stage comes `after` later.
    #[inline]
    pub fn request<E>(
        &mut self,
        now: Instant,
        (length, after): (Duration, Duration),
        step: E,
        events: &mut EventQueue<E>,
    ) {
        self.busy_until = self.busy_until.max(now) + length;
        self.busy_total += length;
        events.push(self.busy_until + after, step);
    }

    /// How long it has served and will serve those that asked.
    pub fn busy_total(&self) -> Duration {
        self.busy_total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(n: u64) -> Duration {
        Duration::from_nanos(n)
    }

    #[test]
    fn commands_are_served_in_the_order_in_which_they_are_ready() {
        let (mut pipe, mut events) = (Pipe::default(), EventQueue::default());
        let at = |n| Instant::ZERO + ns(n);
        pipe.request(at(10), (ns(5), ns(100)), 'a', &mut events);
        pipe.request(at(11), (ns(7), ns(0)), 'b', &mut events);
        pipe.request(at(30), (ns(1), ns(0)), 'c', &mut events);
        let mut order = Vec::new();
        while let Some((at, name)) = events.pop_until(Instant::FAR) {
            order.push((at.as_nanos(), name));
        }
        assert_eq!(order, [(22, 'b'), (31, 'c'), (115, 'a')]);
        assert_eq!(pipe.busy_total(), ns(13));
    }
}
