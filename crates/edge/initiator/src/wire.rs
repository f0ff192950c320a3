// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection: a socket that does not block, and the protocol on it.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use saker_nvme::Sqe;
use saker_nvme_tcp::initiator::{Answer, Data};
use saker_nvme_tcp::{Digests, Initiator, InitiatorOptions};

use crate::error::RemoteError;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;
/// Data of at least this length goes from the socket to where it belongs.
const DIRECT_BYTES_MIN: usize = 16 << 10;
/// Pieces written at once.
const WRITE_PIECES: usize = 64;

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    protocol: Initiator,
    buffer: Vec<u8>,
}

impl Wire {
    /// Connects and shakes hands.
    pub fn open(address: SocketAddr, digests: Digests, timeout: Duration) -> Result<Self, RemoteError> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let protocol = Initiator::new(InitiatorOptions { digests });
        let mut wire = Self { stream, protocol, buffer: vec![0; READ_BYTES] };
        wire.wait(timeout, |wire| wire.protocol.is_open().then_some(()))?;
        Ok(wire)
    }

    /// Sends a command; false if its CID is in flight or the connection has ended.
    pub fn submit(&mut self, sqe: Sqe, data: Data, inline_max: usize) -> bool {
        self.protocol.submit(sqe, data, inline_max)
    }

    /// The next answer.
    pub fn next_answer(&mut self) -> Option<Answer> {
        self.protocol.next_answer()
    }

    /// Memory for data to send: `bytes` bytes, whatever they are.
    pub fn memory_for(&mut self, bytes: usize) -> Vec<u8> {
        self.protocol.memory_for(bytes)
    }

    /// The memory of an answer's data is free again.
    pub fn give_back(&mut self, data: Vec<u8>) {
        self.protocol.give_back(data);
    }

    /// Commands without an answer.
    pub fn in_flight(&self) -> usize {
        self.protocol.in_flight()
    }

    /// Sends and receives what can be without waiting. True if anything moved.
    pub fn pump(&mut self) -> Result<bool, RemoteError> {
        let sent = self.send()?;
        let received = self.receive()?;
        // Received R2Ts have made something to send.
        let sent = self.send()? || sent;
        match self.protocol.ended() {
            Some(why) => Err(why.into()),
            None => Ok(sent || received),
        }
    }

    fn send(&mut self) -> Result<bool, RemoteError> {
        let mut any = false;
        while !self.protocol.output().is_empty() {
            let mut pieces = [IoSlice::new(&[]); WRITE_PIECES];
            let mut used = 0;
            for (slot, piece) in pieces.iter_mut().zip(self.protocol.output().pieces()) {
                *slot = IoSlice::new(piece);
                used += 1;
            }
            match self.stream.write_vectored(&pieces[..used]) {
                Ok(bytes) => self.protocol.sent(bytes),
                Err(error) if is_transient(&error) => break,
                Err(error) => return Err(error.into()),
            }
            any = true;
        }
        Ok(any)
    }

    fn receive(&mut self) -> Result<bool, RemoteError> {
        if let Some((buffer, left)) = self.protocol.direct().filter(|(_, left)| *left >= DIRECT_BYTES_MIN) {
            // What came before there was nothing more is in the buffer, whatever the end of the reading says.
            let before = buffer.len();
            let read = (&self.stream).take(left as u64).read_to_end(buffer);
            let placed = buffer.len() - before;
            self.protocol.placed(placed);
            return match read {
                Ok(_) if placed < left => Err(RemoteError::Closed),
                Err(error) if !is_transient(&error) => Err(error.into()),
                _ => Ok(placed > 0),
            };
        }
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Err(RemoteError::Closed),
            Ok(bytes) => {
                self.protocol.feed(&self.buffer[..bytes]);
                Ok(true)
            }
            Err(error) if is_transient(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the socket can be used, or for `timeout`.
    pub fn rest(&self, timeout: Duration) {
        rest_on(&[self], timeout);
    }

    /// Pumps until `reached` gives something.
    pub fn wait<R>(
        &mut self,
        timeout: Duration,
        mut reached: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, RemoteError> {
        let deadline = Instant::now() + timeout;
        loop {
            let moved = self.pump()?;
            if let Some(result) = reached(self) {
                return Ok(result);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RemoteError::Timeout);
            }
            if !moved {
                self.rest(left);
            }
        }
    }

    /// Sends a command and waits for its answer. Nothing else may be in flight.
    pub fn execute(&mut self, sqe: Sqe, data: Data, timeout: Duration) -> Result<Answer, RemoteError> {
        if !self.submit(sqe.with_cid(0), data, INLINE_ALWAYS) {
            return Err(RemoteError::Closed);
        }
        let answer = self.wait(timeout, Self::next_answer)?;
        let status = answer.cqe.status();
        if status.is_success() { Ok(answer) } else { Err(RemoteError::Refused(status)) }
    }
}

/// Data that every controller takes in the capsules of admin and Fabrics commands (NVMe/TCP 1.0, section 3.3.2).
pub(crate) const INLINE_ALWAYS: usize = 8 << 10;

/// Waits until one of the sockets can be used, or for `timeout`.
pub(crate) fn rest_on(wires: &[&Wire], timeout: Duration) {
    let flags = |wire: &Wire| {
        if wire.protocol.output().is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    };
    let mut sockets: Vec<PollFd<'_>> =
        wires.iter().map(|wire| PollFd::new(&wire.stream, flags(wire))).collect();
    let timeout = Timespec::try_from(timeout).ok();
    // Whatever comes of it, the sockets are tried next.
    let _ = poll(&mut sockets, timeout.as_ref());
}

fn is_transient(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
