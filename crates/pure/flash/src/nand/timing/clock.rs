//! The NAND model: LUNs and the channels they share.

use super::{Job, NandModel, Work};
use crate::nand::Shape;
use saker_sim::{Class, Duration, EventQueue, Gate, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    job: Job,
    kind: Kind,
    lun: u32,
    class: Class,
    extra: Duration,
    /// Which page of its cells it reads.
    level: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Program,
    Erase,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum NandEvent {
    /// The array is done: tR, tPROG or tBERS is over.
    Array(Op),
    /// The channel is done.
    Channel(Op),
}

/// Clock of the NAND model.
#[derive(Clone, Debug)]
pub struct NandClock {
    p: NandModel,
    shape: Shape,
    luns: Vec<Gate<Op>>,
    channels: Vec<Gate<Op>>,
    pub(super) events: EventQueue<NandEvent>,
    /// LUNs an operation still needs; an erase needs all.
    remaining: Vec<u32>,
    pub(super) started: Vec<bool>,
}

impl NandClock {
    pub(super) fn new(p: NandModel, shape: Shape) -> Self {
        Self {
            p,
            shape,
            luns: vec![Gate::default(); shape.luns as usize],
            channels: vec![Gate::default(); shape.channels as usize],
            events: EventQueue::default(),
            remaining: Vec::new(),
            started: Vec::new(),
        }
    }

    pub(super) fn submit(&mut self, now: Instant, job: Job, work: Work, class: Class, extra: Duration) {
        let n = job as usize;
        self.remaining.resize(self.remaining.len().max(n + 1), 0);
        self.started.resize(self.started.len().max(n + 1), false);
        self.started[n] = false;
        let (kind, luns) = match work {
            Work::Read(at) => (Kind::Read, self.shape.lun(at)..self.shape.lun(at) + 1),
            Work::Program(at) => (Kind::Program, self.shape.lun(at)..self.shape.lun(at) + 1),
            Work::Erase(_) => (Kind::Erase, 0..self.shape.luns),
        };
        self.remaining[n] = luns.len() as u32;
        let level = match work {
            Work::Read(at) => {
                (self.shape.geometry.index_of(at) / self.shape.luns) as usize % self.p.reads.len()
            }
            Work::Program(_) | Work::Erase(_) => 0,
        };
        for lun in luns {
            let op = Op { job, kind, lun, class, extra, level };
            if let Some(op) = self.luns[lun as usize].acquire(op, class) {
                self.on_lun(now, op);
            }
        }
    }

    /// The operation has its LUN: reads and erases begin in the array, programs on the channel.
    fn on_lun(&mut self, now: Instant, op: Op) {
        match op.kind {
            Kind::Read => self.events.push(now + self.p.reads[op.level] + op.extra, NandEvent::Array(op)),
            Kind::Erase => {
                self.started[op.job as usize] = true;
                self.events.push(now + self.p.erase + op.extra, NandEvent::Array(op));
            }
            Kind::Program => self.want_channel(now, op),
        }
    }

    fn want_channel(&mut self, now: Instant, op: Op) {
        let channel = self.shape.channel(op.lun) as usize;
        if let Some(op) = self.channels[channel].acquire(op, op.class) {
            self.on_channel(now, op);
        }
    }

    fn on_channel(&mut self, now: Instant, op: Op) {
        let g = &self.shape.geometry;
        let bytes = u64::from(g.page_bytes + g.oob_bytes);
        self.events
            .push(now + Duration::of_transfer(bytes, self.p.channel_bandwidth), NandEvent::Channel(op));
    }

    pub(super) fn step(&mut self, now: Instant) -> Option<(Instant, Option<Job>)> {
        let (at, event) = self.events.pop_until(now)?;
        let done = match event {
            NandEvent::Channel(op) => {
                let channel = self.shape.channel(op.lun) as usize;
                if let Some(next) = self.channels[channel].release() {
                    self.on_channel(at, next);
                }
                if op.kind == Kind::Program {
                    self.started[op.job as usize] = true;
                    self.events.push(at + self.p.program + op.extra, NandEvent::Array(op));
                    None
                } else {
                    self.leave_lun(at, op)
                }
            }
            NandEvent::Array(op) if op.kind == Kind::Read => {
                self.want_channel(at, op);
                None
            }
            NandEvent::Array(op) => self.leave_lun(at, op),
        };
        Some((at, done))
    }

    fn leave_lun(&mut self, at: Instant, op: Op) -> Option<Job> {
        if let Some(next) = self.luns[op.lun as usize].release() {
            self.on_lun(at, next);
        }
        let remaining = &mut self.remaining[op.job as usize];
        *remaining -= 1;
        (*remaining == 0).then_some(op.job)
    }
}
