// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller's end of a connection.
//!
//! A command becomes a [`Command`] once its data is here, and is answered by [`Target::complete`]. Memory is bounded: a
//! command that brings or asks for data waits, in order, until the data of those before it has been sent; its R2T is
//! sent only then. In-capsule data cannot be kept waiting, so it counts without limit of its own: there are at most as
//! many commands as the queue has entries. Who shares memory out among connections says by [`Target::allow`] what this one
//! may hold, and finds in [`Target::wanted`] what it waits for.

mod flights;
mod receive;

use std::collections::VecDeque;

use saker_nvme::tcp::{CapsuleResp, DataPdu, FatalError, IcReq, IcResp, R2t, flag};
use saker_nvme::{Cqe, Sqe, Status};
use zerocopy::FromBytes;

use crate::buffers::Buffers;
use crate::frame::{Digests, Framer};
use crate::output::Output;
use crate::send::{self, Payload};
use flights::{Flight, Flights, Stage};

/// What a connection may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetLimits {
    /// Bytes of in-capsule data of a command.
    pub capsule_data_max: u32,
    /// MAXH2CDATA: bytes of data of one H2CData PDU; a multiple of 4, at least 4096.
    pub h2c_data_max: u32,
    /// Bytes of data of one command.
    pub transfer_max: u32,
    /// Bytes of data of all commands together, what waits to be sent included; at least `transfer_max`.
    pub memory_max: usize,
}

impl Default for TargetLimits {
    /// 8 KiB in capsules, which Linux relies on for admin commands; values to 2 MiB; 16 MiB in all.
    fn default() -> Self {
        Self { capsule_data_max: 8 << 10, h2c_data_max: 2 << 20, transfer_max: 2 << 20, memory_max: 16 << 20 }
    }
}

/// A command whose data is here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// Names the command in [`Target::complete`].
    pub token: u16,
    /// The entry; its CID is the host's.
    pub sqe: Sqe,
    /// Data from the host. Of a command that asks for data, memory for it: `room` bytes that mean nothing, or none.
    pub data: Vec<u8>,
    /// Bytes that the host takes.
    pub room: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Handshake,
    Open,
    /// A termination request is in the output, or the host has sent one.
    Ended,
}

/// The state machine.
#[derive(Debug)]
pub struct Target {
    framer: Framer,
    link: Link,
}

/// All but the framer, which calls it.
#[derive(Debug)]
struct Link {
    limits: TargetLimits,
    phase: Phase,
    digests: Digests,
    /// Alignment of data to the host in bytes.
    align: usize,
    /// Entries of the submission queue.
    entries: u16,
    head: u16,
    flights: Flights,
    /// Commands that wait for memory.
    waiting: VecDeque<u16>,
    /// Memory of commands that do not wait.
    granted: usize,
    /// The part of it whose data the host still has to send.
    receiving: usize,
    /// Memory that commands and what waits to be sent may take now.
    allowed: usize,
    ready: VecDeque<Command>,
    /// Entries of transactions in parts that were answered with an error before their data was whole.
    refused: Vec<Sqe>,
    output: Output,
    /// Memory of transfers that are over.
    buffers: Buffers,
    /// The PDU that is being received.
    current: receive::Current,
    error: Option<FatalError>,
}

/// Entries until Connect has told how many there are: only Connect itself may come.
const ENTRIES_BEFORE_CONNECT: u16 = 2;

impl Target {
    /// Waits for ICReq.
    ///
    /// # Panics
    /// If the limits contradict each other.
    #[must_use]
    pub fn new(limits: TargetLimits) -> Self {
        assert!(limits.memory_max >= limits.transfer_max as usize, "the longest transfer fits the memory");
        assert!(limits.h2c_data_max >= 4096 && limits.h2c_data_max.is_multiple_of(4), "MAXH2CDATA is valid");
        let link = Link {
            limits,
            phase: Phase::Handshake,
            digests: Digests::default(),
            align: 4,
            entries: ENTRIES_BEFORE_CONNECT,
            head: 0,
            flights: Flights::default(),
            waiting: VecDeque::new(),
            granted: 0,
            receiving: 0,
            allowed: limits.memory_max,
            ready: VecDeque::new(),
            refused: Vec::new(),
            output: Output::default(),
            buffers: Buffers::default(),
            current: receive::Current::default(),
            error: None,
        };
        Self { framer: Framer::default(), link }
    }

    /// Takes bytes from the socket. After the end they are ignored.
    pub fn feed(&mut self, input: &[u8]) {
        if self.link.phase == Phase::Ended {
            return;
        }
        if let Err(error) = self.framer.feed(input, &mut self.link) {
            self.link.end(error, self.framer.offending());
        }
    }

    /// Where the next bytes from the socket belong, if they are data of a transfer: a buffer to append to, and how many at
    /// most. Instead of [`feed`](Self::feed), they may be appended there, and told to [`placed`](Self::placed).
    pub fn direct(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let left = self.framer.data_left();
        let buffer = self.link.receiving().filter(|_| left > 0)?;
        Some((buffer, left))
    }

    /// So many bytes have been appended to the buffer of [`direct`](Self::direct).
    pub fn placed(&mut self, bytes: usize) {
        if let Err(error) = self.framer.data_placed(bytes, &mut self.link) {
            self.link.end(error, self.framer.offending());
        }
    }

    /// The next command to execute.
    pub fn next_command(&mut self) -> Option<Command> {
        self.link.ready.pop_front()
    }

    /// Entries of transactions in parts that have not become commands, and were answered with an error: such a transaction lacks a part.
    /// They come before all commands that are there.
    pub fn take_refused(&mut self) -> Vec<Sqe> {
        std::mem::take(&mut self.link.refused)
    }

    /// Connect has succeeded: the queue has so many entries.
    pub fn set_entries(&mut self, entries: u16) {
        self.link.entries = entries.max(2);
    }

    /// Answers a command: `data` goes to the host if `status` is success. `result` is DW0 and DW1. Unknown tokens, those
    /// of a connection that has ended meanwhile, are ignored.
    pub fn complete(&mut self, token: u16, status: Status, result: u64, data: Vec<u8>) {
        self.link.complete(token, status, result, data);
        self.link.admit_waiting();
    }

    /// What has to be sent.
    #[must_use]
    pub const fn output(&self) -> &Output {
        &self.link.output
    }

    /// So many bytes of the output have been sent.
    pub fn sent(&mut self, bytes: usize) {
        self.link.output.consume(bytes, &mut self.link.buffers);
        self.link.admit_waiting();
    }

    /// Whether more input may be fed: while much waits to be executed or sent, the host is not read from.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        self.link.phase != Phase::Ended && self.undrained() < self.link.limits.memory_max
    }

    /// Bytes of commands that are executed and of what waits to be sent. They become fewer without any input, unlike those
    /// that are to be received.
    #[must_use]
    pub const fn undrained(&self) -> usize {
        self.link.held() - self.link.receiving
    }

    /// Bytes that a command may bring or ask for from now on.
    pub const fn set_transfer_max(&mut self, bytes: u32) {
        self.link.limits.transfer_max = bytes;
    }

    /// What commands and answers may take from now on, in bytes; `memory_max` until something else is said. Commands that wait
    /// for no more than that go on. What is held already stays.
    pub fn allow(&mut self, bytes: usize) {
        self.link.allowed = bytes;
        self.link.admit_waiting();
    }

    /// Bytes of the first command that waits for more than is allowed; `None` if none does, or if it waits for this connection's own
    /// limit.
    #[must_use]
    pub fn wanted(&self) -> Option<usize> {
        let first = self.link.waiting.front()?;
        let bytes = self.link.flights.get(*first)?.bytes as usize;
        self.link.fits_limit(bytes).then_some(bytes)
    }

    /// Whether the handshake is over and the connection has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.link.phase == Phase::Open
    }

    /// Whether the connection is over: what is in the output should still be sent, then the socket closed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.link.phase == Phase::Ended
    }

    /// What ended the connection, if it was the host's fault.
    #[must_use]
    pub const fn error(&self) -> Option<FatalError> {
        self.link.error
    }

    /// Commands that are not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.link.flights.len()
    }

    /// Bytes of data held for commands and for sending.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.link.held()
    }

    /// Bytes of data held for commands, for sending, and for transfers to come.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.link.held() + self.link.buffers.bytes()
    }

    /// The digests agreed on.
    #[must_use]
    pub const fn digests(&self) -> Digests {
        self.link.digests
    }
}

impl Link {
    fn end(&mut self, error: FatalError, offending: &[u8]) {
        send::term(&mut self.output, true, error, offending);
        self.error = Some(error);
        self.close();
    }

    /// Forgets all commands; answers that still come are ignored.
    fn close(&mut self) {
        self.phase = Phase::Ended;
        (self.flights, self.granted, self.receiving) = (Flights::default(), 0, 0);
        self.buffers.clear();
        self.ready.clear();
        self.waiting.clear();
    }

    fn handshake(&mut self, header: &[u8]) -> Result<(), FatalError> {
        let request = IcReq::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        if request.pfv.get() != 0 {
            return Err(FatalError::Unsupported(8));
        }
        if request.hpda > 31 {
            return Err(FatalError::HeaderField(10));
        }
        self.digests = Digests::from_bits(request.dgst);
        if self.digests.bits() != request.dgst {
            return Err(FatalError::HeaderField(11));
        }
        self.align = (usize::from(request.hpda) + 1) * 4;
        self.phase = Phase::Open;
        send::plain(&mut self.output, &IcResp::new(self.digests.bits(), self.limits.h2c_data_max));
        Ok(())
    }

    /// Lets commands go on that wait for memory, then gives back what is kept without need: beyond the limit, and when nothing is
    /// going on.
    fn admit_waiting(&mut self) {
        while let Some(token) = self.waiting.front().copied() {
            let bytes = self.flights.get(token).map(|flight| flight.bytes as usize);
            if bytes.is_some_and(|bytes| !self.has_room(bytes)) {
                break;
            }
            self.waiting.pop_front();
            self.admit(token);
        }
        let held = self.held();
        if held == 0 || held + self.buffers.bytes() > self.allowed.min(self.limits.memory_max) {
            self.buffers.clear();
        }
    }

    /// Whether a command may hold so many bytes more.
    fn has_room(&self, bytes: usize) -> bool {
        self.held() + bytes <= self.allowed && self.fits_limit(bytes)
    }

    /// The connection's own limit. The first always fits when nothing else holds any.
    fn fits_limit(&self, bytes: usize) -> bool {
        self.held() == 0 || self.held() + bytes <= self.limits.memory_max
    }

    /// Bytes of commands and of what waits to be sent.
    const fn held(&self) -> usize {
        self.granted + self.output.held()
    }

    fn admit(&mut self, token: u16) {
        let Some(flight) = self.flights.get_mut(token) else { return };
        self.granted += flight.bytes as usize;
        if flight.stage == Stage::WaitsToSend {
            flight.stage = Stage::Executing;
            let data = self.buffers.take_for_answer(flight.bytes);
            let command = Command { token, sqe: flight.sqe, data, room: flight.bytes };
            self.ready.push_back(command);
            return;
        }
        flight.stage = Stage::Receiving;
        self.receiving += flight.bytes as usize;
        flight.data = self.buffers.take_empty(flight.bytes as usize);
        let ready = R2t::new(flight.sqe.cid.get(), token, 0, flight.bytes);
        send::pdu(&mut self.output, &ready, Payload::None, self.digests, 4);
    }

    fn complete(&mut self, token: u16, status: Status, result: u64, mut data: Vec<u8>) {
        let Some(flight) = self.flights.remove(token) else { return };
        self.granted -= flight.bytes as usize;
        if flight.stage == Stage::Receiving {
            self.receiving -= flight.bytes as usize;
        }
        if flight.is_given_up {
            return;
        }
        data.truncate(if status.is_success() && flight.is_read { flight.bytes as usize } else { 0 });
        let cid = flight.sqe.cid.get();
        if data.is_empty() {
            self.buffers.give(data);
        } else {
            let data = self.buffers.fitted(data);
            let mut header = DataPdu::c2h(cid, 0, data.len() as u32);
            header.ch.flags = flag::LAST;
            send::pdu(&mut self.output, &header, Payload::Owned(data), self.digests, self.align);
        }
        self.respond(cid, status, result);
    }

    fn respond(&mut self, cid: u16, status: Status, result: u64) {
        let cqe = Cqe::new(result, self.head, 0, cid, status);
        send::pdu(&mut self.output, &CapsuleResp::new(cqe), Payload::None, self.digests, 4);
    }

    /// A command without anything to wait for.
    fn start(&mut self, flight: Flight) -> Result<(), FatalError> {
        let (sqe, bytes) = (flight.sqe, flight.data.len());
        let mut flight = flight;
        flight.bytes = bytes as u32;
        let data = std::mem::take(&mut flight.data);
        let token = self.flights.insert(flight)?;
        self.granted += bytes;
        self.ready.push_back(Command { token, sqe, data, room: 0 });
        Ok(())
    }
}
