// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue pair of the library's and the one that serves it.

use std::collections::BTreeMap;
use std::sync::Arc;

use saker_link::{DmaSpace, RelayPair};
use saker_nvme::transfer::Contents;
use saker_nvme::{Sqe, Status};

use super::flights::{Flight, Flights};
use crate::function::{Function, Pair};

/// The pair.
#[derive(Debug)]
pub struct Queue {
    pub local: RelayPair,
    pub remote: Pair,
    pub entries: u32,
    pub flights: Flights,
}

impl Queue {
    pub fn fetch(&mut self) -> Option<Sqe> {
        self.local.post();
        self.local.fetch()
    }

    /// Sends what the library has submitted. True if there was anything.
    pub fn hand_over(
        &mut self,
        space: &Arc<DmaSpace>,
        function: &Function,
        contents: &BTreeMap<u32, Contents>,
    ) -> bool {
        let mut any = false;
        while let Some(sqe) = self.fetch() {
            let contents = contents.get(&sqe.nsid.get()).copied().unwrap_or(Contents::Kv);
            let kind = (contents.only_reads(&sqe), contents == Contents::Kv);
            let sent = Flight::new(sqe, contents.transfer(&sqe), kind, space)
                .and_then(|flight| self.launch(flight, space, function.space()));
            match sent {
                Ok(()) => any = true,
                Err(status) => self.local.complete(&sqe, status, 0),
            }
        }
        any
    }

    fn launch(
        &mut self,
        flight: Flight,
        local: &Arc<DmaSpace>,
        remote: &Arc<DmaSpace>,
    ) -> Result<(), Status> {
        let sqe = flight.send(local, remote)?;
        // The rings are as long as the library's.
        self.remote.submit(&sqe).map_err(|_| Status::HOST_PATHING_ERROR)?;
        self.flights.insert(flight);
        Ok(())
    }

    /// Takes completions. True if there was any.
    pub fn take(&mut self, space: &Arc<DmaSpace>) -> bool {
        let mut any = false;
        while let Some(cqe) = self.remote.poll() {
            any = true;
            let Some(flight) = self.flights.remove(cqe.cid.get()) else { continue };
            let mut status = cqe.status();
            if status.is_success() {
                let data = flight.received(cqe.result());
                status = flight.deliver(space, &data).err().unwrap_or(status);
            }
            self.local.complete(&flight.sqe, status, cqe.result());
        }
        any
    }

    pub fn fail(&mut self, which: impl Fn(&Flight) -> bool, status: Status) {
        for flight in self.flights.take_if(which) {
            self.local.complete(&flight.sqe, status, 0);
        }
    }

    /// Sends again what was kept.
    pub fn resume(&mut self, local: &Arc<DmaSpace>, remote: &Arc<DmaSpace>) {
        for flight in self.flights.take_if(|_| true) {
            let sqe = flight.sqe;
            if let Err(status) = self.launch(flight.anew(), local, remote) {
                self.local.complete(&sqe, status, 0);
            }
        }
    }
}
