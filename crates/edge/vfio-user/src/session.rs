// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages on the socket of a client. Neither side is waited for: what a client does not send is not there yet, and what it does
//! not take is kept, one answer at most.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use saker_pcie::message::{DESCRIPTORS_MAX, HEADER_BYTES, Header, MessageError};
use thiserror::Error;

/// Why a client is left.
#[derive(Debug, Error)]
pub(crate) enum SessionError {
    /// It has gone.
    #[error("it has closed the socket")]
    Closed,
    /// Where its next message begins is not known.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// More descriptors than a message can have.
    #[error("a message with more than {DESCRIPTORS_MAX} file descriptors")]
    Descriptors,
    /// The socket fails.
    #[error("the socket fails: {0}")]
    Socket(#[from] io::Error),
}

/// A socket and the message that is on its way.
#[derive(Debug)]
pub(crate) struct Session {
    socket: UnixStream,
    head: [u8; HEADER_BYTES],
    /// Of header and body together.
    received: usize,
    header: Option<Header>,
    body: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    /// What the client has not taken yet.
    unsent: Vec<u8>,
}

/// A message that has come as a whole.
#[derive(Debug)]
pub(crate) struct Message {
    pub header: Header,
    pub body: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

impl Session {
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            head: [0; HEADER_BYTES],
            received: 0,
            header: None,
            body: Vec::new(),
            descriptors: Vec::new(),
            unsent: Vec::new(),
        })
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether the client has to take something before it is asked again.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The next message, if all of it is there.
    pub fn receive(&mut self) -> Result<Option<Message>, SessionError> {
        loop {
            if let Some(header) = self.header
                && self.received == header.body_bytes()
            {
                (self.header, self.received) = (None, 0);
                let (body, descriptors) =
                    (std::mem::take(&mut self.body), std::mem::take(&mut self.descriptors));
                return Ok(Some(Message { header, body, descriptors }));
            }
            let is_head = self.header.is_none();
            let room =
                if is_head { &mut self.head[self.received..] } else { &mut self.body[self.received..] };
            match receive_some(self.socket.as_fd(), room, &mut self.descriptors) {
                Ok(0) => return Err(SessionError::Closed),
                Ok(bytes) => self.received += bytes,
                Err(SessionError::Socket(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
            if is_head && self.received == HEADER_BYTES {
                let header = Header::parse(&self.head)?;
                self.received = 0;
                self.body.resize(header.body_bytes(), 0);
                self.header = Some(header);
            }
        }
    }

    /// Sends an answer, with a descriptor if there is one. None may be unsent.
    pub fn send(&mut self, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) -> Result<(), SessionError> {
        debug_assert!(!self.has_unsent(), "one answer at a time");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = descriptor.as_slice();
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            unreachable!("there is room for one");
        }
        let sent = match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, SEND) {
            Ok(sent) => sent,
            // A descriptor goes with the first byte: then all of it is sent or the client is left.
            Err(Errno::AGAIN | Errno::INTR) if descriptors.is_empty() => 0,
            Err(error) => return Err(closed_or(error)),
        };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends what the client did not take before.
    pub fn send_rest(&mut self) -> Result<(), SessionError> {
        match rustix::net::send(&self.socket, &self.unsent, SEND) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(closed_or(error)),
        }
        Ok(())
    }
}

const SEND: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

fn closed_or(error: Errno) -> SessionError {
    match error {
        Errno::PIPE | Errno::CONNRESET => SessionError::Closed,
        other => SessionError::Socket(other.into()),
    }
}

/// What is there, with its descriptors.
fn receive_some(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> Result<usize, SessionError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = match recvmsg(socket, &mut [IoSliceMut::new(room)], &mut control, flags) {
        Ok(received) => received,
        Err(Errno::INTR) => return Err(SessionError::Socket(io::ErrorKind::WouldBlock.into())),
        Err(error) => return Err(closed_or(error)),
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            descriptors.extend(came);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) || descriptors.len() > DESCRIPTORS_MAX {
        return Err(SessionError::Descriptors);
    }
    Ok(received.bytes)
}
