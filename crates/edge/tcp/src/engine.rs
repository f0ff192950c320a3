//! The thread of a subsystem: its controllers, its device, and the sockets of its hosts. So a command meets no other
//! thread on its way to the device and back; a device that waits for its image holds up its own hosts only.

mod iterators;
mod leaving;

use std::collections::{BTreeMap, VecDeque};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Clock};

use saker::Error;
use saker::panics::ends_process;
use saker_host::{Done, Driver, SubmitError};
use saker_nvme::fabrics::{Connect, ConnectData};
use saker_nvme::{NSID_ALL, Sqe, Status, kv};
use saker_nvme_tcp::target::Command;
use saker_sim::Instant;
use saker_target::{Answer, Bound, ConnectionId, IoCommand, Reaction, Subsystem, check_io};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::timeout;

use crate::connection;
use crate::connection::messages::{Reply, Request};
use crate::local::Local;
use crate::memory::Seat;
use crate::opened::Opened;
use crate::redis::Redis;
use iterators::Iterators;

/// What a command in flight is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Io,
    Shutdown,
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
}

const fn entry(sqe: &Sqe) -> (u8, u32, u16) {
    (sqe.opcode, sqe.nsid.get(), sqe.cid.get())
}

#[derive(Debug)]
struct Peer {
    replies: UnboundedSender<Reply>,
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
    flights: Vec<Option<Flight>>,
    in_flight: usize,
    waiting: VecDeque<(Flight, IoCommand)>,
    /// Connections that are gone while the device works for them: its commands, and the memory these hold.
    leaving: BTreeMap<ConnectionId, (usize, Seat)>,
    iterators: Iterators,
    /// Connections with answers to send.
    answered: Vec<ConnectionId>,
    begun: Clock,
    looked_at: Instant,
    is_written_through: bool,
    busy_poll: bool,
}

/// How often keep alive timers are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Starts the thread. It ends with [`Request::Stop`] or when nobody can ask any more.
pub(crate) fn start(
    subsystem: Subsystem,
    opened: Option<Opened>,
    mut requests: UnboundedReceiver<Request>,
    busy_poll: bool,
) -> std::io::Result<JoinHandle<Result<(), Error>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("saker-subsystem".into());
    thread.spawn(move || {
        let _ends_process = ends_process("subsystem");
        let (local, redis) = opened.map(Opened::settle).unzip();
        let mut engine = Engine::new(subsystem, local, busy_poll);
        let tasks = LocalSet::new();
        if let Some(Redis { front, listener }) = redis.flatten() {
            tasks.spawn_local(saker_redis::listen(front, listener));
        }
        tasks.block_on(&runtime, engine.run(&mut requests));
        // With them goes what they share of the device.
        drop(tasks);
        engine.finish()
    })
}

impl Engine {
    fn new(subsystem: Subsystem, local: Option<Local>, busy_poll: bool) -> Self {
        Self {
            subsystem,
            flights: vec![None; local.as_ref().map_or(0, |local| local.queue.slots())],
            local,
            peers: BTreeMap::new(),
            in_flight: 0,
            waiting: VecDeque::new(),
            leaving: BTreeMap::new(),
            iterators: Iterators::default(),
            answered: Vec::new(),
            begun: Clock::now(),
            looked_at: Instant::ZERO,
            is_written_through: false,
            busy_poll,
        }
    }

    async fn run(&mut self, requests: &mut UnboundedReceiver<Request>) {
        while self.take_requests(requests).await {
            self.submit_waiting();
            self.drive();
            self.tell_formatted();
            self.send_answers();
            self.look_at_timers();
        }
    }

    /// Takes what has been asked, waiting if there is nothing else to do. False when the server stops.
    async fn take_requests(&mut self, requests: &mut UnboundedReceiver<Request>) -> bool {
        let first = if self.in_flight > 0 || self.busy_poll {
            // The sockets' turn.
            yield_now().await;
            requests.try_recv()
        } else {
            let received = timeout(self.patience(), requests.recv()).await;
            received.map_or(Err(TryRecvError::Empty), |request| request.ok_or(TryRecvError::Disconnected))
        };
        let mut next = match first {
            Ok(request) => Some(request),
            Err(error) => return error == TryRecvError::Empty,
        };
        while let Some(request) = next {
            if matches!(request, Request::Stop) {
                return false;
            }
            self.take(request);
            next = requests.try_recv().ok();
        }
        true
    }

    /// How long to sleep: background work of a device that keeps time has its own deadline.
    fn patience(&self) -> Duration {
        let Some(local) = &self.local else { return TICK };
        let clocked = &local.shared().clocked;
        let until = |at: Instant| Duration::from_nanos(at.since(clocked.now().min(at)).as_nanos());
        clocked.next_deadline().map_or(TICK, until).min(TICK)
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
            Request::Drain(id) => {
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
        self.subsystem.came_by(id, port);
        // A connection that is gone has nobody to tell; `Closed` follows.
        let _ = replies.send(Reply::Connected(result));
        if result.is_ok() {
            let peer = Peer { replies, answers: Vec::new(), outstanding: 0, is_draining: false };
            self.peers.insert(id, peer);
        }
    }

    /// A host that wanted every write flushed may be gone.
    fn follow_write_cache(&mut self) {
        if self.is_written_through && !self.subsystem.wants_write_through() {
            self.set_write_cache(true);
        }
    }

    fn set_write_cache(&mut self, enabled: bool) {
        use saker_nvme::admin::{SetFeatures, build, feature::fid};
        let (fid, cdw11) = (fid::VOLATILE_WRITE_CACHE, u32::from(enabled));
        let sqe = build::set_features(&SetFeatures { nsid: 0, fid, save: false, cdw11 });
        if let Some(local) = &mut self.local
            && local.admin(sqe).0.is_success()
        {
            self.is_written_through = !enabled;
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
        let Command { token, sqe, data, room } = command;
        if Subsystem::is_for_controller(bound, &sqe) {
            return self.for_controller(id, token, &sqe, now);
        }
        let entry = entry(&sqe);
        match self.checked(bound, &sqe, data, room, now) {
            Err(status) => {
                self.note_failure(id, entry, status);
                self.answer(id, token, Answer::status(status));
            }
            Ok(command) => {
                self.iterators.submitted(id, &command.sqe);
                self.enqueue(Flight { connection: id, token, purpose: Purpose::Io, entry }, command);
            }
        }
    }

    fn checked(
        &mut self,
        bound: Bound,
        sqe: &Sqe,
        data: Vec<u8>,
        room: u32,
        now: Instant,
    ) -> Result<IoCommand, Status> {
        let facts = self.local.as_ref().map_or(&[][..], |local| &local.facts);
        self.subsystem.admit_io(bound, sqe, facts, now)?;
        check_io(sqe, data, room, facts)
    }

    /// An I/O command failed, here or in the device.
    #[cold]
    fn note_failure(&mut self, id: ConnectionId, (opcode, nsid, cid): (u8, u32, u16), status: Status) {
        let facts = self.local.as_ref().map_or(&[][..], |local| &local.facts);
        self.subsystem.io_failed(id, &Sqe::new(opcode, nsid).with_cid(cid), facts, status);
    }

    fn enqueue(&mut self, flight: Flight, command: IoCommand) {
        if self.local.is_none() {
            return self.answer(flight.connection, flight.token, Answer::status(Status::INVALID_OPCODE));
        }
        if let Some(peer) = self.peers.get_mut(&flight.connection) {
            peer.outstanding += 1;
        }
        self.waiting.push_back((flight, command));
        self.submit_waiting();
    }

    fn for_controller(&mut self, id: ConnectionId, token: u16, sqe: &Sqe, now: Instant) {
        if let Some(local) = &mut self.local {
            local.refresh_facts();
            self.subsystem.note_counters(local.health());
        }
        let facts = self.local.as_ref().map_or(&[][..], |local| &local.facts);
        match self.subsystem.command(id, token, sqe, facts, now) {
            Reaction::Complete(answer) => self.answer(id, token, answer),
            Reaction::CompleteAndClose(answer) => {
                self.answer(id, token, answer);
                self.send_answers();
                self.close(id);
            }
            Reaction::Hold => {}
            Reaction::Device(sqe) => self.for_device(id, token, &sqe),
            // Without a device there is nothing to flush.
            Reaction::FlushThenShutdown if self.local.is_none() => {
                self.subsystem.shutdown_done(id);
                self.answer(id, token, Answer::result(0));
            }
            Reaction::FlushThenShutdown => {
                let sqe = Sqe::new(kv::opcode::FLUSH, NSID_ALL);
                let flush = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
                let entry = entry(&sqe);
                self.enqueue(Flight { connection: id, token, purpose: Purpose::Shutdown, entry }, flush);
            }
        }
        self.follow_write_cache();
        self.tell_events();
    }

    /// Redis clients have formatted namespaces, which hosts have to be told of.
    fn tell_formatted(&mut self) {
        let Some(local) = &self.local else { return };
        let formatted = std::mem::take(&mut local.shared().formatted);
        for nsid in &formatted {
            self.subsystem.was_formatted(*nsid);
        }
        if !formatted.is_empty() {
            self.tell_events();
        }
    }

    fn tell_events(&mut self) {
        for (connection, token, answer) in self.subsystem.events() {
            self.answer(connection, token, answer);
        }
    }

    fn for_device(&mut self, id: ConnectionId, token: u16, sqe: &Sqe) {
        let Some(local) = &mut self.local else {
            return self.answer(id, token, Answer::status(Status::INVALID_OPCODE));
        };
        let (status, result) = local.admin(*sqe);
        self.subsystem.device_answered(id, sqe, status);
        self.is_written_through |= self.subsystem.wants_write_through();
        self.answer(id, token, Answer { status, result, data: Vec::new() });
    }

    /// Commands of connections that are gone end first, for the same reason as in [`Self::closed`].
    fn submit_waiting(&mut self) {
        if !self.leaving.is_empty() {
            return;
        }
        let Some(local) = &mut self.local else { return };
        while let Some((flight, command)) = self.waiting.pop_front() {
            match local.submit(command) {
                Ok(slot) => {
                    self.flights[usize::from(slot)] = Some(flight);
                    self.in_flight += 1;
                }
                Err((SubmitError::Full, command)) => {
                    self.waiting.push_front((flight, command));
                    return;
                }
                Err(_) => {
                    self.finished(flight, Answer::status(Status::INTERNAL_ERROR));
                    return self.submit_waiting();
                }
            }
        }
    }

    /// Lets the device work and takes what it has completed.
    fn drive(&mut self) {
        let Some(local) = &mut self.local else { return };
        if self.in_flight > 0 {
            local.queue.ring();
        }
        local.shared().clocked.drive();
        loop {
            let Some(local) = &mut self.local else { return };
            let Some(done) = local.queue.poll(taken) else { return };
            let Ok((slot, answer)) = done else { continue };
            if let Some(flight) = self.flights[usize::from(slot)].take() {
                self.in_flight -= 1;
                self.finished(flight, answer);
            }
        }
    }

    fn finished(&mut self, flight: Flight, answer: Answer) {
        match flight.purpose {
            Purpose::Cleanup => return,
            Purpose::Shutdown => self.subsystem.shutdown_done(flight.connection),
            Purpose::Io if !answer.status.is_success() => {
                self.note_failure(flight.connection, flight.entry, answer.status);
            }
            Purpose::Io => {}
        }
        self.note_iterator(&flight, answer.status, answer.result);
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
        for id in self.subsystem.expired(now) {
            self.close(id);
        }
    }

    /// Everything in flight completes, then the device is closed.
    fn finish(mut self) -> Result<(), Error> {
        while self.in_flight > 0 || !self.waiting.is_empty() {
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
