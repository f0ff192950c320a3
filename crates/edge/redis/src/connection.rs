// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One socket.
//!
//! What is read goes through one buffer of the thread, and so do answers: a connection that waits holds no memory. It holds what has come of
//! an unfinished command, and answers that its socket does not take; while there are such, nothing is read from it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use saker::panics::ends_process;
use saker_resp::{Parser, Replies};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::batch::{self, Ended};
use crate::clients::Client;
use crate::front::Front;
use crate::session::Session;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;
/// Memory of answers that stays with the thread.
const REPLIES_KEPT: usize = 1 << 20;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

struct Connection {
    stream: TcpStream,
    session: Session,
    parser: Parser,
    /// The beginning of what was not carried out.
    input: Vec<u8>,
    /// Answers that the socket did not take, and how many bytes of them it has taken since.
    unsent: (Vec<u8>, usize),
    /// `input` may have whole commands.
    has_more: bool,
    is_closing: bool,
}

/// Serves a socket until it closes, fails, or has to make room.
pub(crate) async fn serve(front: Rc<Front>, client: Rc<Client>, stream: TcpStream) {
    let ends_process = ends_process("redis connection");
    ends_process.at_work();
    let session = Session::new(Rc::clone(&front), Rc::clone(&client));
    let mut connection = Connection {
        stream,
        parser: Parser::new(session.limits()),
        session,
        input: Vec::new(),
        unsent: (Vec::new(), 0),
        has_more: false,
        is_closing: false,
    };
    tokio::select! {
        biased;
        () = client.cut() => {}
        // Closed, failed, or ended: there is nobody to tell.
        _ = connection.run() => {}
    }
    front.clients.leave(&client);
}

impl Connection {
    async fn run(&mut self) -> std::io::Result<()> {
        loop {
            self.send().await?;
            if self.is_closing {
                return self.stream.shutdown().await;
            }
            if self.has_more {
                self.take(&[]);
                tokio::task::yield_now().await;
            } else {
                poll_fn(|cx| self.poll_read(cx)).await?;
            }
            self.settle();
        }
    }

    /// Reads once and carries out what has come.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
            self.session.client.is_active();
            self.take(buffer.filled());
            Poll::Ready(Ok(()))
        })
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.input.is_empty() {
            let consumed = self.carry_out(bytes);
            self.input.extend_from_slice(bytes.get(consumed..).unwrap_or_default());
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(bytes);
            let consumed = self.carry_out(&input);
            input.drain(..consumed);
            self.input = input;
        }
    }

    /// Carries out whole commands; how many bytes they have.
    fn carry_out(&mut self, input: &[u8]) -> usize {
        let front = Rc::clone(&self.session.front);
        let (mut store, mut replies) = (front.store.borrow_mut(), front.replies.borrow_mut());
        replies.version = self.session.version;
        let Ended { consumed, has_more, is_broken } =
            batch::carry_out(input, &mut self.parser, &mut self.session, &mut store, &mut replies);
        (self.has_more, self.is_closing) = (has_more, is_broken || self.session.has_quit);
        self.send_now(&mut replies);
        consumed
    }

    /// Gives the socket what it takes of the answers, and keeps the rest.
    fn send_now(&mut self, replies: &mut Replies) {
        let sent = if replies.is_empty() { 0 } else { self.stream.try_write(replies.bytes()).unwrap_or(0) };
        if sent < replies.len() {
            self.unsent = (replies.bytes().get(sent..).unwrap_or_default().to_vec(), 0);
        }
        replies.clear(REPLIES_KEPT);
    }

    /// Waits until the socket has taken all answers.
    async fn send(&mut self) -> std::io::Result<()> {
        let (bytes, sent) = &mut self.unsent;
        while *sent < bytes.len() {
            *sent += self.stream.write(bytes.get(*sent..).unwrap_or_default()).await?;
        }
        self.unsent = (Vec::new(), 0);
        Ok(())
    }

    /// Memory that is not needed goes; what is held is told.
    fn settle(&mut self) {
        if self.input.is_empty() {
            self.input = Vec::new();
            self.parser.settle();
        }
        let held = self.input.capacity() + self.unsent.0.capacity() + self.parser.memory();
        self.session.front.clients.holds(&self.session.client, held);
    }
}
