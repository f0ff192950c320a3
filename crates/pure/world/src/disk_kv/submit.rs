//! From operations to commands.

use crate::groups::{Group, GroupLimits};
use crate::result::{Job, Side};
use saker_host::{KvQueue, SubmitError};
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;

/// Bytes of keys and values that an operation writes.
pub(crate) fn user_bytes(operation: &Side) -> u64 {
    match operation {
        Side::Put(key, value) => (key.len() + value.len()) as u64,
        Side::Get(_) | Side::Wait => 0,
    }
}

/// Largest value that is read into a slot's own page; larger ones take a buffer.
pub const STAGED_BYTES: u32 = 4096;

/// Bytes that a retrieve asks for: `least`, or the longest value that the jobs store.
pub fn retrieve_bytes(jobs: &[Job], least: u32) -> u32 {
    let stored = jobs.iter().flat_map(|job| &job.operations).map(|operation| match operation {
        Side::Put(_, value) => value.len() as u32,
        Side::Get(_) | Side::Wait => 0,
    });
    stored.max().unwrap_or(0).max(least)
}

/// Entries for values that travel in the queue itself.
const PAYLOAD_ENTRIES: u32 = 512;

pub(super) fn queue_entries(by_methods: bool, depth: u16) -> u32 {
    let least = u32::from(depth) + 1;
    if by_methods { least.max(PAYLOAD_ENTRIES) } else { least }
}

/// A command on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub slot: u16,
    /// Operations in it.
    pub operations: usize,
    /// Bytes of keys and values that it writes.
    pub user_bytes: u64,
    /// Bytes that the host packed.
    pub packed_bytes: usize,
}

/// How operations become commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Bytes of a small read's answer in the completion; 0: none.
    pub small: u32,
    /// Bytes that a retrieve asks for.
    pub retrieve_bytes: u32,
    /// Groups, if operations go in groups.
    pub groups: Option<GroupLimits>,
}

impl Sending {
    /// Submits the next operations of a thread that one command takes; `None` as the error of a key that no command takes.
    pub fn submit<'s>(
        &self,
        queue: &mut KvQueue,
        operation: &Side,
        next: impl Iterator<Item = &'s Side>,
    ) -> Result<Sent, Option<SubmitError>> {
        if let Some(group) = self.groups.as_ref().and_then(|limits| Group::gather(next, limits)) {
            let slot = group.submit(queue).map_err(Some)?.slot();
            let (user_bytes, packed_bytes) = (group.user_bytes, group.bytes());
            return Ok(Sent { slot, operations: group.count, user_bytes, packed_bytes });
        }
        let slot = self.submit_one(queue, operation)?;
        Ok(Sent { slot, operations: 1, user_bytes: user_bytes(operation), packed_bytes: 0 })
    }

    fn submit_one(&self, queue: &mut KvQueue, operation: &Side) -> Result<u16, Option<SubmitError>> {
        let named = |key: &[u8]| Key::new(key).map_err(|_| None);
        let ticket = match operation {
            Side::Put(key, value) => queue.store(&named(key)?, value, StoreOptions::NONE),
            Side::Get(key) if self.small > 0 => queue.retrieve_small(&named(key)?, self.small),
            Side::Get(key) => queue.retrieve(&named(key)?, self.retrieve_bytes),
            Side::Wait => unreachable!("a wait is no command"),
        };
        ticket.map(|t| t.slot()).map_err(Some)
    }
}
