// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue pair of this process and the connection that serves it.

use std::sync::Arc;

use saker_link::{DmaSpace, RelayPair, gather_into, prp_pieces, scatter};
use saker_nvme::transfer::Transfer;
use saker_nvme::{Sqe, Status};
use saker_nvme_tcp::initiator::{Answer, Data};

use crate::wire::Wire;

/// A command that has been sent, or waits to be.
#[derive(Debug)]
pub(crate) struct Flight {
    sqe: Sqe,
    transfer: Transfer,
    /// Where its data is, or goes: address and bytes.
    pieces: Vec<(u64, u32)>,
    only_reads: bool,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub entries: u16,
    pub pair: RelayPair,
    /// By CID, in flight.
    flights: Vec<Option<Flight>>,
    pub in_flight: usize,
    pub wire: Option<Wire>,
    pub inline_max: usize,
    space: Arc<DmaSpace>,
}

impl Queue {
    pub fn new(entries: u16, pair: RelayPair, space: &Arc<DmaSpace>) -> Self {
        Self {
            entries,
            pair,
            flights: Vec::new(),
            in_flight: 0,
            wire: None,
            inline_max: 0,
            space: Arc::clone(space),
        }
    }

    pub fn qid(&self) -> u16 {
        self.pair.qid()
    }

    /// Sends a command, or completes it with what is wrong with it.
    pub fn send(&mut self, sqe: Sqe, transfer: Transfer, only_reads: bool) {
        let Ok(bytes) = u32::try_from(transfer.bytes()) else {
            return self.pair.complete(&sqe, Status::INVALID_FIELD, 0);
        };
        match prp_pieces(&sqe, bytes, &self.space) {
            Ok(pieces) => self.launch(Flight { sqe, transfer, pieces, only_reads }),
            Err(status) => self.pair.complete(&sqe, status, 0),
        }
    }

    fn launch(&mut self, flight: Flight) {
        let cid = usize::from(flight.sqe.cid.get());
        let data = match self.data_of(&flight) {
            Ok(data) => data,
            Err(status) => return self.pair.complete(&flight.sqe, status, 0),
        };
        let inline_max = self.inline_max;
        let sent = self.wire.as_mut().is_some_and(|wire| wire.submit(flight.sqe, data, inline_max));
        if !sent {
            return self.pair.complete(&flight.sqe, Status::HOST_PATHING_ERROR, 0);
        }
        if self.flights.len() <= cid {
            self.flights.resize_with(cid + 1, || None);
        }
        self.flights[cid] = Some(flight);
        self.in_flight += 1;
    }

    fn data_of(&mut self, flight: &Flight) -> Result<Data, Status> {
        match flight.transfer {
            _ if flight.transfer.bytes() == 0 => Ok(Data::None),
            Transfer::ToDevice(bytes) => self.fetch_data(flight, bytes as usize).map(Data::Send),
            Transfer::ToHost(bytes) => Ok(Data::Receive(bytes as u32)),
            Transfer::None => Ok(Data::None),
        }
    }

    fn fetch_data(&mut self, flight: &Flight, bytes: usize) -> Result<Vec<u8>, Status> {
        let mut data = self.wire.as_mut().map(|wire| wire.memory_for(bytes)).unwrap_or_default();
        if !data.is_empty() {
            gather_into(&flight.pieces, &self.space, &mut data)?;
        }
        Ok(data)
    }

    /// Takes the answers that have come; `seen` is shown each with its entry. True if there was any.
    pub fn take_answers(&mut self, mut seen: impl FnMut(&Sqe, &Answer)) -> bool {
        let mut any = false;
        while let Some(answer) = self.wire.as_mut().and_then(Wire::next_answer) {
            let flight = self.flights.get_mut(usize::from(answer.cqe.cid.get())).and_then(Option::take);
            let Some(flight) = flight else { continue };
            self.in_flight -= 1;
            seen(&flight.sqe, &answer);
            self.deliver(&flight, &answer);
            if let Some(wire) = &mut self.wire {
                wire.give_back(answer.data);
            }
            any = true;
        }
        any
    }

    fn deliver(&mut self, flight: &Flight, answer: &Answer) {
        let mut status = answer.cqe.status();
        if status.is_success() && answer.is_spoilt {
            status = Status::TRANSIENT_TRANSPORT_ERROR;
        } else if status.is_success()
            && let Err(failed) = scatter(flight.pieces_to_fill(), &self.space, &answer.data)
        {
            status = failed;
        }
        self.pair.complete(&flight.sqe, status, answer.cqe.result());
    }

    /// The connection is lost: commands that only read are kept, others complete with "outcome unknown".
    pub fn lose(&mut self) {
        self.wire = None;
        for cid in 0..self.flights.len() {
            if let Some(flight) = self.flights[cid].take_if(|flight| !flight.only_reads) {
                self.in_flight -= 1;
                self.pair.complete(&flight.sqe, Status::ABORTED_BY_HOST, 0);
            }
        }
    }

    /// Sends again what was kept.
    pub fn resume(&mut self, wire: Wire) {
        self.wire = Some(wire);
        for flight in self.take_all() {
            self.launch(flight);
        }
    }

    /// Completes what was kept with "not reachable".
    pub fn give_up(&mut self) {
        for flight in self.take_all() {
            self.pair.complete(&flight.sqe, Status::HOST_PATHING_ERROR, 0);
        }
    }

    fn take_all(&mut self) -> Vec<Flight> {
        self.in_flight = 0;
        self.flights.iter_mut().filter_map(Option::take).collect()
    }
}

impl Flight {
    /// Pieces that data from the controller goes to: none for commands that bring data.
    fn pieces_to_fill(&self) -> &[(u64, u32)] {
        if matches!(self.transfer, Transfer::ToHost(_)) { &self.pieces } else { &[] }
    }
}
