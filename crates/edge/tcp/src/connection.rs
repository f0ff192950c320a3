// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One socket: bytes to and from the state machine, commands to the subsystem, answers back.
//!
//! A socket begins with the thread that listens. When a host asks to be connected, the socket goes to the thread of its
//! subsystem and stays there.

mod books;
mod lines;
pub(crate) mod messages;
mod pieces;
mod refused;
mod shared;

use std::cell::RefCell;
use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BufMut;
use saker::panics::ends_process;
use saker_nvme::Status;
use saker_nvme::fabrics::{self, Connect, ConnectData, FabricsCommand, nqn_of};
use saker_nvme_tcp::target::Command;
use saker_nvme_tcp::{Target, TargetLimits};
use saker_target::{AUTH_BYTES_MAX, Bound, ConnectionId, Refusal};
use tokio::io::{Interest, Ready};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use zerocopy::FromBytes;

use crate::counts::count;
use crate::logs::{self, Ended, shown, told};
use crate::memory::Seat;
use crate::strangers::Permits;
use crate::turn::Turn;
use books::READ_BYTES;
use messages::{Reply, Request};
use pieces::{fill, note_moved};
pub(crate) use shared::Shared;

/// Data of at least this length goes from the socket to where it belongs.
const DIRECT_BYTES_MIN: usize = 16 << 10;
/// Pieces written at once.
const WRITE_PIECES: usize = 64;
/// How long an ended connection may take to read what was sent last.
const LINGER: Duration = Duration::from_secs(1);

thread_local! {
    /// What is read goes through here, so that idle connections have no buffer.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// A connection between two threads.
#[derive(Debug)]
pub(crate) struct Guest {
    stream: std::net::TcpStream,
    core: Core,
}

#[derive(Debug)]
enum State {
    /// No queue is connected, and nothing but Connect may come.
    Strange,
    /// Connect has come for this subsystem: to be passed on from its thread.
    Moving(UnboundedSender<Request>, Box<Asked>),
    /// Connect has been passed on; its token.
    Connecting(u16, UnboundedSender<Request>),
    /// Commands go there.
    Connected(UnboundedSender<Request>),
}

/// A Connect command.
#[derive(Debug)]
struct Asked {
    token: u16,
    connect: Connect,
    data: ConnectData,
}

/// All but the socket.
#[derive(Debug)]
struct Core {
    id: ConnectionId,
    /// Which of the addresses it came by.
    port: u16,
    /// Where it comes from.
    peer: SocketAddr,
    /// The host as it named itself in the last Connect, to be shown.
    host: String,
    /// The names of the subsystem and the host in it.
    names: (String, String),
    /// The queue that is connected.
    qid: Option<u16>,
    target: Target,
    state: State,
    shared: Arc<Shared>,
    replies: UnboundedSender<Reply>,
    received: UnboundedReceiver<Reply>,
    stopping: watch::Receiver<bool>,
    told_to_stop: bool,
    /// Nothing more is read; the socket closes when everything is sent.
    is_closing: bool,
    /// By when a queue must be connected and have authenticated.
    deadline: Instant,
    /// Whether it is connected, and has authenticated if it has to.
    is_admitted: bool,
    /// By when a host must have taken the last words: one that does not read would keep the connection for ever.
    over_by: Option<Instant>,
    permits: Permits,
    seat: Seat,
    /// That of its host, once a queue is connected.
    turn: Option<Arc<Turn>>,
}

struct Connection {
    stream: TcpStream,
    core: Core,
}

/// Serves a socket until it closes, fails, asks to be connected, or the server stops.
pub(crate) async fn serve_stranger(
    (id, port, peer): (ConnectionId, u16, SocketAddr),
    stream: TcpStream,
    shared: Arc<Shared>,
    permits: Permits,
    stopping: watch::Receiver<bool>,
) {
    let ends_process = ends_process("stranger");
    ends_process.at_work();
    let (replies, received) = unbounded_channel();
    let seat = shared.memory.seat(id);
    let mut target = Target::new(strangers_limits(&shared.config.limits));
    target.allow(seat.allowed());
    let core = Core {
        id,
        port,
        peer,
        host: String::new(),
        names: Default::default(),
        qid: None,
        target,
        state: State::Strange,
        replies,
        received,
        stopping,
        told_to_stop: false,
        is_closing: false,
        is_admitted: false,
        deadline: Instant::now() + shared.config.handshake_timeout,
        over_by: None,
        permits,
        seat,
        turn: None,
        shared,
    };
    let mut connection = Connection { stream, core };
    let ended = connection.run().await;
    connection.move_or_finish(ended).await;
}

/// Who has not been admitted has nothing to say that does not fit a capsule.
fn strangers_limits(limits: &TargetLimits) -> TargetLimits {
    TargetLimits { transfer_max: limits.transfer_max.min(AUTH_BYTES_MAX), ..*limits }
}

/// Serves it on the thread of its subsystem.
pub(crate) async fn serve_guest(guest: Guest) {
    let ends_process = ends_process("guest");
    ends_process.at_work();
    let Ok(stream) = TcpStream::from_std(guest.stream) else { return };
    let mut connection = Connection { stream, core: guest.core };
    connection.core.ask();
    let ended = connection.run().await;
    // Refused here, it may have asked for another subsystem.
    connection.move_or_finish(ended).await;
}

impl Connection {
    /// Until it ends, and why; or until it has to move.
    async fn run(&mut self) -> Ended {
        loop {
            if let Some(turn) = &self.core.turn {
                turn.come().await;
            }
            self.core.settle();
            if let Err(error) = self.write() {
                return Ended::of(&error);
            }
            // What was sent may be what the next command waits for.
            self.core.settle();
            if self.core.has_left() {
                return self.core.target.error().map_or(Ended::BySubsystem, Ended::Protocol);
            }
            let interest = self.core.interest();
            let is_connected = matches!(self.core.state, State::Connected(_));
            let is_late = !self.core.is_admitted;
            let over_by = self.core.over_by();
            tokio::select! {
                reply = self.core.received.recv() => match reply {
                    Some(reply) => self.core.take_replies(reply),
                    None => return Ended::BySubsystem,
                },
                ready = ready(&self.stream, interest) => match ready {
                    // Who has closed will ask again elsewhere what was not answered; an older write must not come behind that.
                    Ok(ready) if ready.is_read_closed() && is_connected => return Ended::ByHost,
                    Ok(ready) if ready.is_readable() || ready.is_read_closed() => {
                        if let Err(error) = self.read() {
                            return Ended::of(&error);
                        }
                    }
                    Ok(_) => {}
                    Err(error) => return Ended::of(&error),
                },
                () = self.core.seat.drive(), if self.core.seat.waits() => {}
                () = self.core.seat.cut() => return Ended::Memory,
                () = sleep_until(over_by.unwrap_or(self.core.deadline)), if over_by.is_some() => return Ended::Unread,
                () = sleep_until(self.core.deadline), if is_late => return if is_connected { Ended::Unproved } else { Ended::Late },
                () = self.core.permits.cut() => return Ended::Cut,
                _ = self.core.stopping.changed(), if !self.core.told_to_stop => self.core.stop(),
            }
        }
    }

    /// Writes as much as the socket takes, and the turn has room for.
    fn write(&mut self) -> std::io::Result<()> {
        let target = &mut self.core.target;
        let most = self.core.turn.as_ref().map_or(usize::MAX, |turn| turn.bytes_max());
        let mut left = most;
        while !target.output().is_empty() && left > 0 {
            let mut pieces = [IoSlice::new(&[]); WRITE_PIECES];
            let used = fill(&mut pieces, target.output().pieces(), left);
            match self.stream.try_write_vectored(&pieces[..used]) {
                Ok(bytes) => {
                    left = left.saturating_sub(bytes);
                    note_moved(&self.core.seat, self.core.turn.as_deref(), bytes);
                    target.sent(bytes);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.core.pass_commands();
        Ok(())
    }

    /// Reads once; what is left makes the socket ready again.
    fn read(&mut self) -> std::io::Result<()> {
        match self.read_some() {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                note_moved(&self.core.seat, self.core.turn.as_deref(), bytes);
                if self.core.target.is_open() {
                    self.core.permits.shaken();
                }
                self.core.pass_commands();
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Data of long transfers goes from the socket to where it belongs, all else through the buffer.
    fn read_some(&mut self) -> std::io::Result<usize> {
        let Self { stream, core } = self;
        if let Some((into, left)) = core.target.direct().filter(|(_, left)| *left >= DIRECT_BYTES_MIN) {
            let most = core.turn.as_ref().map_or(left, |turn| turn.bytes_max().min(left));
            let bytes = stream.try_read_buf(&mut into.limit(most))?;
            core.target.placed(bytes);
            return Ok(bytes);
        }
        let most = core.readable_bytes();
        BUFFER.with_borrow_mut(|buffer| {
            let bytes = stream.try_read(&mut buffer[..most])?;
            core.target.feed(&buffer[..bytes]);
            Ok(bytes)
        })
    }

    /// Hands the socket to the subsystem that Connect has named, or ends.
    async fn move_or_finish(self, ended: Ended) {
        let State::Moving(subsystem, _) = &self.core.state else { return self.finish(ended).await };
        let subsystem = subsystem.clone();
        // A socket that cannot be moved, or a subsystem that is gone: the connection closes.
        if let Ok(stream) = self.stream.into_std() {
            let _ = subsystem.send(Request::Adopt(Box::new(Guest { stream, core: self.core })));
        }
    }

    /// Tells the subsystem, and lets a host read the last words before the socket closes.
    async fn finish(self, ended: Ended) {
        let Self { stream, core } = self;
        core.tell_end(ended);
        let Core { id, target, state, permits, seat, .. } = core;
        let is_broken = target.error().is_some();
        // What is not sent by now never will be.
        drop(target);
        if let State::Connected(subsystem) | State::Connecting(_, subsystem) = state {
            // A subsystem that is gone does not need to know.
            let _ = subsystem.send(Request::Closed(id, seat));
        }
        if !is_broken {
            return;
        }
        tokio::select! {
            _ = timeout(LINGER, linger(&stream)) => {}
            () = permits.cut() => {}
        }
    }
}

/// What the socket is ready for; never, where nothing is of interest.
async fn ready(stream: &TcpStream, interest: Option<Interest>) -> std::io::Result<Ready> {
    match interest {
        Some(interest) => stream.ready(interest).await,
        None => std::future::pending().await,
    }
}

/// Closing with unread bytes would reset the connection and take the last words back.
async fn linger(stream: &TcpStream) {
    if half_close(stream).is_err() {
        return;
    }
    while stream.readable().await.is_ok() {
        let read = BUFFER.with_borrow_mut(|buffer| stream.try_read(buffer));
        match read {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

impl Core {
    /// Whether the socket has nothing more to do here.
    fn has_left(&self) -> bool {
        let is_over = self.is_over() && self.target.output().is_empty();
        is_over || matches!(self.state, State::Moving(..))
    }

    fn is_over(&self) -> bool {
        self.is_closing || self.target.has_ended()
    }

    fn interest(&self) -> Option<Interest> {
        let reads = !self.is_over() && self.target.wants_input() && self.has_room();
        let writes = !self.target.output().is_empty();
        match (reads, writes) {
            (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
            (true, false) => Some(Interest::READABLE),
            (false, true) => Some(Interest::WRITABLE),
            (false, false) => None,
        }
    }

    fn pass_commands(&mut self) {
        self.pass_refused();
        let mut commands = Vec::new();
        while let Some(command) = self.target.next_command() {
            match &self.state {
                State::Connected(_) => commands.push(command),
                State::Strange if is_connect(&command) => self.connect(&command),
                State::Strange | State::Moving(..) | State::Connecting(..) => {
                    let status = Status::COMMAND_SEQUENCE_ERROR;
                    self.target.complete(command.token, status, 0, Vec::new());
                }
            }
        }
        if let State::Connected(subsystem) = &self.state
            && !commands.is_empty()
        {
            self.note_asked(commands.len());
            self.is_closing |= subsystem.send(Request::Commands(self.id, commands)).is_err();
        }
    }

    fn connect(&mut self, command: &Command) {
        let Ok(FabricsCommand::Connect(connect)) = FabricsCommand::decode(&command.sqe) else {
            return self.refuse(command.token, Status::INVALID_FIELD.into());
        };
        let Ok(data) = ConnectData::read_from_bytes(&command.data) else {
            return self.refuse(command.token, Status::DATA_SGL_LENGTH_INVALID.into());
        };
        let subsystem = nqn_of(&data.subnqn).and_then(|nqn| self.shared.subsystem(nqn));
        self.host = nqn_of(&data.hostnqn).map(shown).unwrap_or_default();
        self.names =
            [&data.subnqn, &data.hostnqn].map(|nqn| nqn_of(nqn).unwrap_or_default().to_owned()).into();
        let Some(subsystem) = subsystem else {
            return self.refuse(command.token, fabrics::InvalidParameter::SUBNQN.into());
        };
        let asked = Box::new(Asked { token: command.token, connect, data });
        self.state = State::Moving(subsystem, asked);
    }

    /// Passes Connect on.
    fn ask(&mut self) {
        let State::Moving(subsystem, asked) = std::mem::replace(&mut self.state, State::Strange) else {
            return;
        };
        let Asked { token, connect, data } = *asked;
        let request = Request::Connect(self.id, self.port, connect, Box::new(data), self.replies.clone());
        if subsystem.send(request).is_err() {
            self.is_closing = true;
        }
        self.state = State::Connecting(token, subsystem);
    }

    fn refuse(&mut self, token: u16, refusal: Refusal) {
        count(&self.shared.sockets.refused);
        let why = logs::refusal(&refusal);
        told!(self.shared.limits, WARN, Refuse, connection = self.id, peer = %self.peer, host = self.host, why, "refused");
        self.target.complete(token, refusal.status, u64::from(refusal.dw0), Vec::new());
    }

    fn take_replies(&mut self, first: Reply) {
        self.take_reply(first);
        while let Ok(reply) = self.received.try_recv() {
            self.take_reply(reply);
        }
        self.pass_commands();
    }

    fn take_reply(&mut self, reply: Reply) {
        self.seat.answered();
        match reply {
            Reply::Connected(result) => self.connected(result),
            Reply::Memory(max) => self.seat.limit_host(max),
            Reply::Completed(answers) => {
                self.note_answered(answers.len());
                for (token, answer) in answers {
                    self.target.complete(token, answer.status, answer.result, answer.data);
                }
            }
            Reply::Admitted => self.admit(),
            Reply::Close => self.is_closing = true,
        }
    }

    fn connected(&mut self, result: Result<(Bound, Arc<Turn>), Refusal>) {
        let State::Connecting(token, subsystem) = std::mem::replace(&mut self.state, State::Strange) else {
            return;
        };
        match result {
            Ok((bound, turn)) => {
                self.turn = Some(turn);
                self.target.complete(token, Status::SUCCESS, u64::from(bound.dw0()), Vec::new());
                self.target.set_entries(bound.entries);
                self.state = State::Connected(subsystem);
                if bound.must_authenticate {
                    self.deadline = Instant::now() + self.shared.config.authentication_timeout;
                } else {
                    self.admit();
                }
                self.qid = Some(bound.qid);
                self.enter_host(bound);
                self.tell_connected(bound);
            }
            Err(refusal) => self.refuse(token, refusal),
        }
    }

    /// A stranger no more.
    fn admit(&mut self) {
        self.is_admitted = true;
        self.target.set_transfer_max(self.shared.config.limits.transfer_max);
        self.permits.connected();
    }

    /// The server stops: what was asked is answered, nothing more is taken.
    fn stop(&mut self) {
        self.told_to_stop = true;
        match &self.state {
            State::Connected(subsystem) if subsystem.send(Request::Drain(self.id)).is_ok() => {}
            _ => self.is_closing = true,
        }
    }
}

fn half_close(stream: &TcpStream) -> std::io::Result<()> {
    rustix::net::shutdown(stream, rustix::net::Shutdown::Write).map_err(Into::into)
}

fn is_connect(command: &Command) -> bool {
    command.sqe.opcode == fabrics::OPCODE && command.sqe.fctype() == fabrics::fctype::CONNECT
}
