//! How long media operations take: the four-parameter model of SAKER (latency and bandwidth of reads and
//! writes) and a NAND model (LUNs and channels).
//!
//! Both follow the law of timelines: a resource is taken by an operation at the event time at which it is
//! ready for it, never booked ahead.

use super::Shape;
use saker_medium::{PageAddr, SegmentId};
use saker_sim::{Class, Duration, EventQueue, Gate, Instant, Server};

/// An operation on its way, by the number its submitter gave it.
pub type Job = u32;

/// What an operation needs from the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A page to the controller.
    Read(PageAddr),
    /// A page from the controller.
    Program(PageAddr),
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

#[derive(Clone, Copy, Debug)]
enum Pipe {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug)]
enum FourEvent {
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
    events: EventQueue<FourEvent>,
}

impl FourParameterClock {
    fn new(p: FourParameter, shape: Shape) -> Self {
        let page_bytes = u64::from(shape.geometry.page_bytes);
        Self {
            p,
            page_bytes,
            read: Server::default(),
            write: Server::default(),
            events: EventQueue::default(),
        }
    }

    fn submit(&mut self, now: Instant, job: Job, work: Work, class: Class, extra: Duration) {
        let (pipe, server, bandwidth) = match work {
            Work::Read(_) => (Pipe::Read, &mut self.read, self.p.read_bandwidth),
            Work::Program(_) => (Pipe::Write, &mut self.write, self.p.write_bandwidth),
            Work::Erase(_) => return self.events.push(now + self.p.erase + extra, FourEvent::Finished(job)),
        };
        let length = Duration::of_transfer(self.page_bytes, bandwidth);
        if let Some(((job, extra), end)) = server.request(now, (job, extra), length, class) {
            self.events.push(end, FourEvent::Transferred(pipe, job, extra));
        }
    }

    fn step(&mut self, now: Instant) -> Option<(Instant, Option<Job>)> {
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

#[derive(Clone, Copy, Debug)]
struct Op {
    job: Job,
    kind: Kind,
    lun: u32,
    class: Class,
    extra: Duration,
    /// Which page of its cells it reads.
    level: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Program,
    Erase,
}

#[derive(Clone, Copy, Debug)]
enum NandEvent {
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
    events: EventQueue<NandEvent>,
    /// LUNs an operation still needs; an erase needs all.
    remaining: Vec<u32>,
    started: Vec<bool>,
}

impl NandClock {
    fn new(p: NandModel, shape: Shape) -> Self {
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

    fn submit(&mut self, now: Instant, job: Job, work: Work, class: Class, extra: Duration) {
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

    fn step(&mut self, now: Instant) -> Option<(Instant, Option<Job>)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use saker_medium::Geometry;

    fn shape() -> Shape {
        let geometry = Geometry { page_bytes: 16_320, oob_bytes: 64, segment_pages: 8, segments: 4 };
        Shape { geometry, channels: 2, luns: 4 }
    }

    fn nand() -> TimingModel {
        let us = |n: u64| Duration::from_nanos(n * 1000);
        let p = NandModel {
            reads: [us(50); 3],
            program: us(500),
            erase: us(3000),
            channel_bandwidth: 16_384_000_000,
        };
        TimingModel::new(Timings::Nand(p), shape())
    }

    fn run(model: &mut TimingModel) -> Vec<(u64, Job)> {
        let mut done = Vec::new();
        while let Some((at, job)) = model.step(Instant::FAR) {
            done.extend(job.map(|j| (at.as_nanos(), j)));
        }
        done
    }

    #[test]
    fn luns_work_in_parallel_and_share_channels() {
        let mut m = nand();
        for n in 0..4 {
            m.submit(Instant::ZERO, n, Work::Read(PageAddr(u64::from(n))), Class::Foreground, Duration::ZERO);
        }
        // tR 50 us on four LUNs at once; 1 us of channel each, two LUNs per channel.
        assert_eq!(run(&mut m), [(51_000, 0), (51_000, 1), (52_000, 2), (52_000, 3)]);
    }

    #[test]
    fn an_erase_waits_for_reads_in_flight_and_takes_every_lun() {
        let mut m = nand();
        m.submit(Instant::ZERO, 0, Work::Read(PageAddr(0)), Class::Foreground, Duration::ZERO);
        m.submit(Instant::ZERO, 1, Work::Erase(SegmentId(0)), Class::Background, Duration::ZERO);
        m.submit(Instant::ZERO, 2, Work::Read(PageAddr(1)), Class::Foreground, Duration::ZERO);
        assert_eq!(run(&mut m), [(51_000, 0), (3_051_000, 1), (3_051_000, 2)]);
    }

    #[test]
    fn programs_start_in_the_array_after_their_transfer() {
        let mut m = nand();
        m.submit(Instant::ZERO, 0, Work::Program(PageAddr(0)), Class::Foreground, Duration::ZERO);
        assert!(!m.has_started(0));
        m.step(Instant::from_nanos(1000)).expect("the transfer ends");
        assert!(m.has_started(0));
        assert_eq!(run(&mut m), [(501_000, 0)]);
    }

    /// The case that early booking gets wrong: two dependent reads per operation at 35 % load must not saturate.
    #[test]
    fn dependent_reads_do_not_saturate_an_underloaded_model() {
        let geometry = Geometry { page_bytes: 16_320, oob_bytes: 64, segment_pages: 64, segments: 4 };
        let us = |n: u64| Duration::from_nanos(n * 1000);
        let p = NandModel { reads: [us(50); 3], program: us(500), erase: us(3000), channel_bandwidth: 0 };
        let mut m = TimingModel::new(Timings::Nand(p), Shape { geometry, channels: 32, luns: 32 });
        let mut rng = saker_sim::Seed(9).rng();
        // 32 LUNs / 50 us = 640 k reads/s; 35 % of it is 224 k, that is 112 k operations of two reads.
        let total = 20_000u32;
        let mut pending: EventQueue<Job> = EventQueue::default();
        for n in 0..total {
            pending.push(Instant::from_nanos(u64::from(n) * 8929), n * 2);
        }
        let (mut last, mut slowest) = (Instant::ZERO, Duration::ZERO);
        let mut begun = vec![Instant::ZERO; total as usize];
        loop {
            let (a, b) = (pending.next_at(), m.next_at());
            let Some(now) = [a, b].into_iter().flatten().min() else { break };
            if a == Some(now) {
                let (_, job) = pending.pop_until(now).expect("due");
                if job % 2 == 0 {
                    begun[job as usize / 2] = now;
                }
                m.submit(now, job, Work::Read(PageAddr(rng.below(256))), Class::Foreground, Duration::ZERO);
            } else if let Some((at, Some(job))) = m.step(now) {
                if job % 2 == 0 {
                    pending.push(at, job + 1);
                } else {
                    slowest = slowest.max(at.since(begun[job as usize / 2]));
                    last = at;
                }
            }
        }
        assert!(last.as_nanos() < u64::from(total) * 8929 * 102 / 100, "throughput follows the offered load");
        assert!(slowest < us(2000), "{slowest}");
    }
}
