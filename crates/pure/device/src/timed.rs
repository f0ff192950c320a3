// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timings `virtual` and `real`: a command passes its stages as events.
//!
//! Stages: its entry is fetched over the link; the dispatcher looks at it; its data comes over the link; an
//! I/O core executes it (as often as it needs pages or room); data goes back; its completion is posted.
//! Each resource is taken when the command is ready for it, never ahead (see [`saker_sim::server`]).

mod ahead;
mod background;
mod command;
mod cores;
mod costs;
mod dispatch;
mod drains;
mod order;
mod pipe;
mod settings;
mod traces;
mod turns;

use crate::config::{DeviceConfig, NamespaceConfig};
use crate::device::{Attachment, Device};
use crate::execute::{Reply, Request};
use crate::methods::InlineHead;
use crate::trace::{Clockwork, CommandTrace};
use cores::{Cores, Held, Work};
use order::Order;
use pipe::Pipe;
use saker_duty::Duty;
use saker_engine::{Crew, Job, WriteCondition};
use saker_flash::{Flash, MemCells, Pinned, PowerCut, SyncNumber};
use saker_link::Sqe;
use saker_segment_store::{PageBuffer, Reads, Tag};
use saker_sim::{Activity, Busy, Class, Duration, EventQueue, Instant, earliest};
use std::collections::VecDeque;

pub use costs::{Costs, timings};

/// Commands on their way are numbered.
type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The entry has arrived.
    Fetched,
    /// The dispatcher is done with it.
    Dispatched,
    /// The engines for its data are set up.
    SetUp,
    /// Its data may be copied, and it may execute.
    Ready,
    /// It waits for pages or room.
    Waiting,
    /// The core is done with it. From here on the token's reply counts.
    Executed,
    /// Its core waits until the flash is through with what it asked for.
    Awaiting,
    /// It waits for programs, then a sync.
    Flushing,
    /// The engine for its answer is set up.
    SetUpOut,
    /// Its data is with the host.
    Sent,
    /// A part of a value was taken.
    Part,
    /// The completion arrives.
    Posting,
}

#[derive(Debug)]
struct Token {
    qid: u16,
    sqe: Sqe,
    namespace: usize,
    /// How often the namespace had been erased when the command came to it.
    erasures: u32,
    request: Option<Request>,
    stage: Stage,
    /// The sync that a Flush waits for, where syncs go on beside commands.
    syncing: Option<SyncNumber>,
    /// How it ended, once it has.
    reply: Reply,
    pages: Option<Pinned>,
    /// The value of an inline store.
    head: Option<Box<InlineHead>>,
    /// Gathered bytes that it holds.
    held: u32,
    clock: Clockwork,
    /// The operation of the flash that its core waits for, and that core.
    awaited: Option<(Tag, Option<Held>)>,
    /// How long the stage takes without waiting.
    service: Duration,
    /// Which core it belongs to, where they do not share their work.
    lane: u64,
    /// It has waited for its turn among delayed writes.
    passes: bool,
    /// The period without writes in which it was counted last.
    counted: u32,
    /// The condition in which it was refused last, if writes were stopped.
    stopped: WriteCondition,
    duty: Duty,
}

/// What a command is owed until its completion is posted.
const ANSWER: &str = "a command that was fetched is answered";

/// Power goes: commands that are under way are never answered, and nobody lets go of pages.
#[cfg(debug_assertions)]
impl Drop for Timed {
    fn drop(&mut self) {
        for token in self.tokens.iter_mut().flatten() {
            token.duty.rest();
            token.pages.iter_mut().for_each(Pinned::rest);
        }
        self.crews.iter_mut().flat_map(Crew::all_pages).for_each(Pinned::rest);
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A command's stage is over.
    Step(Id),
    /// A core may start its next work.
    Core,
    /// A queue may be looked at again.
    Look,
    /// A quantum of background work is over: of which namespace, and of which of its workers.
    Quantum(u16, u16),
    /// A delayed write of a namespace may have its turn.
    Turn(u32),
}

/// The clock and the resources of a timed device.
#[derive(Debug)]
pub struct Timed {
    costs: Costs,
    now: Instant,
    events: EventQueue<Event>,
    link_in: Pipe,
    link_out: Pipe,
    dispatcher: Pipe,
    cores: Cores,
    order: Order,
    /// Commands that were handed to cores in turn.
    dealt: u64,
    tokens: Vec<Option<Token>>,
    free: Vec<Id>,
    /// Who waits for a batch, by the batch's place.
    waiting_reads: Vec<Option<Work>>,
    blocked: Vec<VecDeque<Id>>,
    /// By namespace: for when its next turn of a delayed write is an event.
    turns: Vec<Option<Instant>>,
    /// The workers of each namespace.
    crews: Vec<Crew<Pinned>>,
    /// Kept for its memory.
    due: Vec<Job>,
    flushing: Vec<Id>,
    /// Commands whose cores wait for the flash.
    awaiting: Vec<Id>,
    /// Quanta of background work since the last command was given up or something completed, while the host's file
    /// refuses pages.
    quanta_while_held: u64,
    steps: u64,
    traces: Option<Vec<CommandTrace>>,
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
            cores: Cores::new(costs.io_cores, costs.background_cores, costs.dispatch_by),
            order: Order::default(),
            dealt: 0,
            tokens: Vec::new(),
            free: Vec::new(),
            waiting_reads: Vec::new(),
            blocked: vec![VecDeque::new(); namespaces],
            turns: vec![None; namespaces],
            crews: (0..namespaces).map(|_| Crew::new(costs.background_cores)).collect(),
            due: Vec::new(),
            flushing: Vec::new(),
            awaiting: Vec::new(),
            quanta_while_held: 0,
            steps: 0,
            traces: None,
            costs,
        }
    }
}

impl Timed {
    /// Work that is ready waits for its core.
    fn enqueue(&mut self, work: Work) {
        let lane = match work {
            _ if self.cores.is_shared() => 0,
            Work::Command(id) => self.tokens[id as usize].as_ref().map_or(0, |token| token.lane),
            Work::Background { namespace, .. } => u64::from(namespace),
        };
        self.cores.enqueue(work, lane);
    }
}

impl Device<Timed> {
    /// A device that keeps time. Its namespaces recover as it is advanced.
    ///
    /// # Panics
    /// For an engine with threads of its own ([`Capability::Workers`](saker_engine::Capability::Workers)).
    pub fn timed(flash: Flash, config: DeviceConfig, host: Attachment, costs: Costs) -> Self {
        let namespaces = config.namespaces.len();
        let has_workers = config.namespaces.iter().any(NamespaceConfig::has_workers);
        assert!(!has_workers, "an engine with threads of its own takes no part in virtual time");
        let config = DeviceConfig { group_keys: costs.group_keys, ..config };
        let mut device = Self::with_tempo(flash, config, host, Timed::new(costs, namespaces));
        device.format();
        for n in 0..namespaces {
            device.start_worker(n);
        }
        device.note_boot();
        device
    }

    /// Where the cells are a file, syncs of it go on beside commands from here on. Only for a device that is driven against the clock and without
    /// a pause ([`Device::advance`]): when a sync ends no profile says.
    pub fn allow_syncs_beside(&mut self) {
        self.flash.allow_syncs_beside();
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
            self.look();
            while self.step(now) {}
            if self.flash.resume_if_due() {
                self.after_media();
            }
        }
    }

    /// Looks at registers, doorbells and whether a sync of the image has ended, at the time of the last event: for who handles many events that are due and
    /// does not let the host wait for the last of them.
    pub fn look(&mut self) {
        if !self.flash.is_powered() {
            return;
        }
        self.look_at_host();
        if self.flash.look_for_syncs() {
            // Flushes go on, and slots and segments may be free.
            self.go_on_after_media(true);
        }
    }

    /// Handles one event at or before `now`. False if there is none.
    pub fn step(&mut self, now: Instant) -> bool {
        self.next_event(now).is_some()
    }

    /// Handles one event at or before `until`; returns when it happened.
    #[inline]
    pub fn next_event(&mut self, until: Instant) -> Option<Instant> {
        if !self.flash.is_powered() {
            return None;
        }
        let (own, media) = (self.tempo.events.next_at(), self.flash.next_at());
        let (own, media) = (own.unwrap_or(Instant::FAR), media.unwrap_or(Instant::FAR));
        let at = own.min(media);
        if at > until || at == Instant::FAR {
            return None;
        }
        self.tempo.now = at;
        self.tempo.steps += 1;
        if media == at {
            self.flash.step(at);
            self.after_media();
        } else {
            self.flash.set_now(at);
            let (_, event) = self.tempo.events.pop_until(at).expect("looked at above");
            self.on_event(event);
        }
        Some(at)
    }

    /// Events handled so far: the points at which power can be cut.
    pub fn steps(&self) -> u64 {
        self.tempo.steps
    }

    /// I/O commands completed so far: cheap to ask after every event.
    pub fn stats_commands(&self) -> u64 {
        self.stats.commands
    }

    /// What the device's cores were busy with so far: the dispatcher first, then those that execute commands, then those for
    /// background work alone. Work that has begun counts in full.
    pub fn busy(&self) -> Busy {
        let mut busy = Busy::default();
        busy.add(0, Activity::Dispatch, self.tempo.dispatcher.busy_total());
        busy.beside(self.tempo.cores.busy())
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
    ///
    /// # Panics
    /// When the cells are not in memory ([`saker_flash::Flash::cut`]).
    pub fn cut(&self, seed: u64) -> (MemCells, PageBuffer) {
        self.flash.cut(PowerCut { seed, ring_kept: self.config.capacitor })
    }

    fn look_at_host(&mut self) {
        self.watch_registers();
        if self.queues.has_waiting() {
            self.queues.drain_waiting();
        }
        while self.serve_admin() {}
        self.follow_settings();
        self.format();
        self.wake_drains();
        let mut sqe = Sqe::new(0, 0);
        for qid in 1..self.queues.sq_count() {
            let most = self.queues.fetched_max(qid);
            while self.flights.admits(qid, most) && self.queues.fetch(qid, &mut sqe) {
                self.begin(qid, sqe);
            }
        }
    }

    /// Begins and ends formats. Commands that are blocked are told of a beginning; a namespace that must recover after the
    /// end, because it was damaged before or this is the beginning of a run, does so.
    fn format(&mut self) {
        if self.formats.is_empty() || !self.advance_formats() {
            return;
        }
        for n in 0..self.namespaces.len() {
            if !self.tempo.blocked[n].is_empty() {
                self.retry_blocked(n);
            }
            if self.namespaces[n].is_recovering() {
                self.start_worker(n);
            }
        }
        self.note_boot();
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Core => self.start_on_cores(),
            Event::Quantum(n, worker) => self.after_quantum(n.into(), worker.into()),
            Event::Look => self.look_at_host(),
            Event::Turn(n) => self.on_turn(n as usize),
            Event::Step(id) => self.on_stage(id),
        }
    }

    fn token(&mut self, id: Id) -> &mut Token {
        self.tempo.tokens[id as usize].as_mut().expect("a command on its way")
    }

    pub(super) fn want_core(&mut self, work: Work) {
        self.tempo.enqueue(work);
        self.start_on_cores();
    }

    /// Cores that are free take what waits. Called when work comes and when a core is done.
    fn start_on_cores(&mut self) {
        while let Some(work) = self.tempo.cores.take(self.tempo.now) {
            let (activity, (length, has_end)) = match work {
                Work::Command(id) => (Activity::Foreground, self.execute(id)),
                Work::Background { namespace, worker } => self.work(namespace.into(), worker.into()),
            };
            let t = &mut self.tempo;
            t.cores.occupy(t.now, length, has_end, activity);
            if let Work::Command(id) = work {
                self.hold_core(id);
            }
        }
        let t = &mut self.tempo;
        if let Some(at) = t.cores.wake_at() {
            t.events.push(at, Event::Core);
        }
    }

    fn bring(&mut self, work: Work, reads: &Reads, class: Class) -> Option<Pinned> {
        let pages = self.flash.bring(reads, class).expect("timed flash has a model");
        let (waiting, place) = (&mut self.tempo.waiting_reads, pages.batch().place());
        waiting.resize(waiting.len().max(place + 1), None);
        waiting[place] = Some(work);
        if self.wake_readers() {
            let at = self.tempo.now;
            self.tempo.events.push(at, Event::Core);
        }
        Some(pages)
    }

    /// Pages that have arrived let their commands go on. True if there are any: cores have to be looked at.
    fn wake_readers(&mut self) -> bool {
        let mut any = false;
        while let Some(batch) = self.flash.take_ready() {
            let work = self.tempo.waiting_reads[batch.place()].take().expect("somebody waits for a batch");
            self.tempo.enqueue(work);
            any = true;
        }
        any
    }

    /// Media operations completed: tell their owners, wake whoever waited.
    fn after_media(&mut self) {
        self.go_on_after_media(false);
    }

    fn go_on_after_media(&mut self, sync_ended: bool) {
        let any = self.settle() || sync_ended;
        if self.wake_readers() {
            self.start_on_cores();
        }
        for id in std::mem::take(&mut self.tempo.awaiting) {
            self.on_stage(id);
        }
        if !any {
            return self.look_at_held();
        }
        self.tempo.quanta_while_held = 0;
        for n in 0..self.namespaces.len() {
            if !self.tempo.blocked[n].is_empty() {
                self.retry_unless_stopped(n);
            }
            let owner = self.namespaces[n].owner();
            if self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
                self.start_worker(n);
            }
        }
        for id in std::mem::take(&mut self.tempo.flushing) {
            self.on_stage(id);
        }
        self.format();
        self.wake_drains();
    }
}
