// SPDX-License-Identifier: Apache-2.0 OR MIT
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
    /// Which page of its cells it reads.
    level: u8,
    /// Whether it takes the array's time: of the pages that one program writes only the last does.
    fills: bool,
    extra: Duration,
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
    /// A page with its out-of-band part on a channel.
    transfer: Duration,
    luns: Vec<Gate<Op>>,
    channels: Vec<Gate<Op>>,
    pub(super) events: EventQueue<NandEvent>,
    /// LUNs an operation still needs; an erase needs all.
    remaining: Vec<u32>,
    pub(super) started: Vec<bool>,
}

impl NandClock {
    pub(super) fn new(p: NandModel, shape: Shape) -> Self {
        let bytes = u64::from(shape.geometry.page_bytes + shape.geometry.oob_bytes);
        Self {
            p,
            shape,
            transfer: Duration::of_transfer(bytes, p.channel_bandwidth),
            luns: vec![Gate::default(); shape.luns as usize],
            channels: vec![Gate::default(); shape.channels as usize],
            events: EventQueue::default(),
            remaining: Vec::new(),
            started: Vec::new(),
        }
    }

    pub(super) fn copies_are_free(&self) -> bool {
        self.p.copies_are_free
    }

    pub(super) fn submit(&mut self, now: Instant, job: Job, work: Work, class: Class, extra: Duration) {
        let n = job as usize;
        self.remaining.resize(self.remaining.len().max(n + 1), 0);
        self.started.resize(self.started.len().max(n + 1), false);
        self.started[n] = false;
        let (kind, at) = match work {
            Work::Read(at) => (Kind::Read, at),
            Work::Program(at) | Work::Copy(at) => (Kind::Program, at),
            Work::Erase(_) => {
                self.remaining[n] = self.shape.luns;
                let of = |lun| Op { job, kind: Kind::Erase, lun, class, extra, level: 0, fills: true };
                return (0..self.shape.luns).for_each(|lun| self.want_lun(now, of(lun)));
            }
        };
        self.remaining[n] = 1;
        let index = self.shape.geometry.index_of(at);
        let (row, lun) = (index / self.shape.luns, index % self.shape.luns);
        let level = if kind == Kind::Read { (row as usize % self.p.reads.len()) as u8 } else { 0 };
        let is_free = matches!(work, Work::Copy(_)) && self.p.copies_are_free;
        let is_last = (row + 1).is_multiple_of(self.p.program_pages.max(1));
        self.want_lun(now, Op { job, kind, lun, class, extra, level, fills: is_last && !is_free });
    }

    fn want_lun(&mut self, now: Instant, op: Op) {
        if let Some(op) = self.luns[op.lun as usize].acquire(op, op.class) {
            self.on_lun(now, op);
        }
    }

    /// The operation has its LUN: reads and erases begin in the array, programs on the channel.
    fn on_lun(&mut self, now: Instant, op: Op) {
        match op.kind {
            Kind::Read => {
                self.events.push(now + self.p.reads[usize::from(op.level)] + op.extra, NandEvent::Array(op))
            }
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
        self.events.push(now + self.transfer, NandEvent::Channel(op));
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
                    let program = if op.fills { self.p.program } else { Duration::ZERO };
                    self.events.push(at + program + op.extra, NandEvent::Array(op));
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
