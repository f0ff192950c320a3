//! A resource that serves commands one after the other: a link direction, the dispatcher.

use saker_sim::{Duration, EventQueue, Instant};
use std::collections::VecDeque;

/// One server. It needs an event of its own only while somebody waits.
#[derive(Clone, Debug, Default)]
pub struct Pipe {
    busy_until: Instant,
    waiting: VecDeque<(u32, Duration, Duration)>,
}

impl Pipe {
    /// Serves command `id`, ready now, for `length`; its next stage comes `after` later. If the pipe is busy the
    /// command waits, and starts at the event time at which the pipe is free.
    #[expect(
        clippy::too_many_arguments,
        reason = "the two event constructors keep the pipe free of the device's types"
    )]
    pub fn request<E>(
        &mut self,
        now: Instant,
        id: u32,
        length: Duration,
        after: Duration,
        free: E,
        step: impl Fn(u32) -> E,
        events: &mut EventQueue<E>,
    ) {
        if now >= self.busy_until && self.waiting.is_empty() {
            self.busy_until = now + length;
            events.push(self.busy_until + after, step(id));
            return;
        }
        if self.waiting.is_empty() {
            events.push(self.busy_until, free);
        }
        self.waiting.push_back((id, length, after));
    }

    /// The pipe is free: the next waiting command starts.
    pub fn resume<E>(&mut self, now: Instant, free: E, step: impl Fn(u32) -> E, events: &mut EventQueue<E>) {
        debug_assert!(now >= self.busy_until, "a pipe is resumed when it is free");
        if let Some((id, length, after)) = self.waiting.pop_front() {
            self.busy_until = now + length;
            events.push(self.busy_until + after, step(id));
            if !self.waiting.is_empty() {
                events.push(self.busy_until, free);
            }
        }
    }
}
