// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O commands: to the kernel and back.

use std::time::Instant;

use saker_link::prp_pieces;
use saker_nvme::transfer::{Contents, Transfer, needs_shared_memory};
use saker_nvme::{NSID_ALL, Sqe, Status};

use crate::flights::Flight;
use crate::node::Outcome;
use crate::passthrough::Passthrough;
use crate::pauses::{REST, RETRY_PAUSE};
use crate::ring::Ring;

impl Passthrough {
    pub(crate) fn io(&mut self, n: usize, mut sqe: Sqe) {
        if needs_shared_memory(&sqe) {
            return self.complete(n, &sqe, Status::INVALID_OPCODE, 0);
        }
        // The kernel takes commands for the file's own namespace only; there is no other to flush.
        if sqe.nsid.get() == NSID_ALL {
            sqe.nsid = self.node.nsid.into();
        }
        let contents = self.contents.get(&sqe.nsid.get()).copied().unwrap_or(Contents::Kv);
        let transfer = contents.transfer(&sqe);
        match self.flight(n, sqe, transfer, contents.only_reads(&sqe)) {
            Ok(flight) => self.launch(flight),
            Err(status) => self.complete(n, &sqe, status, 0),
        }
    }

    fn flight(&self, n: usize, sqe: Sqe, transfer: Transfer, only_reads: bool) -> Result<Flight, Status> {
        let bytes = u32::try_from(transfer.bytes()).map_err(|_| Status::INVALID_FIELD)?;
        let pieces = prp_pieces(&sqe, bytes, &self.space)?;
        Flight::new(n, sqe, transfer, pieces, only_reads, &self.space)
    }

    fn launch(&mut self, mut flight: Flight) {
        let Some(ring) = &mut self.ring else {
            let outcome = self.node.io(&flight.sqe, flight.buffer.bytes_mut());
            return self.landed(flight, outcome);
        };
        let command = flight.command();
        let at = self.flights.insert(flight);
        // SAFETY: the buffer of the command belongs to the flight, which stays in `flights`, and does not move there, until
        // the ring has returned `at`; `Drop` waits for that or leaks the buffer.
        while !unsafe { ring.push(self.node.raw(), &command, at) } {
            // Full: the kernel takes what is queued.
            if ring.submit().is_err() {
                let flight = self.flights.remove(at).expect("inserted above, and never handed over");
                return self.complete(flight.queue, &flight.sqe, Status::HOST_PATHING_ERROR, 0);
            }
        }
    }

    pub(crate) fn submit(&mut self) {
        if let Some(ring) = &mut self.ring
            && ring.submit().is_err()
        {
            // Nothing was taken; it stays queued, and the next turn tries again.
            std::thread::sleep(REST);
        }
    }

    pub(crate) fn reap(&mut self) -> bool {
        let mut any = false;
        while let Some((at, outcome)) = self.ring.as_mut().and_then(Ring::next_done) {
            any = true;
            let Some(flight) = self.flights.remove(at) else { continue };
            match outcome {
                Err(error) if self.may_fall_back && is_without_rings(&error) => {
                    self.is_refused = true;
                    self.retries.push((Instant::now(), flight));
                }
                outcome => self.landed(flight, outcome),
            }
        }
        if self.is_refused && self.flights.is_empty() {
            self.ring = None;
        }
        any
    }

    fn landed(&mut self, flight: Flight, outcome: std::io::Result<Outcome>) {
        // What has gone nowhere may be repeated even if it writes.
        let went_nowhere = outcome.as_ref().is_err_and(|error| self.node.is_without_ways(error));
        let outcome = if went_nowhere { Outcome::WITHOUT_PATH } else { Outcome::of(outcome) };
        let may_repeat = went_nowhere || flight.only_reads && outcome.is_without_path();
        if may_repeat && flight.begun.elapsed() < self.patience {
            self.repeated += 1;
            return self.retries.push((Instant::now() + RETRY_PAUSE, flight));
        }
        let status = flight.deliver(outcome, &self.space);
        self.complete(flight.queue, &flight.sqe, status, outcome.result);
    }

    pub(crate) fn repeat_due(&mut self) {
        let now = Instant::now();
        while let Some(at) = self.retries.iter().position(|(due, _)| *due <= now) {
            let (_, flight) = self.retries.swap_remove(at);
            self.launch(flight);
            if self.ring.is_none() {
                return;
            }
        }
    }
}

/// The file, or this kernel, takes no commands by io_uring.
fn is_without_rings(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::OPNOTSUPP | Errno::NOTTY))
}
