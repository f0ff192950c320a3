//! Timings `virtual` and `real`: a command passes its stages as events.
//!
//! Stages: its entry is fetched over the link; the dispatcher looks at it; its data comes over the link; an
//! I/O core executes it (as often as it needs pages or room); data goes back; its completion is posted.
//! Each resource is taken when the command is ready for it, never ahead (see [`saker_sim::server`]).

mod cores;
mod costs;
mod pipe;

use crate::config::DeviceConfig;
use crate::device::{Attachment, Device, FLUSH};
use crate::execute::{Outcome, Reply, Request};
use crate::immediate::failed;
use crate::transfer::Pieces;
use cores::{Cores, Work};
use pipe::Pipe;
use saker_engine::Background;
use saker_flash::{Flash, Media, PowerCut, ReadBatch};
use saker_link::{PAGE_BYTES, Sqe};
use saker_medium::{Reads, Ring, Step};
use saker_nvme::{NSID_ALL, Status};
use saker_sim::{Class, CpuMeter, Duration, EventQueue, Instant, earliest};
use std::collections::{BTreeMap, VecDeque};

pub use costs::{Costs, timings};

/// Commands on their way are numbered.
type Id = u32;

#[derive(Clone, Debug)]
enum Stage {
    /// The entry has arrived.
    Fetched,
    /// The dispatcher is done with it.
    Dispatched,
    /// Its data may be copied, and it may execute.
    Ready,
    /// The core is done with it.
    Executed(Reply),
    /// It waits for programs, then a sync.
    Flushing(Reply),
    /// Its data is with the host.
    Sent(Reply),
    /// The completion arrives.
    Posting(Reply),
}

#[derive(Clone, Debug)]
struct Token {
    qid: u16,
    sqe: Sqe,
    namespace: usize,
    request: Option<Request>,
    stage: Stage,
    batch: Option<ReadBatch>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A command's stage is over.
    Step(Id),
    /// A pipe may start its next job.
    LinkIn,
    LinkOut,
    Dispatcher,
    /// A core may start its next work.
    Core,
    /// A quantum of background work is over.
    Quantum(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worker {
    Idle,
    /// Queued for a core, on it, or waiting for pages.
    Busy,
}

/// The clock and the resources of a timed device.
#[derive(Clone, Debug)]
pub struct Timed {
    costs: Costs,
    now: Instant,
    events: EventQueue<Event>,
    link_in: Pipe,
    link_out: Pipe,
    dispatcher: Pipe,
    cores: Cores,
    tokens: Vec<Option<Token>>,
    free: Vec<Id>,
    waiting_reads: BTreeMap<ReadBatch, Work>,
    background_batches: Vec<Option<ReadBatch>>,
    blocked: Vec<VecDeque<Id>>,
    workers: Vec<Worker>,
    flushing: Vec<Id>,
    steps: u64,
}

impl Timed {
    /// An idle device with those costs.
    pub fn new(costs: Costs, namespaces: usize) -> Self {
        Self {
            now: Instant::ZERO,
            events: EventQueue::default(),
            link_in: Pipe::default(),
            link_out: Pipe::default(),
            dispatcher: Pipe::default(),
            cores: Cores::new(costs.io_cores),
            tokens: Vec::new(),
            free: Vec::new(),
            waiting_reads: BTreeMap::new(),
            background_batches: vec![None; namespaces],
            blocked: vec![VecDeque::new(); namespaces],
            workers: vec![Worker::Idle; namespaces],
            flushing: Vec::new(),
            steps: 0,
            costs,
        }
    }
}

impl<M: Media> Device<M, Timed> {
    /// A device that keeps time. Its namespaces recover as it is advanced.
    pub fn timed(flash: Flash<M>, config: DeviceConfig, host: Attachment, costs: Costs) -> Self {
        let namespaces = config.namespaces.len();
        let mut device = Self::with_tempo(flash, config, host, Timed::new(costs, namespaces));
        for n in 0..namespaces {
            device.start_worker(n);
        }
        device.note_boot();
        device
    }

    /// When something happens next without the host. `None`: nothing until the host acts.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        earliest(self.tempo.events.next_at(), self.flash.next_at())
    }

    /// Looks at registers and doorbells at `now`, and handles all events up to then.
    pub fn advance(&mut self, now: Instant) {
        while self.step(now) {}
        self.tempo.now = self.tempo.now.max(now);
        self.flash.set_now(self.tempo.now);
        if self.flash.is_powered() {
            self.look_at_host();
            while self.step(now) {}
        }
    }

    /// Handles one event at or before `now`. False if there is none.
    pub fn step(&mut self, now: Instant) -> bool {
        if !self.flash.is_powered() {
            return false;
        }
        let (own, media) = (self.tempo.events.next_at(), self.flash.next_at());
        let Some(at) = earliest(own, media).filter(|at| *at <= now) else { return false };
        self.tempo.now = at;
        self.tempo.steps += 1;
        if media == Some(at) {
            self.flash.step(at);
            self.after_media();
        } else {
            self.flash.set_now(at);
            let (_, event) = self.tempo.events.pop_until(at).expect("looked at above");
            self.on_event(event);
        }
        true
    }

    /// Events handled so far: the points at which power can be cut.
    pub fn steps(&self) -> u64 {
        self.tempo.steps
    }

    /// I/O commands completed so far: cheap to ask after every event.
    pub fn stats_commands(&self) -> u64 {
        self.stats.commands
    }

    /// The current time.
    pub fn now(&self) -> Instant {
        self.tempo.now
    }

    /// Whether no command is on its way.
    pub fn is_idle(&self) -> bool {
        self.tempo.free.len() == self.tempo.tokens.len()
    }

    /// What is left when power is cut now.
    pub fn cut(&self, seed: u64) -> (M, Ring)
    where
        M: Clone,
    {
        self.flash.cut(PowerCut { seed, ring_kept: self.config.capacitor })
    }

    fn look_at_host(&mut self) {
        self.watch_registers();
        if self.queues.has_waiting() {
            self.queues.drain_waiting();
        }
        while self.serve_admin() {}
        self.format_when_quiet();
        self.wake_drains();
        let mut sqe = Sqe::new(0, 0);
        for qid in 1..self.queues.sq_count() {
            while self.queues.fetch(qid, &mut sqe) {
                self.begin(qid, sqe);
            }
        }
    }

    fn begin(&mut self, qid: u16, sqe: Sqe) {
        let token = Token { qid, sqe, namespace: 0, request: None, stage: Stage::Fetched, batch: None };
        let t = &mut self.tempo;
        let id = t.free.pop().unwrap_or_else(|| {
            t.tokens.push(None);
            t.tokens.len() as Id - 1
        });
        t.tokens[id as usize] = Some(token);
        self.stats.traffic.sqe_fetches += 1;
        // The doorbell travels to the device, the read request to the host, the entry back.
        let length = self.tempo.costs.link_time(64);
        let after = self.tempo.costs.link_latency * 3;
        self.through_link_in(id, length, after);
    }

    fn through_link_in(&mut self, id: Id, length: Duration, after: Duration) {
        let t = &mut self.tempo;
        t.link_in.request(t.now, id, length, after, Event::LinkIn, Event::Step, &mut t.events);
    }

    fn through_link_out(&mut self, id: Id, length: Duration, after: Duration) {
        let t = &mut self.tempo;
        t.link_out.request(t.now, id, length, after, Event::LinkOut, Event::Step, &mut t.events);
    }

    fn on_event(&mut self, event: Event) {
        let t = &mut self.tempo;
        match event {
            Event::LinkIn => t.link_in.resume(t.now, Event::LinkIn, Event::Step, &mut t.events),
            Event::LinkOut => t.link_out.resume(t.now, Event::LinkOut, Event::Step, &mut t.events),
            Event::Dispatcher => t.dispatcher.resume(t.now, Event::Dispatcher, Event::Step, &mut t.events),
            Event::Core => self.start_on_cores(),
            Event::Quantum(n) => self.after_quantum(n),
            Event::Step(id) => self.on_stage(id),
        }
    }

    fn token(&mut self, id: Id) -> &mut Token {
        self.tempo.tokens[id as usize].as_mut().expect("a command on its way")
    }

    fn on_stage(&mut self, id: Id) {
        let stage = self.token(id).stage.clone();
        match stage {
            Stage::Fetched => {
                self.token(id).stage = Stage::Dispatched;
                let t = &mut self.tempo;
                let length = t.costs.fetch + t.costs.dispatch;
                t.dispatcher.request(
                    t.now,
                    id,
                    length,
                    Duration::ZERO,
                    Event::Dispatcher,
                    Event::Step,
                    &mut t.events,
                );
            }
            Stage::Dispatched => self.route(id),
            Stage::Ready => self.want_core(Work::Command(id)),
            Stage::Executed(reply) => self.after_execution(id, reply),
            Stage::Flushing(reply) => self.sync(id, reply),
            Stage::Sent(reply) => self.post(id, reply),
            Stage::Posting(reply) => self.finish(id, reply),
        }
    }

    /// Decodes the command and brings its data.
    fn route(&mut self, id: Id) {
        let sqe = self.token(id).sqe;
        let nsid = sqe.nsid.get();
        let found =
            if nsid == NSID_ALL && sqe.opcode == FLUSH { Some(0) } else { self.namespace_index(nsid) };
        let decoded = match found {
            None if nsid == NSID_ALL => Err(Status::INVALID_FIELD),
            None => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
            Some(n) if self.formats.iter().any(|(f, _)| *f == n) => Err(Status::FORMAT_IN_PROGRESS),
            Some(n) => {
                Request::decode(&sqe, &self.namespaces[n].config.kind, &self.host.space).map(|r| (n, r))
            }
        };
        let (n, request) = match decoded {
            Ok(found) => found,
            Err(status) => return self.post(id, failed(status)),
        };
        let costs = &self.tempo.costs;
        let pages = Pieces::pages(request.bytes_in());
        let bytes = pages * PAGE_BYTES as u64;
        let delay = costs.delay(request.is_write(), bytes);
        let (length, round_trip) = (costs.link_time(bytes), costs.link_latency * 2);
        self.stats.traffic.to_device.add_pages(pages);
        let token = self.token(id);
        (token.namespace, token.request, token.stage) = (n, Some(request), Stage::Ready);
        if bytes > 0 {
            self.through_link_in(id, length, round_trip + delay);
        } else if delay > Duration::ZERO {
            let at = self.tempo.now + delay;
            self.tempo.events.push(at, Event::Step(id));
        } else {
            self.want_core(Work::Command(id));
        }
    }

    fn want_core(&mut self, work: Work) {
        self.tempo.cores.enqueue(work);
        self.start_on_cores();
    }

    fn start_on_cores(&mut self) {
        while let Some(work) = self.tempo.cores.take(self.tempo.now) {
            let length = match work {
                Work::Command(id) => self.execute(id),
                Work::Background(n) => self.quantum(n),
            };
            let t = &mut self.tempo;
            t.cores.occupy(t.now, length);
        }
        let t = &mut self.tempo;
        if let Some(at) = t.cores.wake_at() {
            t.events.push(at, Event::Core);
        }
    }

    /// Executes a command on a core; returns how long the core is busy with it.
    fn execute(&mut self, id: Id) -> Duration {
        let mut token = self.tempo.tokens[id as usize].take().expect("a command on its way");
        let n = token.namespace;
        let mut meter = CpuMeter::new(self.tempo.costs.prices);
        let owner = self.namespaces[n].owner();
        let mut view = self.flash.view(owner, Class::Foreground);
        let request = token.request.as_ref().expect("decoded");
        let outcome = request.execute(&mut self.namespaces[n], &self.host.space, &mut view, &mut meter);
        if let Some(batch) = token.batch.take() {
            self.flash.unpin(batch);
        }
        let mut length = meter.take();
        match outcome {
            Outcome::Done(mut reply) => {
                if self.write_through && request.is_write() && reply.status.is_success() {
                    reply.flush = self.namespaces[n].flush(&mut self.flash.view(owner, Class::Foreground));
                }
                length += self.tempo.costs.complete;
                token.stage = Stage::Executed(reply);
                let at = self.tempo.now + length;
                self.tempo.events.push(at, Event::Step(id));
            }
            Outcome::Need(reads) => token.batch = self.bring(Work::Command(id), &reads, Class::Foreground),
            Outcome::Blocked => self.tempo.blocked[n].push_back(id),
        }
        let is_blocked = matches!(self.tempo.blocked[n].back(), Some(last) if *last == id);
        self.tempo.tokens[id as usize] = Some(token);
        self.settle();
        if is_blocked || self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
            self.start_worker(n);
        }
        length
    }

    fn bring(&mut self, work: Work, reads: &Reads, class: Class) -> Option<ReadBatch> {
        let batch = self.flash.bring(reads, class).expect("timed flash has a model");
        self.tempo.waiting_reads.insert(batch, work);
        self.wake_readers();
        Some(batch)
    }

    /// Pages that have arrived let their commands go on.
    fn wake_readers(&mut self) {
        while let Some(batch) = self.flash.take_ready() {
            let work = self.tempo.waiting_reads.remove(&batch).expect("somebody waits for a batch");
            self.tempo.cores.enqueue(work);
            let at = self.tempo.now;
            self.tempo.events.push(at, Event::Core);
        }
    }

    fn start_worker(&mut self, n: usize) {
        if std::mem::replace(&mut self.tempo.workers[n], Worker::Busy) == Worker::Idle {
            self.tempo.cores.enqueue(Work::Background(n));
            let at = self.tempo.now;
            self.tempo.events.push(at, Event::Core);
        }
    }

    /// One quantum of a namespace's background work, recovery included.
    fn quantum(&mut self, n: usize) -> Duration {
        let mut meter = CpuMeter::new(self.tempo.costs.prices);
        let owner = self.namespaces[n].owner();
        let recovering = self.namespaces[n].is_recovering();
        let mut view = self.flash.view(owner, if recovering { Class::Foreground } else { Class::Background });
        let step = if recovering {
            let step = self.namespaces[n].recover(&mut view);
            step.map(|over| if over { Background::Idle } else { Background::Worked })
        } else {
            self.namespaces[n].background(&mut view, &mut meter)
        };
        if let Some(batch) = self.tempo.background_batches[n].take() {
            self.flash.unpin(batch);
        }
        let length = meter.take();
        let at = self.tempo.now + length;
        match step {
            Step::Need(reads) => {
                self.tempo.background_batches[n] = self.bring(Work::Background(n), &reads, Class::Background);
            }
            Step::Done(Background::Worked) => self.tempo.events.push(at, Event::Quantum(n)),
            Step::Done(Background::Idle | Background::Waiting) | Step::Blocked(_) => {
                self.tempo.workers[n] = Worker::Idle;
                self.note_boot();
                self.give_up_if_stuck(n);
            }
        }
        self.settle();
        length
    }

    /// A quantum is over: its effects count now. Go on, and let blocked commands try again.
    fn after_quantum(&mut self, n: usize) {
        self.tempo.workers[n] = Worker::Idle;
        self.retry_blocked(n);
        let owner = self.namespaces[n].owner();
        if self.namespaces[n].is_recovering()
            || !self.tempo.blocked[n].is_empty()
            || self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background))
        {
            self.start_worker(n);
        }
    }

    fn retry_blocked(&mut self, n: usize) {
        for id in std::mem::take(&mut self.tempo.blocked[n]) {
            self.tempo.cores.enqueue(Work::Command(id));
        }
        let at = self.tempo.now;
        self.tempo.events.push(at, Event::Core);
    }

    /// Nothing is outstanding and background work can do nothing: blocked commands will never go on.
    fn give_up_if_stuck(&mut self, n: usize) {
        if !self.flash.is_quiet() {
            return;
        }
        if !self.tempo.blocked[n].is_empty() && self.flash.cool() {
            return self.retry_blocked(n);
        }
        for id in std::mem::take(&mut self.tempo.blocked[n]) {
            self.post(id, failed(Status::CAPACITY_EXCEEDED));
        }
        let all_idle = self.tempo.workers.iter().all(|w| *w == Worker::Idle);
        if !self.end_drains() && all_idle {
            self.give_up_drains();
        }
        // A Flush that waits now waits for what background work cannot move.
        for id in std::mem::take(&mut self.tempo.flushing) {
            if self.token(id).namespace == n {
                self.post(id, failed(Status::INTERNAL_ERROR));
            } else {
                self.tempo.flushing.push(id);
            }
        }
    }

    /// Ends the drains that are over; the workers make failed programs good for the others.
    fn wake_drains(&mut self) {
        self.end_drains();
        if self.drains.is_empty() {
            return;
        }
        for n in 0..self.namespaces.len() {
            let owner = self.namespaces[n].owner();
            if self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
                self.start_worker(n);
            }
        }
    }

    /// Media operations completed: tell their owners, wake whoever waited.
    fn after_media(&mut self) {
        let any = self.settle();
        self.wake_readers();
        if !any {
            return;
        }
        for n in 0..self.namespaces.len() {
            if !self.tempo.blocked[n].is_empty() {
                self.retry_blocked(n);
            }
            let owner = self.namespaces[n].owner();
            if self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
                self.start_worker(n);
            }
        }
        for id in std::mem::take(&mut self.tempo.flushing) {
            self.on_stage(id);
        }
        self.format_when_quiet();
        self.wake_drains();
    }

    fn after_execution(&mut self, id: Id, reply: Reply) {
        if reply.flush.is_some() {
            self.token(id).stage = Stage::Flushing(reply);
            return self.sync(id, reply);
        }
        if reply.bytes_out == 0 {
            return self.post(id, reply);
        }
        let pages = Pieces::pages(reply.bytes_out);
        let bytes = pages * PAGE_BYTES as u64;
        self.stats.traffic.to_host.add_pages(pages);
        self.token(id).stage = Stage::Sent(reply);
        let (length, latency) = (self.tempo.costs.link_time(bytes), self.tempo.costs.link_latency);
        self.through_link_out(id, length, latency);
    }

    /// A Flush: once its programs are done, the sync.
    fn sync(&mut self, id: Id, reply: Reply) {
        let tag = reply.flush.expect("a Flush names its tag");
        let n = self.token(id).namespace;
        let finished = self.flash.finished();
        if !self.namespaces[n].is_flushed(tag, finished) {
            if tag <= finished {
                // Programs failed; the worker makes that good.
                self.start_worker(n);
            }
            return self.tempo.flushing.push(id);
        }
        let everybody = self.token(id).sqe.nsid.get() == NSID_ALL;
        let next = n + 1;
        if everybody && next < self.namespaces.len() {
            // The next namespace's turn. It may have another command set.
            let sqe = self.token(id).sqe;
            let request = match Request::decode(&sqe, &self.namespaces[next].config.kind, &self.host.space) {
                Ok(request) => request,
                Err(status) => return self.post(id, failed(status)),
            };
            let token = self.token(id);
            (token.namespace, token.request, token.stage) = (next, Some(request), Stage::Ready);
            return self.want_core(Work::Command(id));
        }
        let ok = self.sync_all();
        self.post(id, if ok { Reply { flush: None, ..reply } } else { failed(Status::INTERNAL_ERROR) });
    }

    fn post(&mut self, id: Id, reply: Reply) {
        self.token(id).stage = Stage::Posting(reply);
        self.stats.traffic.cqes += 1;
        let (length, latency) = (self.tempo.costs.link_time(16), self.tempo.costs.link_latency);
        self.through_link_out(id, length, latency);
    }

    fn finish(&mut self, id: Id, reply: Reply) {
        let token = self.tempo.tokens[id as usize].take().expect("a command on its way");
        self.tempo.free.push(id);
        self.stats.commands += 1;
        self.stats.errors += u64::from(!reply.status.is_success());
        self.queues.complete(token.qid, token.sqe.cid.get(), reply.status, u64::from(reply.dw0));
    }
}
