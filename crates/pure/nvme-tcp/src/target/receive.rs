// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What PDUs from the host do.

use saker_nvme::fabrics;
use saker_nvme::group::is_split;
use saker_nvme::sgl::kind;
use saker_nvme::sqe::{Direction, Psdt};
use saker_nvme::tcp::{CapsuleCmd, DataPdu, FatalError, flag, pdu_type};
use saker_nvme::{Sqe, Status};
use zerocopy::FromBytes;

use super::flights::{Flight, Stage};
use super::{Link, Phase};
use crate::digest::data_matches;
use crate::frame::{Admitted, Digests, Receiver};

/// The PDU whose data is being received.
#[derive(Clone, Debug, Default)]
pub(super) enum Current {
    /// One that was dealt with at its header.
    #[default]
    Done,
    /// A termination request.
    Term,
    /// A capsule and its data so far.
    Capsule(Sqe, Vec<u8>),
    /// Data for a flight; where the data of this PDU began, and whether it is the last.
    Data { token: u16, from: usize, last: bool },
}

/// The data a command asks for or brings.
enum Transfer {
    /// All of it is here.
    Here,
    Receive(u32),
    Send(u32),
}

impl Receiver for Link {
    fn digests(&self) -> Digests {
        self.digests
    }

    fn admit(&self, pdu_type: u8) -> Result<Admitted, FatalError> {
        match (pdu_type, self.phase) {
            (pdu_type::IC_REQ, Phase::Handshake) => Ok(Admitted::Plain),
            (pdu_type::H2C_TERM_REQ, _) => Ok(Admitted::Term),
            (pdu_type::CAPSULE_CMD, Phase::Open) => Ok(Admitted::Data(self.limits.capsule_data_max as usize)),
            (pdu_type::H2C_DATA, Phase::Open) => Ok(Admitted::Data(self.limits.h2c_data_max as usize)),
            _ => Err(FatalError::Sequence),
        }
    }

    fn header(&mut self, header: &[u8], data_bytes: usize) -> Result<(), FatalError> {
        match header.first().copied() {
            Some(pdu_type::IC_REQ) => self.handshake(header),
            Some(pdu_type::CAPSULE_CMD) => self.capsule(header, data_bytes),
            Some(pdu_type::H2C_DATA) => self.data_header(header, data_bytes),
            _ => {
                self.current = Current::Term;
                Ok(())
            }
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        match &mut self.current {
            Current::Capsule(_, data) => data.extend_from_slice(bytes),
            Current::Data { token, .. } => {
                if let Some(flight) = self.flights.get_mut(*token) {
                    flight.data.extend_from_slice(bytes);
                }
            }
            Current::Done | Current::Term => {}
        }
    }

    fn end(&mut self, digest: Option<u32>) -> Result<(), FatalError> {
        match std::mem::take(&mut self.current) {
            Current::Capsule(sqe, data) => self.capsule_complete(sqe, data, digest),
            Current::Data { token, from, last } => self.data_complete(token, from, last, digest),
            Current::Term => {
                self.close();
                Ok(())
            }
            Current::Done => Ok(()),
        }
    }
}

impl Link {
    /// The buffer of the transfer whose PDU is being received.
    pub(super) fn receiving(&mut self) -> Option<&mut Vec<u8>> {
        let Current::Data { token, .. } = self.current else { return None };
        self.flights.get_mut(token).map(|flight| &mut flight.data)
    }

    fn capsule(&mut self, header: &[u8], data_bytes: usize) -> Result<(), FatalError> {
        let capsule = CapsuleCmd::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        if self.flights.len() >= usize::from(self.entries) {
            return Err(FatalError::Sequence);
        }
        self.current = Current::Capsule(capsule.sqe, Vec::with_capacity(data_bytes));
        Ok(())
    }

    fn capsule_complete(&mut self, sqe: Sqe, data: Vec<u8>, digest: Option<u32>) -> Result<(), FatalError> {
        self.head = if self.head + 1 >= self.entries { 0 } else { self.head + 1 };
        let cid = sqe.cid.get();
        let refused = if self.flights.conflicts(cid) {
            Some(Status::COMMAND_ID_CONFLICT)
        } else if digest.is_some_and(|digest| !data_matches(&data, digest)) {
            Some(Status::TRANSIENT_TRANSPORT_ERROR)
        } else {
            None
        };
        let transfer = match refused {
            Some(status) => Err(status),
            None => self.transfer(&sqe, data.len()),
        };
        match transfer {
            Ok(transfer) => self.begin(sqe, data, transfer),
            Err(status) => {
                self.note_refused(&sqe);
                self.respond(cid, status, 0);
                Ok(())
            }
        }
    }

    fn begin(&mut self, sqe: Sqe, data: Vec<u8>, transfer: Transfer) -> Result<(), FatalError> {
        let flight = Flight {
            sqe,
            stage: Stage::Executing,
            is_read: false,
            bytes: 0,
            data,
            is_spoilt: false,
            is_given_up: false,
        };
        let flight = match transfer {
            Transfer::Receive(bytes) => Flight { stage: Stage::WaitsToReceive, bytes, ..flight },
            Transfer::Send(bytes) => Flight { stage: Stage::WaitsToSend, bytes, is_read: true, ..flight },
            Transfer::Here => return self.start(flight),
        };
        let token = self.flights.insert(flight)?;
        self.waiting.push_back(token);
        self.admit_waiting();
        Ok(())
    }

    fn note_refused(&mut self, sqe: &Sqe) {
        if is_split(sqe.opcode) {
            self.refused.push(*sqe);
        }
    }

    /// Reads the SGL descriptor (NVMe/TCP 1.0, section 3.3.2): one, either of in-capsule data or of the transport.
    fn transfer(&self, sqe: &Sqe, capsule_bytes: usize) -> Result<Transfer, Status> {
        if sqe.psdt() != Psdt::Sgl {
            return Err(Status::INVALID_FIELD);
        }
        let descriptor = sqe.sgl();
        let length = descriptor.length.get();
        match descriptor.kind {
            kind::DATA_BLOCK_IN_CAPSULE if descriptor.address.get() != 0 => Err(Status::SGL_OFFSET_INVALID),
            kind::DATA_BLOCK_IN_CAPSULE if length as usize != capsule_bytes => {
                Err(Status::DATA_SGL_LENGTH_INVALID)
            }
            kind::DATA_BLOCK_IN_CAPSULE => Ok(Transfer::Here),
            kind::TRANSPORT_DATA_BLOCK if capsule_bytes > 0 || length > self.limits.transfer_max => {
                Err(Status::DATA_SGL_LENGTH_INVALID)
            }
            kind::TRANSPORT_DATA_BLOCK => transport(sqe, length),
            // An entry without data may leave its pointer zero.
            _ if sqe.prp1.get() == 0 && sqe.prp2.get() == 0 && capsule_bytes == 0 => Ok(Transfer::Here),
            _ => Err(Status::SGL_DESCRIPTOR_TYPE_INVALID),
        }
    }

    fn data_header(&mut self, header: &[u8], data_bytes: usize) -> Result<(), FatalError> {
        let pdu = DataPdu::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        let token = pdu.ttag.get();
        let Some(flight) = self.flights.get(token).filter(|flight| flight.stage == Stage::Receiving) else {
            return Err(FatalError::HeaderField(10));
        };
        if flight.sqe.cid.get() != pdu.cccid.get() {
            return Err(FatalError::HeaderField(8));
        }
        if data_bytes != pdu.datal.get() as usize || data_bytes == 0 {
            return Err(FatalError::HeaderField(16));
        }
        let (from, offset) = (flight.data.len(), pdu.datao.get() as usize);
        if offset + data_bytes > flight.bytes as usize {
            return Err(FatalError::OutOfRange);
        }
        let last = from + data_bytes == flight.bytes as usize;
        if offset != from || (pdu.ch.flags & flag::LAST != 0) != last {
            return Err(FatalError::Sequence);
        }
        self.current = Current::Data { token, from, last };
        Ok(())
    }

    fn data_complete(
        &mut self,
        token: u16,
        from: usize,
        last: bool,
        digest: Option<u32>,
    ) -> Result<(), FatalError> {
        let Some(flight) = self.flights.get_mut(token) else { return Ok(()) };
        let data = flight.data.get(from..).unwrap_or_default();
        flight.is_spoilt |= digest.is_some_and(|digest| !data_matches(data, digest));
        if !last {
            return Ok(());
        }
        if flight.is_spoilt {
            let sqe = flight.sqe;
            self.note_refused(&sqe);
            self.complete(token, Status::TRANSIENT_TRANSPORT_ERROR, 0, Vec::new());
            self.admit_waiting();
            return Ok(());
        }
        flight.stage = Stage::Executing;
        self.receiving -= flight.bytes as usize;
        let data = std::mem::take(&mut flight.data);
        let command = super::Command { token, sqe: flight.sqe, data, room: 0 };
        self.ready.push_back(command);
        Ok(())
    }
}

/// The direction is the opcode's, or FCTYPE's.
fn transport(sqe: &Sqe, length: u32) -> Result<Transfer, Status> {
    let opcode = if sqe.opcode == fabrics::OPCODE { sqe.fctype() } else { sqe.opcode };
    match Direction::of(opcode) {
        _ if length == 0 => Ok(Transfer::Here),
        Direction::HostToController => Ok(Transfer::Receive(length)),
        Direction::ControllerToHost => Ok(Transfer::Send(length)),
        // No data is moved, whatever the descriptor says.
        Direction::None => Ok(Transfer::Here),
        Direction::Bidirectional => Err(Status::INVALID_FIELD),
    }
}
