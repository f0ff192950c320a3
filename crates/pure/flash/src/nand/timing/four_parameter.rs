// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The four-parameter model: two shared pipes, then a latency.

use super::{FourParameter, Job, Work};
use crate::nand::Shape;
use saker_sim::{Class, Duration, EventQueue, Instant, Server};

#[derive(Clone, Copy, Debug)]
pub(super) enum Pipe {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum FourEvent {
    Transferred(Pipe, Job, Duration),
    Finished(Job),
}

/// Clock of the four-parameter model.
#[derive(Clone, Debug)]
pub struct FourParameterClock {
    p: FourParameter,
    page_bytes: u64,
    read: Server<(Job, Duration)>,
    write: Server<(Job, Duration)>,
    pub(super) events: EventQueue<FourEvent>,
}

impl FourParameterClock {
    pub(super) fn new(p: FourParameter, shape: Shape) -> Self {
        let page_bytes = u64::from(shape.geometry.page_bytes);
        Self {
            p,
            page_bytes,
            read: Server::default(),
            write: Server::default(),
            events: EventQueue::default(),
        }
    }

    pub(super) fn submit(&mut self, now: Instant, job: Job, work: Work, class: Class, extra: Duration) {
        let (pipe, server, bandwidth) = match work {
            Work::Read(_) => (Pipe::Read, &mut self.read, self.p.read_bandwidth),
            Work::Program(_) | Work::Copy(_) => (Pipe::Write, &mut self.write, self.p.write_bandwidth),
            Work::Erase(_) => return self.events.push(now + self.p.erase + extra, FourEvent::Finished(job)),
        };
        let length = Duration::of_transfer(self.page_bytes, bandwidth);
        if let Some(((job, extra), end)) = server.request(now, (job, extra), length, class) {
            self.events.push(end, FourEvent::Transferred(pipe, job, extra));
        }
    }

    pub(super) fn step(&mut self, now: Instant) -> Option<(Instant, Option<Job>)> {
        let (at, event) = self.events.pop_until(now)?;
        let (pipe, job, extra) = match event {
            FourEvent::Finished(job) => return Some((at, Some(job))),
            FourEvent::Transferred(pipe, job, extra) => (pipe, job, extra),
        };
        let (server, latency) = match pipe {
            Pipe::Read => (&mut self.read, self.p.read_latency),
            Pipe::Write => (&mut self.write, self.p.write_latency),
        };
        self.events.push(at + latency + extra, FourEvent::Finished(job));
        if let Some(((next, extra), end)) = server.release(at) {
            self.events.push(end, FourEvent::Transferred(pipe, next, extra));
        }
        Some((at, None))
    }
}
