// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations that an application sends together: one command of them, in any timing.

use super::retrieve_bytes;
use crate::result::Job;
use saker_assembly::Build;
use saker_device::NamespaceKind;
use saker_engine::GROUP_BYTES_MAX;
use saker_host::{KvQueue, SubmitError, Ticket};
use saker_nvme::group::results::RESULT_BYTES;
use saker_nvme::group::{COUNT_BYTES, Form, GroupMode, Op as GroupOp, Packer, entry_bytes, padded};
use saker_store::Op;
use std::collections::BTreeSet;

/// The command that carries stores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// A group: each is carried out or fails by itself.
    #[default]
    Group,
    /// A transaction.
    Transaction,
    /// Bulk Put, which the device unpacks into records of their own.
    Bulk,
}

/// How large groups become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimits {
    /// Operations of a group.
    pub operations: usize,
    /// Bytes of a payload, and of the buffer for results.
    pub bytes: usize,
    /// Bytes of the longest value that is read.
    pub value_bytes: usize,
    /// What carries stores.
    pub carried: Carried,
}

impl GroupLimits {
    /// Groups of up to `operations` operations for the jobs on a device.
    pub fn of(build: &Build, jobs: &[Job], operations: usize) -> Self {
        let longest = match build.config.namespaces.first().map(|n| n.kind) {
            Some(NamespaceKind::Kv { value_bytes_max, .. }) => value_bytes_max,
            _ => 0,
        };
        Self {
            operations,
            bytes: GROUP_BYTES_MAX.min(longest) as usize,
            value_bytes: retrieve_bytes(jobs, 0) as usize,
            carried: Carried::Group,
        }
    }

    /// The same by another command.
    #[must_use]
    pub fn by(self, carried: Carried) -> Self {
        Self { carried, ..self }
    }

    /// Bytes of an operation in the payload, and in the results.
    fn bytes_of(&self, operation: &Op) -> (usize, usize) {
        match operation {
            Op::Put(key, value) => (entry_bytes(GroupOp::Store, key.len(), value.len()), 0),
            Op::Get(key) => {
                (entry_bytes(GroupOp::Retrieve, key.len(), 0), RESULT_BYTES + padded(self.value_bytes))
            }
            _ => (0, 0),
        }
    }
}

/// One group, packed.
#[derive(Debug)]
pub struct Group {
    /// Its operations.
    pub count: usize,
    /// Bytes of keys and values that it writes.
    pub user_bytes: u64,
    op: GroupOp,
    carried: Carried,
    payload: Vec<u8>,
    buffer_bytes: usize,
}

impl Group {
    /// As many of the next operations as one command takes: of one kind, no key written twice. `None` if that would be
    /// fewer than two: such an operation goes alone.
    pub fn gather<'s>(next: impl Iterator<Item = &'s Op>, limits: &GroupLimits) -> Option<Self> {
        let (mut taken, mut keys): (Vec<&Op>, _) = (Vec::new(), BTreeSet::new());
        let (mut bytes, mut buffer_bytes) = (COUNT_BYTES, COUNT_BYTES);
        for operation in next.take(limits.operations) {
            let Some(key) = key_of(operation) else { break };
            let is_same = taken.first().is_none_or(|first| kind_of(first) == kind_of(operation));
            let more = limits.bytes_of(operation);
            let fits = bytes + more.0 <= limits.bytes && buffer_bytes + more.1 <= limits.bytes;
            if !is_same || !fits || !keys.insert(key) {
                break;
            }
            (bytes, buffer_bytes) = (bytes + more.0, buffer_bytes + more.1);
            taken.push(operation);
        }
        if taken.len() < 2 {
            return None;
        }
        Self::pack(&taken, limits.carried, bytes, buffer_bytes)
    }

    fn pack(operations: &[&Op], carried: Carried, bytes: usize, buffer_bytes: usize) -> Option<Self> {
        let op = kind_of(operations.first()?)?;
        let mut payload = vec![0; bytes];
        let mut packer = Packer::new(Form::All(op), &mut payload)?;
        for operation in operations {
            let (key, value): (&[u8], &[u8]) = match operation {
                Op::Put(key, value) => (key, value),
                Op::Get(key) => (key, &[]),
                _ => return None,
            };
            packer.push(op, key, value).ok()?;
        }
        packer.finish();
        let user_bytes = operations.iter().map(|operation| operation.user_bytes()).sum();
        Some(Self { count: operations.len(), user_bytes, op, carried, payload, buffer_bytes })
    }

    /// Bytes that the host copied to pack it.
    pub fn bytes(&self) -> usize {
        self.payload.len()
    }

    /// Submits it. DW0 of the completion is the number of its operations that failed.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn submit(&self, queue: &mut KvQueue) -> Result<Ticket, SubmitError> {
        let form = Form::All(self.op);
        match (self.op, self.carried) {
            (GroupOp::Store, Carried::Group) => queue.group(form, None, &self.payload),
            (GroupOp::Store, Carried::Transaction) => {
                queue.group_in_mode(form, TRANSACTION, None, &self.payload)
            }
            (GroupOp::Store, Carried::Bulk) => queue.bulk_put(&self.payload),
            _ => queue.group_both_ways(form, &self.payload, self.buffer_bytes as u32),
        }
    }
}

const TRANSACTION: GroupMode = GroupMode { is_transaction: true, has_versions: false };

fn kind_of(operation: &Op) -> Option<GroupOp> {
    match operation {
        Op::Put(..) => Some(GroupOp::Store),
        Op::Get(_) => Some(GroupOp::Retrieve),
        _ => None,
    }
}

fn key_of(operation: &Op) -> Option<&[u8]> {
    match operation {
        Op::Put(key, _) | Op::Get(key) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: GroupLimits =
        GroupLimits { operations: 4, bytes: 200, value_bytes: 40, carried: Carried::Group };

    fn put(key: u8, bytes: usize) -> Op {
        Op::Put(vec![key; 8], vec![key; bytes])
    }

    fn gathered(operations: &[Op]) -> Option<(usize, u64)> {
        Group::gather(operations.iter(), &LIMITS).map(|group| (group.count, group.user_bytes))
    }

    #[test]
    fn a_group_ends_where_a_command_does() {
        let puts: Vec<Op> = (0..6).map(|n| put(n, 16)).collect();
        assert_eq!(gathered(&puts), Some((4, 96)), "as many as asked for");
        let mixed = [put(1, 4), put(2, 4), Op::Get(vec![1; 8]), put(3, 4)];
        assert_eq!(gathered(&mixed), Some((2, 24)), "of one kind");
        let twice = [put(1, 4), put(2, 4), put(1, 4)];
        assert_eq!(gathered(&twice), Some((2, 24)), "a key once");
        let long: Vec<Op> = (0..4).map(|n| put(n, 60)).collect();
        assert_eq!(gathered(&long), Some((2, 136)), "no more bytes than a payload has");
        let gets: Vec<Op> = (0..4).map(|n| Op::Get(vec![n; 8])).collect();
        assert_eq!(gathered(&gets), Some((4, 0)), "four times 8 and 40 bytes of results fit");
        let wait = [put(1, 4), Op::Wait, put(2, 4)];
        assert_eq!((gathered(&wait), gathered(&[put(1, 190), put(2, 4)])), (None, None), "alone");
    }
}
