// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O commands: to the shard of their key, or to all.

use crate::flight::{Flight, Kind};
use crate::part::Part;
use crate::shard::{Ended, Shard};
use crate::{Sharded, shard_of};
use saker_host::{Driver, RawData};
use saker_nvme::kv::opcode::{FLUSH, LIST};
use saker_nvme::vendor_specific::opcode::{GROUP, GROUP_BOTH_WAYS, GROUP_RESULTS};
use saker_nvme::{Sqe, Status};

impl<T: Driver> Sharded<T> {
    pub(crate) fn fetch_all(&mut self) {
        for n in 0..self.front.queues() {
            while (n == 0 || self.shards.iter().all(|shard| shard.has_room()))
                && let Some(sqe) = self.front.fetch(n)
            {
                if n == 0 { self.admin(&sqe) } else { self.io(n, &sqe) }
            }
        }
    }

    fn io(&mut self, queue: usize, sqe: &Sqe) {
        match sqe.opcode {
            FLUSH => self.hand_to_all(queue, sqe),
            LIST => self.begin_list(queue, sqe),
            GROUP | GROUP_BOTH_WAYS | GROUP_RESULTS => self.begin_group(queue, sqe),
            _ => self.hand_to_one(queue, sqe),
        }
    }

    /// A command with one key, or one that any shard refuses.
    fn hand_to_one(&mut self, queue: usize, sqe: &Sqe) {
        let n = sqe.key().map_or(0, |key| shard_of(key.as_bytes(), self.shards.len()));
        let flight = self.begin(queue, sqe, 1, Kind::Single);
        self.hand_out(flight, n, sqe);
    }

    fn hand_to_all(&mut self, queue: usize, sqe: &Sqe) {
        let count = self.shards.len();
        let flight = self.begin(queue, sqe, count as u16, Kind::All(Status::SUCCESS));
        (0..count).for_each(|n| self.hand_out(flight, n, sqe));
    }

    pub(crate) fn begin(&mut self, queue: usize, sqe: &Sqe, left: u16, kind: Kind) -> u32 {
        self.flights.add(Flight { queue, sqe: *sqe, left, kind })
    }

    /// The entry goes to a shard as it is.
    pub(crate) fn hand_out(&mut self, flight: u32, n: usize, sqe: &Sqe) {
        let (shard, part) = (&mut self.shards[n], Part { flight, n: n as u16 });
        let submitted = shard.queue.raw(*sqe, RawData::Untouched);
        if shard.note(submitted, part).is_err() {
            self.refused(part);
        }
    }

    /// A part that could not be handed out.
    pub(crate) fn refused(&mut self, part: Part) {
        let ended = Ended { status: Status::INTERNAL_ERROR, dw0: 0, dw1: 0, data: Vec::new() };
        self.ended(part, ended);
    }

    /// Runs the shards and takes what has ended. While one has commands, those that have none stand still: on the caller's thread they would take
    /// that for idleness, and do what they have put off behind every write of another one.
    pub(crate) fn advance_shards(&mut self) {
        let is_asked = self.shards.iter().any(Shard::is_asked);
        for n in 0..self.shards.len() {
            if is_asked && !self.shards[n].is_asked() {
                continue;
            }
            self.shards[n].queue.ring();
            self.shards[n].driver.drive();
            while let Some((part, ended)) = self.shards[n].next() {
                self.ended(part, ended);
            }
        }
    }

    fn ended(&mut self, part: Part, ended: Ended) {
        let flight = self.flights.get_mut(part.flight);
        flight.left -= 1;
        let is_over = flight.left == 0;
        match &mut flight.kind {
            Kind::Single => {
                let result = u64::from(ended.dw0) | u64::from(ended.dw1) << 32;
                self.finish(part.flight, ended.status, result);
            }
            Kind::All(first) => {
                if first.is_success() {
                    *first = ended.status;
                }
                let status = *first;
                if is_over {
                    self.finish(part.flight, status, 0);
                }
            }
            Kind::Group(group) => {
                group.take(part.n, &ended);
                if is_over {
                    self.end_group(part.flight);
                }
            }
            Kind::List(_) => self.listed(part.flight, ended),
        }
    }

    /// The host's command completes.
    pub(crate) fn finish(&mut self, flight: u32, status: Status, result: u64) {
        let Flight { queue, sqe, .. } = self.flights.remove(flight);
        self.front.complete(queue, &sqe, status, result);
    }
}
