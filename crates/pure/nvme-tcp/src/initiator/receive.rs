// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What PDUs from the controller do.

use saker_nvme::tcp::{CapsuleResp, DataPdu, FatalError, R2t, TermReq, flag, pdu_type};
use zerocopy::FromBytes;

use super::{Answer, C2H_DATA_MAX, Data, Ended, Link, Phase};
use crate::digest::data_matches;
use crate::frame::{Admitted, Digests, Receiver};

/// The PDU whose data is being received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Current {
    /// One that was dealt with at its header.
    #[default]
    Done,
    /// A termination request.
    Term(Ended),
    /// Data for a command; where the data of this PDU began.
    Data { cid: u16, from: usize },
}

impl Receiver for Link {
    fn digests(&self) -> Digests {
        self.digests
    }

    fn admit(&self, pdu_type: u8) -> Result<Admitted, FatalError> {
        match (pdu_type, self.phase) {
            (pdu_type::IC_RESP, Phase::Handshake) => Ok(Admitted::Plain),
            (pdu_type::C2H_TERM_REQ, _) => Ok(Admitted::Term),
            (pdu_type::CAPSULE_RESP | pdu_type::R2T, Phase::Open) => Ok(Admitted::Plain),
            (pdu_type::C2H_DATA, Phase::Open) => Ok(Admitted::Data(C2H_DATA_MAX)),
            _ => Err(FatalError::Sequence),
        }
    }

    fn header(&mut self, header: &[u8], data_bytes: usize) -> Result<(), FatalError> {
        self.current = Current::Done;
        match header.first().copied() {
            Some(pdu_type::IC_RESP) => self.handshake(header),
            Some(pdu_type::CAPSULE_RESP) => self.response(header),
            Some(pdu_type::R2T) => self.ready_to_transfer(header),
            Some(pdu_type::C2H_DATA) => self.data_header(header, data_bytes),
            _ => {
                let request = TermReq::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
                self.current = Current::Term(Ended::Terminated(request.fes.get(), request.fei.get()));
                Ok(())
            }
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        if let Current::Data { cid, .. } = self.current
            && let Some(Some(flight)) = self.flights.get_mut(usize::from(cid))
        {
            flight.received.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, digest: Option<u32>) -> Result<(), FatalError> {
        match std::mem::take(&mut self.current) {
            Current::Data { cid, from } => {
                if let Some(Some(flight)) = self.flights.get_mut(usize::from(cid)) {
                    let data = flight.received.get(from..).unwrap_or_default();
                    flight.is_spoilt |= digest.is_some_and(|digest| !data_matches(data, digest));
                }
            }
            Current::Term(why) => self.phase = Phase::Ended(why),
            Current::Done => {}
        }
        Ok(())
    }
}

impl Link {
    /// The buffer of the command whose data is being received.
    pub(super) fn receiving(&mut self) -> Option<&mut Vec<u8>> {
        let Current::Data { cid, .. } = self.current else { return None };
        let flight = self.flights.get_mut(usize::from(cid))?.as_mut()?;
        Some(&mut flight.received)
    }

    fn response(&mut self, header: &[u8]) -> Result<(), FatalError> {
        let capsule = CapsuleResp::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        let slot = self.flights.get_mut(usize::from(capsule.cqe.cid.get()));
        // Byte 20 of the PDU is the CID.
        let flight = slot.and_then(Option::take).ok_or(FatalError::HeaderField(20))?;
        self.in_flight -= 1;
        let answer = Answer { cqe: capsule.cqe, data: flight.received, is_spoilt: flight.is_spoilt };
        self.answers.push_back(answer);
        Ok(())
    }

    fn ready_to_transfer(&mut self, header: &[u8]) -> Result<(), FatalError> {
        let r2t = R2t::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        let (from, bytes) = (r2t.r2to.get() as usize, r2t.r2tl.get() as usize);
        self.send_data(r2t.cccid.get(), r2t.ttag.get(), from, bytes)
    }

    fn data_header(&mut self, header: &[u8], data_bytes: usize) -> Result<(), FatalError> {
        let pdu = DataPdu::read_from_bytes(header).map_err(|_| FatalError::Sequence)?;
        let cid = pdu.cccid.get();
        let flight = self.flights.get_mut(usize::from(cid)).and_then(Option::as_mut);
        let Some(flight) = flight else { return Err(FatalError::HeaderField(8)) };
        // SQ flow control is never switched off here, so there is always a response capsule.
        if pdu.ch.flags & flag::SUCCESS != 0 {
            return Err(FatalError::HeaderField(1));
        }
        let Data::Receive(room) = flight.data else { return Err(FatalError::Sequence) };
        if data_bytes != pdu.datal.get() as usize {
            return Err(FatalError::HeaderField(16));
        }
        let from = flight.received.len();
        if pdu.datao.get() as usize != from || from + data_bytes > room as usize {
            return Err(FatalError::OutOfRange);
        }
        if from == 0 {
            flight.received = self.buffers.take_empty(data_bytes);
        } else {
            flight.received.reserve_exact(data_bytes);
        }
        self.current = Current::Data { cid, from };
        Ok(())
    }
}
