//! One socket: bytes to and from the state machine, commands to the subsystem, answers back.

use std::cell::RefCell;
use std::io::{ErrorKind, IoSlice};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use saker_nvme::Status;
use saker_nvme::fabrics::{self, ConnectData, FabricsCommand, nqn_of};
use saker_nvme_tcp::Target;
use saker_nvme_tcp::target::Command;
use saker_target::{Bound, ConnectionId, Refusal};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until, timeout};
use zerocopy::FromBytes;

use crate::messages::{Reply, Request};
use crate::server::Shared;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;
/// Pieces written at once.
const WRITE_PIECES: usize = 64;
/// How long an ended connection may take to read what was sent last.
const LINGER: Duration = Duration::from_secs(1);

thread_local! {
    /// What is read goes through here, so that idle connections have no buffer.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

enum State {
    /// No queue is connected, and nothing but Connect may come.
    Strange,
    /// Connect has been passed on; its token.
    Connecting(u16, Sender<Request>),
    /// Commands go there.
    Connected(Sender<Request>),
}

struct Connection {
    id: ConnectionId,
    stream: TcpStream,
    target: Target,
    state: State,
    shared: Arc<Shared>,
    replies: UnboundedSender<Reply>,
    /// Nothing more is read; the socket closes when everything is sent.
    is_closing: bool,
    /// Given back once a queue is connected.
    handshake: Option<OwnedSemaphorePermit>,
}

/// Serves a socket until it closes, fails, or the server stops.
pub(crate) async fn serve(
    id: ConnectionId,
    stream: TcpStream,
    shared: Arc<Shared>,
    handshake: OwnedSemaphorePermit,
    stopping: watch::Receiver<bool>,
) {
    let (replies, received) = unbounded_channel();
    let target = Target::new(shared.config.limits);
    let state = State::Strange;
    let handshake = Some(handshake);
    let mut connection =
        Connection { id, stream, target, state, shared, replies, is_closing: false, handshake };
    connection.run(received, stopping).await;
    connection.finish().await;
}

impl Connection {
    async fn run(&mut self, mut received: UnboundedReceiver<Reply>, mut stopping: watch::Receiver<bool>) {
        let deadline = Instant::now() + self.shared.config.handshake_timeout;
        let mut late = pin!(sleep_until(deadline));
        let mut told_to_stop = false;
        loop {
            if self.write().is_err() || (self.is_over() && self.target.output().is_empty()) {
                return;
            }
            let Some(interest) = self.interest() else {
                // All that can happen is an answer.
                match received.recv().await {
                    Some(reply) => self.take_replies(reply, &mut received),
                    None => return,
                }
                continue;
            };
            tokio::select! {
                reply = received.recv() => match reply {
                    Some(reply) => self.take_replies(reply, &mut received),
                    None => return,
                },
                ready = self.stream.ready(interest) => match ready {
                    Ok(ready) if ready.is_readable() || ready.is_read_closed() => {
                        if self.read().is_err() {
                            return;
                        }
                    }
                    Ok(_) => {}
                    Err(_) => return,
                },
                () = &mut late, if !matches!(self.state, State::Connected(_)) => return,
                _ = stopping.changed(), if !told_to_stop => {
                    told_to_stop = true;
                    self.stop();
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_closing || self.target.has_ended()
    }

    fn interest(&self) -> Option<Interest> {
        let reads = !self.is_over() && self.target.wants_input();
        let writes = !self.target.output().is_empty();
        match (reads, writes) {
            (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
            (true, false) => Some(Interest::READABLE),
            (false, true) => Some(Interest::WRITABLE),
            (false, false) => None,
        }
    }

    /// Writes as much as the socket takes.
    fn write(&mut self) -> std::io::Result<()> {
        while !self.target.output().is_empty() {
            let mut pieces = [IoSlice::new(&[]); WRITE_PIECES];
            let mut used = 0;
            for (slot, piece) in pieces.iter_mut().zip(self.target.output().pieces()) {
                *slot = IoSlice::new(piece);
                used += 1;
            }
            match self.stream.try_write_vectored(&pieces[..used]) {
                Ok(bytes) => self.target.sent(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            self.pass_commands();
        }
        Ok(())
    }

    /// Reads once; what is left makes the socket ready again.
    fn read(&mut self) -> std::io::Result<()> {
        let read: std::io::Result<usize> = BUFFER.with_borrow_mut(|buffer| {
            let bytes = self.stream.try_read(buffer)?;
            self.target.feed(&buffer[..bytes]);
            Ok(bytes)
        });
        match read {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                self.pass_commands();
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn pass_commands(&mut self) {
        let mut commands = Vec::new();
        while let Some(command) = self.target.next_command() {
            match &self.state {
                State::Connected(_) => commands.push(command),
                State::Strange if is_connect(&command) => self.connect(&command),
                State::Strange | State::Connecting(..) => {
                    let status = Status::COMMAND_SEQUENCE_ERROR;
                    self.target.complete(command.token, status, 0, Vec::new());
                }
            }
        }
        if let State::Connected(subsystem) = &self.state
            && !commands.is_empty()
            && subsystem.send(Request::Commands(self.id, commands)).is_err()
        {
            self.is_closing = true;
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
        let Some(subsystem) = subsystem else {
            return self.refuse(command.token, fabrics::InvalidParameter::SUBNQN.into());
        };
        let request = Request::Connect(self.id, connect, Box::new(data), self.replies.clone());
        if subsystem.send(request).is_err() {
            self.is_closing = true;
        }
        self.state = State::Connecting(command.token, subsystem);
    }

    fn refuse(&mut self, token: u16, refusal: Refusal) {
        self.target.complete(token, refusal.status, u64::from(refusal.dw0), Vec::new());
    }

    fn take_replies(&mut self, first: Reply, received: &mut UnboundedReceiver<Reply>) {
        self.take_reply(first);
        while let Ok(reply) = received.try_recv() {
            self.take_reply(reply);
        }
        self.pass_commands();
    }

    fn take_reply(&mut self, reply: Reply) {
        match reply {
            Reply::Connected(result) => self.connected(result),
            Reply::Completed(answers) => {
                for (token, answer) in answers {
                    self.target.complete(token, answer.status, answer.result, answer.data);
                }
            }
            Reply::Close => self.is_closing = true,
        }
    }

    fn connected(&mut self, result: Result<Bound, Refusal>) {
        let State::Connecting(token, subsystem) = std::mem::replace(&mut self.state, State::Strange) else {
            return;
        };
        match result {
            Ok(bound) => {
                self.target.complete(token, Status::SUCCESS, u64::from(bound.cntlid), Vec::new());
                self.target.set_entries(bound.entries);
                self.state = State::Connected(subsystem);
                self.handshake = None;
            }
            Err(refusal) => self.refuse(token, refusal),
        }
    }

    /// The server stops: what was asked is answered, nothing more is taken.
    fn stop(&mut self) {
        match &self.state {
            State::Connected(subsystem) if subsystem.send(Request::Drain(self.id)).is_ok() => {}
            _ => self.is_closing = true,
        }
    }

    /// Tells the subsystem, and lets a host read the last words before the socket closes.
    async fn finish(self) {
        if let State::Connected(subsystem) | State::Connecting(_, subsystem) = &self.state {
            // A subsystem that is gone does not need to know.
            let _ = subsystem.send(Request::Closed(self.id));
        }
        if self.target.error().is_none() {
            return;
        }
        let stream = self.stream;
        let linger = async {
            if half_close(&stream).is_err() {
                return;
            }
            // Closing with unread bytes would reset the connection and take the last words back.
            while stream.readable().await.is_ok() {
                let read = BUFFER.with_borrow_mut(|buffer| stream.try_read(buffer));
                match read {
                    Ok(0) => return,
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        };
        let _ = timeout(LINGER, linger).await;
    }
}

fn half_close(stream: &TcpStream) -> std::io::Result<()> {
    rustix::net::shutdown(stream, rustix::net::Shutdown::Write).map_err(Into::into)
}

fn is_connect(command: &Command) -> bool {
    command.sqe.opcode == fabrics::OPCODE && command.sqe.fctype() == fabrics::fctype::CONNECT
}
