// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long media operations take: the four-parameter model of SAKER (latency and bandwidth of reads and
//! writes) and a NAND model (LUNs and channels).
//!
//! Both follow the law of timelines: a resource is taken by an operation at the event time at which it is
//! ready for it, never booked ahead.

mod clock;
mod four_parameter;

pub use clock::NandClock;
pub use four_parameter::FourParameterClock;

use super::Shape;
use saker_segment_store::{PageAddr, SegmentId};
use saker_sim::{Class, Duration, Instant};

/// An operation on its way, by the number its submitter gave it.
pub type Job = u32;

/// What an operation needs from the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A page to the controller.
    Read(PageAddr),
    /// A page from the controller.
    Program(PageAddr),
    /// The same, of what a collection has copied.
    Copy(PageAddr),
    /// A segment: every LUN.
    Erase(SegmentId),
}

/// Latency and bandwidth (SAKER Fig. 2). Bandwidth is shared by all operations of a kind; latency follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourParameter {
    /// Time after the transfer until a read is complete.
    pub read_latency: Duration,
    /// Shared by all reads, bytes per second.
    pub read_bandwidth: u64,
    /// Time after the transfer until a write is complete.
    pub write_latency: Duration,
    /// Shared by all writes, bytes per second.
    pub write_bandwidth: u64,
    /// Time of an erase.
    pub erase: Duration,
}

/// Array times and the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NandModel {
    /// Array to register, for the pages of a multi-bit cell in turn.
    pub reads: [Duration; 3],
    /// Register to array.
    pub program: Duration,
    /// Pages of a LUN that one program writes; the last of them takes its time.
    pub program_pages: u32,
    /// Whether copies of collections are programmed in no time.
    pub copies_are_free: bool,
    /// A block.
    pub erase: Duration,
    /// Bytes per second of a channel.
    pub channel_bandwidth: u64,
}

/// Which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timings {
    /// Latency and bandwidth.
    FourParameter(FourParameter),
    /// LUNs and channels.
    Nand(NandModel),
}

impl Timings {
    /// Nothing takes time.
    pub const FREE: Self = Self::FourParameter(FourParameter {
        read_latency: Duration::ZERO,
        read_bandwidth: 0,
        write_latency: Duration::ZERO,
        write_bandwidth: 0,
        erase: Duration::ZERO,
    });
}

/// Runs operations against a model.
#[derive(Clone, Debug)]
pub enum TimingModel {
    /// Latency and bandwidth.
    FourParameter(FourParameterClock),
    /// LUNs and channels.
    Nand(NandClock),
}

impl TimingModel {
    /// An idle model for flash of that shape.
    pub fn new(timings: Timings, shape: Shape) -> Self {
        match timings {
            Timings::FourParameter(p) => Self::FourParameter(FourParameterClock::new(p, shape)),
            Timings::Nand(p) => Self::Nand(NandClock::new(p, shape)),
        }
    }

    /// Starts an operation at `now`; `extra` is added to its array time (latency).
    pub fn submit(&mut self, now: Instant, job: Job, work: Work, class: Class, extra: Duration) {
        match self {
            Self::FourParameter(c) => c.submit(now, job, work, class, extra),
            Self::Nand(c) => c.submit(now, job, work, class, extra),
        }
    }

    /// Whether copies of collections are programmed in no time.
    pub fn copies_are_free(&self) -> bool {
        matches!(self, Self::Nand(clock) if clock.copies_are_free())
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Instant> {
        match self {
            Self::FourParameter(c) => c.events.next_at(),
            Self::Nand(c) => c.events.next_at(),
        }
    }

    /// Handles one event at or before `now`: the operation that completed with it, if one did. `None`: no event.
    pub fn step(&mut self, now: Instant) -> Option<(Instant, Option<Job>)> {
        match self {
            Self::FourParameter(c) => c.step(now),
            Self::Nand(c) => c.step(now),
        }
    }

    /// Whether the array has begun to change for an operation (a cut may tear it). Queued ones have not.
    pub fn has_started(&self, job: Job) -> bool {
        match self {
            Self::FourParameter(_) => true,
            Self::Nand(c) => c.started.get(job as usize).copied().unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests;
