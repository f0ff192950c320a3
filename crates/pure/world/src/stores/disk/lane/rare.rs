// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations that not every device takes, or that take several commands: batches, scans, lists, snapshots.

use super::{DiskLane, Unsent};
use crate::stores::batch::{TOO_LONG, write_batch};
use crate::stores::disk::command::{Command, Sent};
use crate::stores::disk::list::Listing;
use crate::stores::disk::scan::Scanning;
use crate::stores::disk::series::Series;
use saker_nvme::group::results::RESULT_BYTES;
use saker_nvme::group::{COUNT_BYTES, Form};
use saker_nvme::vendor_specific::IteratorRange;
use saker_sim::{Meter as _, Unit};
use saker_store::{Op, Refusal, Ticket};

impl DiskLane {
    /// What not every device takes.
    #[cold]
    pub(super) fn send_rare(&mut self, operation: &Op) -> Result<Ticket, Unsent> {
        let (takes, all) = (self.sending.takes, IteratorRange::new(&[], &[], &[]));
        let (ticket, command) = match (operation, all) {
            (Op::Batch(writes), _) if takes.batch_bytes > 0 => return self.send_batch(writes),
            (Op::Scan { from, entries, snapshot }, _) if takes.scans => {
                let scanning = Scanning::new(from, *entries, *snapshot).map_err(Unsent::Refused)?;
                return self.send_series(Series::Scan(scanning));
            }
            (Op::List { from, entries, values }, _) if takes.lists => {
                let listing = Listing::new(from, *entries, *values, self.sending.retrieve_bytes);
                return self.send_series(Series::List(listing.map_err(Unsent::Refused)?));
            }
            (Op::Snapshot, Some(all)) if takes.scans => {
                (self.queue.iterator_open(&all, false, None)?, Command::Snapshot)
            }
            (Op::Release(snapshot), _) if takes.scans => {
                (self.queue.iterator_close(snapshot.0)?, Command::Release)
            }
            (other, _) => return Err(Unsent::Refused(Refusal::Unsupported(other.name()))),
        };
        Ok(self.sent(ticket.slot(), Sent { command, operations: 1 }))
    }

    /// A batch is a group of writes, which the engine lands as one record.
    fn send_batch(&mut self, writes: &[Op]) -> Result<Ticket, Unsent> {
        let batch = write_batch(writes).map_err(Unsent::Refused)?;
        let deletes = batch.iter().filter(|(_, value)| value.is_none()).count() as u32;
        let (form, payload) = batch.pack().map_err(|_| Unsent::Refused(TOO_LONG))?;
        if payload.len() > self.sending.takes.batch_bytes {
            return Err(Unsent::Refused(TOO_LONG));
        }
        let sent = if form == Form::Mixed {
            // A device asks of mixed groups where their results are to go; only their number counts here.
            let results = COUNT_BYTES + batch.len() * RESULT_BYTES;
            self.queue.group_both_ways(form, &payload, results as u32)?
        } else {
            self.queue.group(form, None, &payload)?
        };
        let slot = sent.slot();
        self.meter.work(Unit::Encode, batch.len() as u64);
        self.meter.work(Unit::CopyByte, payload.len() as u64);
        Ok(self.sent(slot, Sent { command: Command::Batch(deletes), operations: 1 }))
    }

    /// A series has a slot of its own, behind those of the queue's commands.
    fn send_series(&mut self, mut series: Series) -> Result<Ticket, Unsent> {
        let slot = series.send(&mut self.queue)?;
        let n = self.series.add(series);
        self.sent(slot, Sent { command: Command::Series(n), operations: 1 });
        Ok(self.series_ticket(n))
    }

    pub(super) fn series_ticket(&self, n: u16) -> Ticket {
        Ticket { slot: self.sent.len() as u32 + u32::from(n), operations: 1 }
    }

    /// Takes a series that is over, with its outcome.
    #[cold]
    pub(super) fn take_ended(&mut self, n: u16) -> Option<Box<Series>> {
        if self.series.get_mut(n)?.is_over() { self.series.remove(n) } else { None }
    }

    /// A series that is not over sends its next command, when there is room.
    #[cold]
    pub(super) fn go_on(&mut self, n: u16) {
        let Self { series, queue, .. } = self;
        let Some(going) = series.get_mut(n) else { return };
        match going.send(queue) {
            Ok(slot) => _ = self.sent(slot, Sent { command: Command::Series(n), operations: 1 }),
            Err(_) => series.waits(n),
        }
    }

    /// There may be room again for a series that waits.
    #[cold]
    pub(super) fn retry_series(&mut self) -> bool {
        let before = self.series.waiting();
        if let Some(n) = self.series.next_waiting() {
            self.go_on(n);
        }
        self.series.waiting() < before
    }
}
