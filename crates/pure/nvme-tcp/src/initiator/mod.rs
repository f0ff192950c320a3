// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's end of a connection.
//!
//! The caller chooses command identifiers, each in flight once; they index a table, so they should be small.

mod receive;

use std::collections::VecDeque;

use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::tcp::{CapsuleCmd, DataPdu, FatalError, IcReq, IcResp, flag};
use saker_nvme::{Cqe, Sqe};
use thiserror::Error;
use zerocopy::FromBytes;

use crate::buffers::Buffers;
use crate::frame::{Digests, Framer};
use crate::output::Output;
use crate::send::{self, Payload};

/// What the host asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InitiatorOptions {
    /// Digests to ask for; the controller may grant fewer.
    pub digests: Digests,
}

/// Data of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// None.
    None,
    /// To the controller.
    Send(Vec<u8>),
    /// Up to so many bytes from the controller.
    Receive(u32),
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The completion.
    pub cqe: Cqe,
    /// Data from the controller, as much as it sent.
    pub data: Vec<u8>,
    /// The data's digest was wrong: the data is not to be used.
    pub is_spoilt: bool,
}

/// Why a connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Ended {
    /// The controller broke the protocol; it is told so.
    #[error("the controller broke the protocol: {0}")]
    Fault(#[from] FatalError),
    /// The controller ended the connection: FES and FEI.
    #[error("the controller ended the connection (FES {0}, FEI {1})")]
    Terminated(u16, u32),
}

#[derive(Clone, Debug)]
struct Flight {
    data: Data,
    /// Received so far, or sent.
    received: Vec<u8>,
    sent: usize,
    is_spoilt: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Handshake,
    Open,
    Ended(Ended),
}

/// The state machine.
#[derive(Debug)]
pub struct Initiator {
    framer: Framer,
    link: Link,
}

#[derive(Debug)]
struct Link {
    phase: Phase,
    asked: Digests,
    digests: Digests,
    /// CPDA in bytes.
    align: usize,
    h2c_data_max: usize,
    flights: Vec<Option<Flight>>,
    in_flight: usize,
    answers: VecDeque<Answer>,
    output: Output,
    /// Memory of transfers that are over.
    buffers: Buffers,
    current: receive::Current,
}

/// The most data of one C2HData PDU that is accepted: that of the longest command.
const C2H_DATA_MAX: usize = 4 << 20;

impl Initiator {
    /// Sends ICReq.
    #[must_use]
    pub fn new(options: InitiatorOptions) -> Self {
        let mut output = Output::default();
        send::plain(&mut output, &IcReq::new(options.digests.bits()));
        let link = Link {
            phase: Phase::Handshake,
            asked: options.digests,
            digests: Digests::default(),
            align: 4,
            h2c_data_max: 0,
            flights: Vec::new(),
            in_flight: 0,
            answers: VecDeque::new(),
            output,
            buffers: Buffers::default(),
            current: receive::Current::default(),
        };
        Self { framer: Framer::default(), link }
    }

    /// Takes bytes from the socket. After the end they are ignored.
    pub fn feed(&mut self, input: &[u8]) {
        if matches!(self.link.phase, Phase::Ended(_)) {
            return;
        }
        if let Err(error) = self.framer.feed(input, &mut self.link) {
            send::term(&mut self.link.output, false, error, self.framer.offending());
            self.link.phase = Phase::Ended(error.into());
        }
    }

    /// Where the next bytes from the socket belong, if they are data: a buffer to append to, and how many at most. Instead of
    /// [`feed`](Self::feed), they may be appended there, and told to [`placed`](Self::placed).
    pub fn direct(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let left = self.framer.data_left();
        let buffer = self.link.receiving().filter(|_| left > 0)?;
        Some((buffer, left))
    }

    /// So many bytes have been appended to the buffer of [`direct`](Self::direct).
    pub fn placed(&mut self, bytes: usize) {
        if let Err(error) = self.framer.data_placed(bytes, &mut self.link) {
            send::term(&mut self.link.output, false, error, self.framer.offending());
            self.link.phase = Phase::Ended(error.into());
        }
    }

    /// Whether commands can be submitted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.link.phase == Phase::Open
    }

    /// Why the connection is over, if it is.
    #[must_use]
    pub const fn ended(&self) -> Option<Ended> {
        match self.link.phase {
            Phase::Ended(why) => Some(why),
            _ => None,
        }
    }

    /// The next answer.
    pub fn next_answer(&mut self) -> Option<Answer> {
        self.link.answers.pop_front()
    }

    /// What has to be sent.
    #[must_use]
    pub const fn output(&self) -> &Output {
        &self.link.output
    }

    /// So many bytes of the output have been sent.
    pub fn sent(&mut self, bytes: usize) {
        self.link.output.consume(bytes, &mut self.link.buffers);
    }

    /// Memory for [`Data::Send`]: `bytes` bytes, whatever they are. It comes back when they are sent.
    pub fn memory_for(&mut self, bytes: usize) -> Vec<u8> {
        self.link.buffers.take_full(bytes)
    }

    /// The memory of an answer's data is free again. Nothing is kept when no command is in flight.
    pub fn give_back(&mut self, data: Vec<u8>) {
        if self.link.in_flight > 0 {
            self.link.buffers.give(data);
        } else {
            self.link.buffers.clear();
        }
    }

    /// Commands without an answer.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.link.in_flight
    }

    /// Sends a command; its PSDT and data pointer are set here. Data of up to `inline_max` bytes goes with the capsule.
    /// Returns false, and sends nothing, if the connection is not open or the CID is in flight.
    pub fn submit(&mut self, sqe: Sqe, data: Data, inline_max: usize) -> bool {
        let cid = usize::from(sqe.cid.get());
        let link = &mut self.link;
        if link.flights.len() <= cid {
            link.flights.resize_with(cid + 1, || None);
        }
        let Some(slot) = link.flights.get_mut(cid).filter(|slot| slot.is_none()) else { return false };
        if link.phase != Phase::Open {
            return false;
        }
        let (length, is_inline) = match &data {
            Data::None => (0, false),
            Data::Send(bytes) => (bytes.len(), bytes.len() <= inline_max && !bytes.is_empty()),
            Data::Receive(bytes) => (*bytes as usize, false),
        };
        let kind = if is_inline { kind::DATA_BLOCK_IN_CAPSULE } else { kind::TRANSPORT_DATA_BLOCK };
        let capsule = CapsuleCmd::new(sqe.with_sgl(&SglDescriptor::new(kind, 0, length as u32)));
        let payload = match &data {
            Data::Send(bytes) if is_inline => Payload::Copied(bytes),
            _ => Payload::None,
        };
        send::pdu(&mut link.output, &capsule, payload, link.digests, link.align);
        *slot = Some(Flight { data, received: Vec::new(), sent: 0, is_spoilt: false });
        link.in_flight += 1;
        true
    }
}

impl Link {
    fn handshake(&mut self, header: &[u8]) -> Result<(), FatalError> {
        let response = IcResp::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        if response.pfv.get() != 0 {
            return Err(FatalError::Unsupported(8));
        }
        if response.cpda > 31 {
            return Err(FatalError::HeaderField(10));
        }
        if response.dgst & !self.asked.bits() != 0 {
            return Err(FatalError::HeaderField(11));
        }
        let maxh2cdata = response.maxh2cdata.get();
        if maxh2cdata < 4096 || !maxh2cdata.is_multiple_of(4) {
            return Err(FatalError::HeaderField(12));
        }
        self.digests = Digests::from_bits(response.dgst);
        self.align = (usize::from(response.cpda) + 1) * 4;
        self.h2c_data_max = maxh2cdata as usize;
        self.phase = Phase::Open;
        Ok(())
    }

    /// Sends what an R2T asks for.
    fn send_data(&mut self, cid: u16, ttag: u16, from: usize, bytes: usize) -> Result<(), FatalError> {
        let flight = self.flights.get_mut(usize::from(cid)).and_then(Option::as_mut);
        let Some(Flight { data: Data::Send(data), sent, .. }) = flight else {
            return Err(FatalError::HeaderField(8));
        };
        if bytes == 0 || from != *sent || from + bytes > data.len() {
            return Err(FatalError::OutOfRange);
        }
        *sent += bytes;
        if bytes == data.len() && bytes <= self.h2c_data_max {
            // All of it in one PDU: the buffer itself is sent.
            let mut header = DataPdu::h2c(cid, ttag, 0, bytes as u32);
            header.ch.flags = flag::LAST;
            let payload = Payload::Owned(std::mem::take(data));
            send::pdu(&mut self.output, &header, payload, self.digests, self.align);
            return Ok(());
        }
        let asked = data.get(from..from + bytes).unwrap_or_default();
        let mut at = from;
        for chunk in asked.chunks(self.h2c_data_max) {
            let mut header = DataPdu::h2c(cid, ttag, at as u32, chunk.len() as u32);
            at += chunk.len();
            header.ch.flags = if at == from + bytes { flag::LAST } else { 0 };
            send::pdu(&mut self.output, &header, Payload::Copied(chunk), self.digests, self.align);
        }
        Ok(())
    }
}
