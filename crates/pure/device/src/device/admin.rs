// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host asks of the device as a whole: its registers and its admin queue.

use super::drain::Waiter;
use super::format::Format;
use super::{Attachment, Device};
use crate::config::NamespaceKind;
use crate::controller::{Action, RegisterAction};
use crate::methods::Behind;
use crate::namespace::Namespace;
use crate::transfer::Pieces;
use saker_flash::Cells;
use saker_link::{DeviceCq, DeviceSq, Sqe};
use saker_nvme::Status;
use saker_nvme::admin::feature::HostIdentifier;
use saker_nvme::vendor_specific::asks_for_counters;

impl<T> Device<T> {
    /// Looks at the registers if they changed. Before the namespaces are recovered nothing is enabled.
    #[inline]
    pub(crate) fn watch_registers(&mut self) {
        let changes = self.host.registers.changes();
        if changes == self.changes_seen || !self.booted {
            return;
        }
        self.changes_seen = changes;
        loop {
            match self.controller.on_register_change(&self.host.registers) {
                RegisterAction::None => return,
                RegisterAction::Enable { asq, acq, asq_entries, acq_entries } => {
                    self.enable(asq, asq_entries, acq, acq_entries);
                }
                RegisterAction::Disable | RegisterAction::SubsystemReset => self.disable(),
                RegisterAction::Shutdown(_) => {
                    self.begin_drain(Waiter::Shutdown);
                    self.end_drains();
                }
            }
        }
    }

    /// Commands and queues are gone, what waited for them too, and features are as after power-on.
    fn disable(&mut self) {
        self.queues.clear();
        self.namespaces.iter_mut().for_each(|ns| ns.close_iterators(None));
        self.namespaces.iter_mut().for_each(|ns| ns.splits.clear());
        self.async_events.clear();
        self.disown_formats();
        self.drains.clear();
        self.write_through = false;
        self.flights.disable();
        self.end_disable();
    }

    fn enable(&mut self, asq: u64, asq_entries: u32, acq: u64, acq_entries: u32) {
        self.queues.clear();
        let Attachment { space, doorbells, registers, .. } = &self.host;
        let cq = DeviceCq::new(space, doorbells, 0, acq, acq_entries);
        let sq = DeviceSq::new(space, doorbells, 0, asq, asq_entries);
        match (sq, cq) {
            (Ok(sq), Ok(cq)) => {
                self.queues.add_cq(0, cq, Some(0));
                self.queues.add_sq(0, sq, 0, Behind::default());
                self.controller.ready(registers);
                self.note_usable();
            }
            _ => self.controller.fail(registers),
        }
    }

    /// Which namespaces the enabled command sets let the host use.
    fn note_usable(&mut self) {
        for (n, facts) in self.facts().iter().enumerate() {
            self.namespaces[n].usable = self.controller.is_usable(facts);
        }
    }

    /// Serves the admin queue. True if there was a command.
    pub(crate) fn serve_admin(&mut self) -> bool {
        let mut sqe = Sqe::new(0, 0);
        if !self.queues.fetch(0, &mut sqe) {
            return false;
        }
        let facts = self.facts();
        self.controller.note_counters(self.health());
        if asks_for_counters(&sqe) {
            let counted = self.counters();
            self.controller.note_counted(counted);
        }
        let outcome = self.controller.admin(&sqe, &facts);
        let cid = sqe.cid.get();
        let mut status = outcome.status;
        if status.is_success()
            && let Some(data) = &outcome.data
        {
            status = self.send_admin_data(&sqe, data);
        }
        let Some(action) = outcome.action.filter(|_| status.is_success()) else {
            self.complete_admin(sqe.opcode, cid, status, outcome.dw0);
            return true;
        };
        match self.perform(&action, &sqe) {
            Some(Ok(())) => self.complete_admin(sqe.opcode, cid, status, outcome.dw0),
            Some(Err(failed)) => {
                self.controller.undo(&action);
                self.complete_admin(sqe.opcode, cid, failed, 0);
            }
            None => {}
        }
        true
    }

    fn send_admin_data(&self, sqe: &Sqe, data: &[u8]) -> Status {
        let pieces = Pieces::of(sqe, data.len() as u32, &self.host.space);
        match pieces.map(|p| p.write(&self.host.space, 0, data)) {
            Ok(Ok(())) => Status::SUCCESS,
            Ok(Err(_)) => Status::DATA_TRANSFER_ERROR,
            Err(status) => status,
        }
    }

    /// Does what an admin command asks of the device. `None`: it completes later.
    fn perform(&mut self, action: &Action, sqe: &Sqe) -> Option<Result<(), Status>> {
        let cid = sqe.cid.get();
        let Attachment { space, doorbells, .. } = &self.host;
        match *action {
            Action::CreateCq { qid, entries, iova, vector } => {
                let ring = DeviceCq::new(space, doorbells, qid, iova, entries);
                Some(ring.map(|r| self.queues.add_cq(qid, r, vector)).map_err(|_| Status::PRP_OFFSET_INVALID))
            }
            // Completions of the queue that had the number before would be taken for its own.
            Action::CreateSq { qid, .. } if self.flights.has(qid) => Some(Err(Status::INVALID_QUEUE_ID)),
            Action::CreateSq { qid, cqid, entries, iova } => {
                let ring = DeviceSq::new(space, doorbells, qid, iova, entries);
                self.host.bar.clear(qid);
                let is_block = |ns: &&Namespace| matches!(ns.config.kind, NamespaceKind::Block { .. });
                let blocks = self.namespaces.iter().filter(is_block).map(|ns| ns.config.nsid);
                let behind = Behind::new(self.config.methods, blocks);
                let added = ring.map(|r| self.queues.add_sq(qid, r, cqid, behind));
                Some(added.map_err(|_| Status::PRP_OFFSET_INVALID))
            }
            Action::DeleteSq { qid, .. } => {
                self.queues.remove_sq(qid);
                self.namespaces.iter_mut().for_each(|ns| ns.close_iterators(Some(qid)));
                if self.flights.has(qid) {
                    self.flights.delete(qid, cid);
                    return None;
                }
                Some(Ok(()))
            }
            Action::DeleteCq { qid } => {
                self.queues.remove_cq(qid);
                Some(Ok(()))
            }
            Action::Abort { sqid, cid: victim } => {
                self.controller.abort_done();
                // Only an inline store that waits for its value is held where it can be taken back.
                if !self.queues.abort_inline(sqid, victim) {
                    return Some(Ok(()));
                }
                self.queues.complete(sqid, victim, Status::ABORT_REQUESTED, 0);
                self.note_aborted();
                self.complete_admin(sqe.opcode, cid, Status::SUCCESS, 0);
                None
            }
            Action::SetWriteCache(enabled) => {
                self.write_through = !enabled;
                if enabled {
                    return Some(Ok(()));
                }
                self.begin_drain(Waiter::CacheOff(cid));
                self.end_drains();
                None
            }
            Action::SetHostIdentifier { extended } => Some(self.fetch_host_identifier(sqe, extended)),
            Action::HoldAsyncEvent => {
                self.async_events.push(cid);
                self.count_admin(sqe.opcode, Status::SUCCESS);
                None
            }
            Action::SetEdnek { nsid, value } => Some(self.save_ednek(nsid, value)),
            Action::SetSetting { nsid, name, number } => Some(self.set_setting(nsid, name, number)),
            Action::Format { .. } if self.config.read_only => Some(Err(Status::NAMESPACE_WRITE_PROTECTED)),
            Action::Format { ref nsids, .. } => {
                let chosen = nsids.iter().filter_map(|nsid| self.index_of(*nsid)).collect();
                self.formats.push_back(Format::of(chosen, cid));
                None
            }
        }
    }

    fn fetch_host_identifier(&mut self, sqe: &Sqe, extended: bool) -> Result<(), Status> {
        let mut identifier = [0; 16];
        let bytes = HostIdentifier::default().with_extended(extended).bytes();
        let pieces = Pieces::of(sqe, bytes as u32, &self.host.space)?;
        let fetched = pieces.read(&self.host.space, 0, &mut identifier[..bytes]);
        fetched.map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        self.controller.note_host_identifier(identifier, extended);
        Ok(())
    }

    /// Feature 20h is saved before it is acknowledged, and counts from then on.
    fn save_ednek(&mut self, nsid: u32, value: bool) -> Result<(), Status> {
        let Some(n) = self.index_of(nsid) else { return Ok(()) };
        let owner = self.namespaces[n].owner();
        self.flash.media_mut().save(owner, value).map_err(|_| Status::INTERNAL_ERROR)?;
        self.namespaces[n].error_on_delete = value;
        Ok(())
    }

    fn note_aborted(&mut self) {
        self.stats.commands += 1;
        self.stats.errors += 1;
        self.stats.traffic.sqe_fetches += 1;
        self.stats.traffic.cqes += 1;
    }
}
