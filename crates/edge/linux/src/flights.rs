// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands on their way through the kernel, with the memory it reads and writes.

use std::time::Instant;

use saker_link::{DmaSpace, gather, scatter};
use saker_nvme::transfer::Transfer;
use saker_nvme::{Sqe, Status, kv, vendor_specific};

use crate::abi::UringCommand;
use crate::buffer::Buffer;
use crate::node::Outcome;

/// A command and its data.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Place of its queue.
    pub queue: usize,
    pub sqe: Sqe,
    transfer: Transfer,
    /// Address and bytes of the host library's memory.
    pieces: Vec<(u64, u32)>,
    /// What the kernel reads or fills: it moves data to and from plain memory only.
    pub buffer: Buffer,
    pub only_reads: bool,
    /// When it was first handed to the kernel.
    pub begun: Instant,
}

impl Flight {
    /// Copies the data of a command that has some.
    pub fn new(
        queue: usize,
        sqe: Sqe,
        transfer: Transfer,
        pieces: Vec<(u64, u32)>,
        only_reads: bool,
        space: &DmaSpace,
    ) -> Result<Self, Status> {
        let buffer = match transfer {
            Transfer::None => Buffer::default(),
            Transfer::ToDevice(_) => Buffer::copy_of(&gather(&pieces, space)?),
            Transfer::ToHost(bytes) => Buffer::new(bytes as usize),
        };
        Ok(Self { queue, sqe, transfer, pieces, buffer, only_reads, begun: Instant::now() })
    }

    /// As the kernel takes it.
    pub fn command(&mut self) -> UringCommand {
        let data = self.buffer.bytes_mut();
        UringCommand::new(&self.sqe, data.as_mut_ptr() as u64, data.len() as u32)
    }

    /// Hands data to the host library; the status to complete the command with.
    pub fn deliver(&self, outcome: Outcome, space: &DmaSpace) -> Status {
        if !outcome.status.is_success() || !matches!(self.transfer, Transfer::ToHost(_)) {
            return outcome.status;
        }
        // Behind the value nothing is the device's.
        use vendor_specific::opcode::{GROUP_RESULTS, RETRIEVE_VERSIONED};
        let tells_length =
            matches!(self.sqe.opcode, kv::opcode::RETRIEVE | GROUP_RESULTS | RETRIEVE_VERSIONED);
        let data = self.buffer.bytes();
        let bytes = if tells_length { outcome.result as u32 as usize } else { data.len() };
        scatter(&self.pieces, space, &data[..bytes.min(data.len())]).err().unwrap_or(outcome.status)
    }
}

/// Flights by the number that the kernel returns.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    slots: Vec<Option<Flight>>,
    free: Vec<u32>,
}

impl Flights {
    pub fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    pub fn insert(&mut self, flight: Flight) -> u64 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[at as usize] = Some(flight);
        u64::from(at)
    }

    pub fn remove(&mut self, at: u64) -> Option<Flight> {
        let flight = self.slots.get_mut(usize::try_from(at).ok()?)?.take()?;
        self.free.push(at as u32);
        Some(flight)
    }

    /// Memory that the kernel may still write is not to be used again.
    pub fn forget(&mut self) {
        self.slots.drain(..).flatten().for_each(|flight| std::mem::forget(flight.buffer));
        self.free.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_never_twice() {
        let space = DmaSpace::new(4, 1);
        let flight = || {
            let sqe = Sqe::new(kv::opcode::EXIST, 1);
            Flight::new(1, sqe, Transfer::None, Vec::new(), true, &space).expect("no data")
        };
        let mut flights = Flights::default();
        let (a, b) = (flights.insert(flight()), flights.insert(flight()));
        assert!(a != b && flights.remove(a).is_some() && flights.remove(a).is_none());
        assert_eq!(flights.insert(flight()), a);
        assert!(flights.remove(99).is_none() && !flights.is_empty());
        assert!(flights.remove(a).is_some() && flights.remove(b).is_some() && flights.is_empty());
    }

    #[test]
    fn behind_a_value_the_hosts_memory_is_untouched() {
        let space = DmaSpace::new(4, 1);
        let region = space.alloc_bytes(64).expect("room");
        region.write(0, &[9; 64]).expect("written");
        let retrieve = Sqe::new(kv::opcode::RETRIEVE, 1);
        let pieces = vec![(region.iova(), 64)];
        let mut flight =
            Flight::new(1, retrieve, Transfer::ToHost(64), pieces, true, &space).expect("a buffer");
        flight.buffer.bytes_mut().fill(7);
        let status = flight.deliver(Outcome { status: Status::SUCCESS, result: 10 }, &space);
        assert_eq!(status, Status::SUCCESS);
        let mut seen = [0; 64];
        region.read(0, &mut seen).expect("read");
        assert_eq!(seen, [[7; 10].as_slice(), &[9; 54]].concat()[..]);
    }
}
