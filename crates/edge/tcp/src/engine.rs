// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread of a subsystem: its controllers, its device, and the sockets of its hosts. So a command meets no other
//! thread on its way to the device and back; a device that waits for its image holds up its own hosts only.

mod authentication;
mod checks;
mod counted;
mod formatted;
#[cfg(test)]
mod idle;
mod iterators;
mod leaving;
mod splits;
mod start;
mod submit;
mod watch;
mod write_cache;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use saker::panics::ends_process;
use saker::{Error, Rest};
use saker_host::Done;
use saker_nvme::fabrics::{Connect, ConnectData, fctype};
use saker_nvme::vendor_specific::{CommandClass, asks_for_counters};
use saker_nvme::{NSID_ALL, Sqe, Status, admin, kv};
use saker_nvme_tcp::target::Command;
use saker_sim::Instant;
use saker_target::{Answer, Charge, ConnectionId, HostId, IoCommand, Reaction, Subsystem, Traffic};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender};
use tokio::task::{spawn_local, yield_now};
use tokio::time::timeout;

use crate::authenticator::Authenticator;
use crate::connection;
use crate::connection::messages::{Reply, Request};
use crate::local::Local;
use crate::memory::Seat;
use crate::turn::{Crowd, Turn};
use counted::class_of;
use iterators::Iterators;
use saker_device::Tally;
use splits::Splits;
pub(crate) use start::start;
pub(crate) use watch::Watch;

/// What a command in flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Io,
    Shutdown,
    /// The outcome of a transaction is asked for in the place of a part or commit of it.
    Outcome,
    /// A transaction of a connection that is gone ends, if it still has it then.
    Leave,
    /// Of the target's own: nobody is told.
    Cleanup,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    connection: ConnectionId,
    token: u16,
    purpose: Purpose,
    /// What the error log tells of it if it fails: opcode, NSID, CID.
    entry: (u8, u32, u16),
    /// When it came.
    asked: Instant,
    /// When no limit held it any more.
    begun: Instant,
    /// Whether it asks for data.
    is_read: bool,
}

impl Flight {
    fn of(connection: ConnectionId, token: u16, purpose: Purpose, sqe: &Sqe, asked: Instant) -> Self {
        Self { connection, token, purpose, entry: entry(sqe), asked, begun: asked, is_read: false }
    }
}

const fn entry(sqe: &Sqe) -> (u8, u32, u16) {
    (sqe.opcode, sqe.nsid.get(), sqe.cid.get())
}

#[derive(Debug)]
struct Peer {
    replies: UnboundedSender<Reply>,
    host: HostId,
    turn: Arc<Turn>,
    answers: Vec<(u16, Answer)>,
    /// Commands with the device or waiting for it.
    outstanding: usize,
    is_draining: bool,
}

/// A running subsystem.
#[derive(Debug)]
pub(crate) struct Engine {
    subsystem: Subsystem,
    local: Option<Local>,
    peers: BTreeMap<ConnectionId, Peer>,
    /// By slot of the device's queue.
    flights: Vec<Option<(Flight, Charge)>>,
    in_flight: usize,
    traffic: Traffic<(Flight, IoCommand)>,
    crowd: Crowd,
    /// Connections that are gone while the device works for them: its commands, and the memory these hold.
    leaving: BTreeMap<ConnectionId, (usize, Seat)>,
    iterators: Iterators,
    splits: Splits,
    /// Connections with answers to send.
    answered: Vec<ConnectionId>,
    begun: Clock,
    looked_at: Instant,
    rest: Rest,
    /// Whether anything has been asked in this turn.
    was_asked: bool,
    /// Nobody asks for anything, and the device does what it has put off: there may be more of it.
    catches_up: bool,
    is_written_through: bool,
    busy_poll: bool,
    authenticator: Authenticator,
    /// Commands that wait for it, by connection, each of which has one at most.
    authenticating: BTreeMap<ConnectionId, authentication::Begun>,
    /// The way to here, for work that is done elsewhere.
    requests: WeakUnboundedSender<Request>,
    watch: Watch,
    tally: Tally,
}

/// How often keep alive timers are looked at.
const TICK: Duration = Duration::from_millis(100);

impl Engine {
    fn new(
        subsystem: Subsystem,
        local: Option<Local>,
        busy_poll: bool,
        (authenticator, requests): (Authenticator, WeakUnboundedSender<Request>),
        watch: Watch,
    ) -> Self {
        Self {
            subsystem,
            flights: vec![None; local.as_ref().map_or(0, |local| local.queue.slots())],
            local,
            peers: BTreeMap::new(),
            in_flight: 0,
            traffic: Traffic::default(),
            crowd: Crowd::default(),
            leaving: BTreeMap::new(),
            iterators: Iterators::default(),
            splits: Splits::default(),
            answered: Vec::new(),
            begun: Clock::now(),
            looked_at: Instant::ZERO,
            rest: Rest::default(),
            was_asked: false,
            catches_up: false,
            is_written_through: false,
            busy_poll,
            authenticator,
            authenticating: BTreeMap::new(),
            requests,
            watch,
            tally: Tally::default(),
        }
    }

    async fn run(&mut self, requests: &mut UnboundedReceiver<Request>) {
        while self.take_requests(requests).await {
            self.look_at_crowd();
            self.submit_waiting();
            self.drive();
            self.tell_formatted();
            self.send_answers();
            self.look_at_timers();
        }
    }

    /// Takes what has been asked, waiting if there is nothing else to do. False when the server stops.
    async fn take_requests(&mut self, requests: &mut UnboundedReceiver<Request>) -> bool {
        let first = if !self.is_idle() || self.busy_poll || self.catches_up {
            // The sockets' turn.
            yield_now().await;
            requests.try_recv()
        } else {
            let received = timeout(self.patience(), requests.recv()).await;
            received.map_or(Err(TryRecvError::Empty), |request| request.ok_or(TryRecvError::Disconnected))
        };
        self.was_asked = first.is_ok();
        let mut next = match first {
            Ok(request) => Some(request),
            Err(error) => return error == TryRecvError::Empty,
        };
        self.rest.end();
        while let Some(request) = next {
            if matches!(request, Request::Stop) {
                return false;
            }
            self.take(request);
            next = requests.try_recv().ok();
        }
        true
    }

    /// How long to sleep: background work of a device that keeps time has its own deadline, and one that has nothing to do gives space of its image
    /// back.
    fn patience(&mut self) -> Duration {
        let Some(local) = &self.local else { return TICK };
        let clocked = &mut local.shared().clocked;
        if clocked.next_deadline().is_none() && self.rest.is_long(Clock::now()) && clocked.give_space_back() {
            return Duration::ZERO;
        }
        let until =
            |at: Option<Instant>, now| at.map_or(TICK, |at| Duration::from_nanos(at.since(now).as_nanos()));
        let of_limits = until(self.traffic.deadline(), self.now());
        until(clocked.next_deadline(), clocked.now()).min(of_limits).min(TICK)
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Adopt(guest) => drop(spawn_local(connection::serve_guest(*guest))),
            Request::Connect(id, port, connect, data, replies) => {
                self.connect((id, port), &connect, &data, replies);
                ends_process("subsystem").at_work();
            }
            Request::Commands(id, commands) => {
                let now = self.now();
                commands.into_iter().for_each(|command| self.command(id, command, now));
            }
            Request::Refused(id, entries) => entries.iter().for_each(|sqe| self.split_refused(id, sqe)),
            Request::Worked(id, token, worked) => self.worked(id, token, worked),
            Request::Drain(id) => {
                self.lift_limits();
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.is_draining = true;
                }
                self.close_drained(id);
            }
            Request::Closed(id, seat) => self.closed(id, seat),
            Request::Access(port, access) => {
                self.subsystem.set_access(port, access);
                self.tell_events();
            }
            Request::Hosts(hosts, policies, rates) => {
                self.subsystem.set_hosts(hosts, policies).into_iter().for_each(|id| self.close(id));
                self.subsystem.set_namespace_rates(rates);
                self.follow_limits();
            }
            // Nobody waits any more if that fails.
            Request::Pulse(told) => drop(told.send(())),
            // Who asked may have lost patience.
            Request::Counters(answer) => drop(answer.send(self.counters())),
            Request::Stop => {}
        }
    }

    fn connect(
        &mut self,
        (id, port): (ConnectionId, u16),
        connect: &Connect,
        data: &ConnectData,
        replies: UnboundedSender<Reply>,
    ) {
        let now = self.now();
        let result = self.subsystem.connect(id, connect, data, now);
        for evicted in self.subsystem.evicted() {
            self.watch.evicted(evicted);
            self.close(evicted);
        }
        self.subsystem.came_by(id, port);
        let status = result.map_or_else(|refusal| refusal.status, |_| Status::SUCCESS);
        let took = self.now().since(now);
        self.tally.count(CommandClass::Fabrics, fctype::CONNECT, status, Some(took));
        let (host, turn) = self.join(id);
        // A connection that is gone has nobody to tell; `Closed` follows.
        let _ = replies.send(Reply::Connected(result.map(|bound| (bound, Arc::clone(&turn)))));
        if result.is_ok() {
            let peer = Peer { replies, host, turn, answers: Vec::new(), outstanding: 0, is_draining: false };
            self.peers.insert(id, peer);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(peer) = self.peers.get(&id) {
            // As above.
            let _ = peer.replies.send(Reply::Close);
        }
    }

    fn close_drained(&mut self, id: ConnectionId) {
        if self.peers.get(&id).is_some_and(|peer| peer.is_draining && peer.outstanding == 0) {
            self.send_answers();
            self.close(id);
        }
    }

    fn command(&mut self, id: ConnectionId, command: Command, now: Instant) {
        let Some(bound) = self.subsystem.bound(id) else { return };
        if Subsystem::is_authentication(&command.sqe) {
            return self.authenticate(id, &command);
        }
        let Command { token, sqe, data, room } = command;
        if Subsystem::is_for_controller(bound, &sqe) {
            return self.for_controller(id, token, &sqe, now);
        }
        let entry = entry(&sqe);
        let checked = self.checked(bound, &sqe, data, room, now);
        match checked.and_then(|command| self.admit_iterator(id, &command.sqe).map(|()| command)) {
            Err(status) => {
                self.split_refused(id, &sqe);
                let took = Some(self.now().since(now));
                self.tally.count(class_of(entry.1, self.facts()), entry.0, status, took);
                self.note_failure(id, entry, status);
                self.answer(id, token, Answer::status(status));
            }
            Ok(command) => {
                let flight = Flight::of(id, token, Purpose::Io, &sqe, now);
                self.enqueue(Flight { is_read: command.room > 0, ..flight }, command);
            }
        }
    }

    fn for_controller(&mut self, id: ConnectionId, token: u16, sqe: &Sqe, now: Instant) {
        if let Some(local) = &mut self.local {
            local.refresh_facts();
            self.subsystem.note_counters(local.health());
            if asks_for_counters(sqe) {
                let counted = self.counters();
                self.subsystem.note_counted(id, counted);
            }
        }
        let was_ready = self.subsystem.is_ready(id);
        let facts = self.local.as_ref().map_or(&[][..], |local| &local.facts);
        match self.subsystem.command(id, token, sqe, facts, now) {
            Reaction::Complete(answer) => {
                self.count_here(sqe, answer.status, now);
                self.answer(id, token, answer);
            }
            Reaction::CompleteAndClose(answer) => {
                self.count_here(sqe, answer.status, now);
                self.answer(id, token, answer);
                self.send_answers();
                self.close(id);
            }
            Reaction::Hold => {}
            Reaction::Device(sqe) => self.for_device(id, token, &sqe, now),
            // Without a device there is nothing to flush.
            Reaction::FlushThenShutdown if self.local.is_none() => {
                self.subsystem.shutdown_done(id);
                self.count_here(sqe, Status::SUCCESS, now);
                self.answer(id, token, Answer::result(0));
            }
            Reaction::FlushThenShutdown => {
                self.watch.shutdown(&self.subsystem, id);
                let sqe = Sqe::new(kv::opcode::FLUSH, NSID_ALL);
                let flush = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
                self.enqueue(Flight::of(id, token, Purpose::Shutdown, &sqe, now), flush);
            }
        }
        self.watch.controller(&self.subsystem, id, sqe, was_ready);
        self.follow_write_cache();
        self.tell_events();
    }

    fn tell_events(&mut self) {
        for (connection, token, answer) in self.subsystem.events() {
            self.tally.count(CommandClass::Admin, admin::opcode::ASYNC_EVENT_REQUEST, answer.status, None);
            self.answer(connection, token, answer);
        }
    }

    fn for_device(&mut self, id: ConnectionId, token: u16, sqe: &Sqe, now: Instant) {
        let Some(local) = &mut self.local else {
            return self.answer(id, token, Answer::status(Status::INVALID_OPCODE));
        };
        let (status, result) = local.admin(*sqe);
        self.count_here(sqe, status, now);
        self.subsystem.device_answered(id, sqe, status);
        self.watch.device_answered(&self.subsystem, id, sqe, status);
        self.is_written_through |= self.subsystem.wants_write_through();
        self.answer(id, token, Answer { status, result, data: Vec::new() });
    }

    fn finished(&mut self, flight: Flight, answer: Answer) {
        match flight.purpose {
            Purpose::Cleanup | Purpose::Leave => return,
            Purpose::Shutdown => self.subsystem.shutdown_done(flight.connection),
            Purpose::Io | Purpose::Outcome if !answer.status.is_success() => {
                self.note_failure(flight.connection, flight.entry, answer.status);
            }
            Purpose::Io | Purpose::Outcome => {}
        }
        self.note_iterator(&flight, answer.status, answer.result);
        self.split_ended(&flight, answer.status);
        self.answer(flight.connection, flight.token, answer);
        self.left(flight.connection);
        if let Some(peer) = self.peers.get_mut(&flight.connection) {
            peer.outstanding = peer.outstanding.saturating_sub(1);
            if peer.is_draining {
                self.close_drained(flight.connection);
            }
        }
    }

    fn answer(&mut self, id: ConnectionId, token: u16, answer: Answer) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if peer.answers.is_empty() {
            self.answered.push(id);
        }
        peer.answers.push((token, answer));
    }

    fn send_answers(&mut self) {
        for id in self.answered.drain(..) {
            if let Some(peer) = self.peers.get_mut(&id) {
                // As above.
                let _ = peer.replies.send(Reply::Completed(std::mem::take(&mut peer.answers)));
            }
        }
    }

    fn look_at_timers(&mut self) {
        let now = self.now();
        if now.since(self.looked_at).as_nanos() < TICK.as_nanos() as u64 {
            return;
        }
        self.looked_at = now;
        self.tell_limits();
        let is_resting = self.busy_poll && self.is_idle() && self.rest.is_long(Clock::now());
        if let Some(local) = &mut self.local {
            if is_resting {
                // It never sleeps.
                local.shared().clocked.give_space_back();
            }
            self.watch.look(local, now);
        }
        for id in self.subsystem.expired(now) {
            self.watch.expired(&self.subsystem, id);
            self.close(id);
        }
    }

    /// Everything in flight completes, then the device is closed.
    fn finish(mut self) -> Result<(), Error> {
        self.lift_limits();
        while self.in_flight > 0 || self.traffic.waiting() > 0 {
            self.submit_waiting();
            self.drive();
        }
        self.send_answers();
        self.local.take().map_or(Ok(()), Local::close)
    }
}

/// What a completion says, with the data that goes to the host.
fn taken(done: Done<'_>) -> (u16, Answer) {
    let (slot, status) = (done.ticket.slot(), done.status);
    let result = u64::from(done.result) | u64::from(done.result_high) << 32;
    (slot, Answer { status, result, data: done.into_vec() })
}
