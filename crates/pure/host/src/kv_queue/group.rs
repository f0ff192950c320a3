// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Submitting groups: many operations in one command.

use saker_duty::Duty;
use saker_link::{STAGING_BYTES, Slot};
use saker_nvme::Key;
use saker_nvme::group::{
    Form, GroupCommand, GroupMode, Op, Packer, PairAddress, Refused, SplitAction, SplitCommand,
    TransactionId, write_vector,
};

use super::commands::set_prps;
use super::{DataPlace, KvQueue, Shape, SubmitError, Ticket};

/// A payload of up to 4 KiB that is packed where the device will fetch it: one copy per key and value. It holds a slot
/// until it is [sent](KvQueue::send_group) or [given up](KvQueue::drop_group): debug builds panic if neither is done.
#[derive(Debug)]
#[must_use = "send it or drop it: it holds a slot"]
pub struct OpenGroup {
    duty: Duty,
    slot: Slot,
    form: Form,
    parts: (usize, u32),
}

impl OpenGroup {
    /// Adds an operation. `value` counts for stores only.
    ///
    /// # Errors
    /// [`Refused`]; [`Refused::Full`] when the payload would not fit 4 KiB.
    #[inline]
    pub fn push(&mut self, op: Op, key: &[u8], value: &[u8]) -> Result<(), Refused> {
        let Some(mut packer) = Packer::resume(self.form, self.slot.staging_mut(), self.parts) else {
            return Err(Refused::Full);
        };
        packer.push(op, key, value)?;
        self.parts = packer.parts();
        Ok(())
    }

    /// Operations so far.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.parts.1
    }

    /// Whether there are none. An empty group is refused by every device.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.1 == 0
    }

    /// Bytes of the payload so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.0
    }
}

impl KvQueue {
    /// Begins a group in a slot of the queue.
    ///
    /// # Errors
    /// [`SubmitError::Full`].
    #[inline]
    pub fn open_group(&mut self, form: Form) -> Result<OpenGroup, SubmitError> {
        let mut slot = self.take_slot()?;
        let parts = Packer::new(form, slot.staging_mut()).map_or((0, 0), |packer| packer.parts());
        self.open_groups += 1;
        let duty = Duty::new("a group is sent, or given up by `KvQueue::drop_group`");
        Ok(OpenGroup { duty, slot, form, parts })
    }

    /// Submits a group. DW0 of its completion is the number of operations that failed; which ones is told only under an
    /// identification, by [`KvQueue::group_results`].
    ///
    /// # Errors
    /// [`SubmitError`].
    #[inline]
    pub fn send_group(&mut self, group: OpenGroup, id: Option<Key>) -> Result<Ticket, SubmitError> {
        let OpenGroup { duty, mut slot, form, parts } = group;
        self.close_group(duty);
        let Some(packer) = Packer::resume(form, slot.staging_mut(), parts) else {
            return Err(self.give_up(slot, SubmitError::Full));
        };
        let bytes = packer.finish() as u32;
        let mut sqe = GroupCommand::OneWay { id, form, bytes }.encode(self.nsid);
        sqe.prp1.set(slot.lend_staging());
        self.launch(slot, &sqe, DataPlace::Elsewhere, Shape::ToDevice, bytes)
    }

    /// Gives the slot of a group back that is not to be sent.
    pub fn drop_group(&mut self, group: OpenGroup) {
        self.close_group(group.duty);
        self.pool.release(group.slot);
    }

    #[inline]
    fn close_group(&mut self, duty: Duty) {
        debug_assert!(self.open_groups > 0, "a group is closed by the queue that opened it");
        self.open_groups -= 1;
        duty.done();
    }

    /// Submits a payload that is packed already.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn group(&mut self, form: Form, id: Option<Key>, payload: &[u8]) -> Result<Ticket, SubmitError> {
        self.group_in_mode(form, GroupMode::PLAIN, id, payload)
    }

    /// The same as a transaction. DW0 is the entry that refuses it.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn group_in_mode(
        &mut self,
        form: Form,
        mode: GroupMode,
        id: Option<Key>,
        payload: &[u8],
    ) -> Result<Ticket, SubmitError> {
        let command = GroupCommand::OneWay { id, form, bytes: payload.len() as u32 };
        self.send(command.encode_in_mode(self.nsid, mode), payload)
    }

    /// Submits a payload and a buffer of `buffer_bytes` bytes, at least as long, for the results in one command. What the
    /// completion shows is the results.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn group_both_ways(
        &mut self,
        form: Form,
        payload: &[u8],
        buffer_bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        self.group_both_ways_in_mode(form, GroupMode::PLAIN, payload, buffer_bytes)
    }

    /// The same as a transaction. DW0 is the entry that refuses it.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn group_both_ways_in_mode(
        &mut self,
        form: Form,
        mode: GroupMode,
        payload: &[u8],
        buffer_bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        let buffer_bytes = buffer_bytes.max(payload.len() as u32);
        let command = GroupCommand::BothWays { form, bytes: payload.len() as u32, buffer_bytes };
        let mut sqe = command.encode_in_mode(self.nsid, mode);
        if buffer_bytes as usize > STAGING_BYTES {
            let mut buffer = Vec::with_capacity(buffer_bytes as usize);
            buffer.extend_from_slice(payload);
            buffer.resize(buffer_bytes as usize, 0);
            return self.lend_and_launch(sqe, Shape::Results, buffer).map_err(|returned| returned.error);
        }
        let mut slot = self.take_slot()?;
        slot.staging_mut()[..payload.len()].copy_from_slice(payload);
        set_prps(&mut sqe, (slot.lend_staging(), 0));
        self.launch(slot, &sqe, DataPlace::Staging, Shape::Results, buffer_bytes)
    }

    /// Fetches up to `capacity` bytes of the results that are kept under `id`. DW0 is their whole length; they are kept no
    /// longer when all of them fit.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn group_results(&mut self, id: Key, capacity: u32) -> Result<Ticket, SubmitError> {
        let sqe = GroupCommand::Results { id, buffer_bytes: capacity }.encode(self.nsid);
        self.receive(sqe, Shape::Value, capacity)
    }

    /// Tells the device that the keys of a payload of form retrieve belong together.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn prefetch_group(&mut self, id: Key, payload: &[u8]) -> Result<Ticket, SubmitError> {
        let sqe = GroupCommand::Prefetch { id, bytes: payload.len() as u32 }.encode(self.nsid);
        self.send(sqe, payload)
    }

    /// Submits stores whose keys and values the device gathers one by one, `pages`: as whole pages. They stay mapped until
    /// the completion. For comparison: see [`GroupCommand::Vector`].
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn group_vector(&mut self, pairs: &[PairAddress], pages: bool) -> Result<Ticket, SubmitError> {
        let list = write_vector(pairs);
        let sqe = GroupCommand::Vector { pages, bytes: list.len() as u32 }.encode(self.nsid);
        self.send(sqe, &list)
    }

    /// Submits a payload of form store that the device unpacks. For comparison: see [`GroupCommand::Bulk`].
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn bulk_put(&mut self, payload: &[u8]) -> Result<Ticket, SubmitError> {
        let sqe = GroupCommand::Bulk { bytes: payload.len() as u32 }.encode(self.nsid);
        self.send(sqe, payload)
    }

    /// Submits a part of a transaction, which begins it, commits it, or both. DW0 is how many entries there are of it then, or how the
    /// commit ended.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn transaction_part(
        &mut self,
        id: TransactionId,
        begins: bool,
        commits: bool,
        payload: &[u8],
    ) -> Result<Ticket, SubmitError> {
        let command = SplitCommand::Part { id, bytes: payload.len() as u32, begins, commits };
        self.send(command.encode(self.nsid), payload)
    }

    /// Submits what is asked of a transaction in parts.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn transaction_control(
        &mut self,
        id: TransactionId,
        action: SplitAction,
    ) -> Result<Ticket, SubmitError> {
        let sqe = SplitCommand::Control { id, action }.encode(self.nsid);
        self.raw(sqe, super::RawData::Untouched)
    }

    fn send(&mut self, sqe: saker_nvme::Sqe, payload: &[u8]) -> Result<Ticket, SubmitError> {
        if payload.len() > STAGING_BYTES {
            let sent = self.lend_and_launch(sqe, Shape::ToDevice, payload.to_vec());
            return sent.map_err(|returned| returned.error);
        }
        let slot = self.take_slot()?;
        self.send_staged(slot, sqe, payload)
    }
}
