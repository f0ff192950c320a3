// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keys of queued writes in flight.

use saker_nvme::Key;

use crate::kv_queue::Ticket;

/// Chains by key hash: a power of two above the usual depth.
const BUCKETS: usize = 1024;
/// The end of a chain; no slot has this number, because a queue has one slot less than entries.
const NONE: u16 = u16::MAX;

/// A hash table over slots. It is exact: who would wait for a write of another key that only looks alike would empty the queue
/// again and again.
#[derive(Debug)]
pub(super) struct InFlight {
    /// The slot of the newest write of each chain.
    newest: Box<[u16; BUCKETS]>,
    /// By slot.
    writes: Box<[Option<Write>]>,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    ticket: Ticket,
    bucket: u16,
    /// The slot of the write before it in its chain.
    older: u16,
    key: Key,
}

impl InFlight {
    pub(super) fn new(slots: usize) -> Self {
        Self { newest: Box::new([NONE; BUCKETS]), writes: vec![None; slots].into() }
    }

    #[inline]
    pub(super) fn insert(&mut self, ticket: Ticket, key: &Key) {
        let (slot, bucket) = (ticket.slot(), bucket(key));
        if self.writes[usize::from(slot)].is_some() {
            self.forget(slot);
        }
        let older = std::mem::replace(&mut self.newest[usize::from(bucket)], slot);
        self.writes[usize::from(slot)] = Some(Write { ticket, bucket, older, key: *key });
    }

    /// The key of a write in flight.
    pub(super) fn key(&self, ticket: Ticket) -> Option<Key> {
        let write = self.writes[usize::from(ticket.slot())].as_ref()?;
        (write.ticket == ticket).then_some(write.key)
    }

    /// Takes a write out. False if the ticket is of none.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Ticket) -> bool {
        let write = self.writes[usize::from(ticket.slot())].as_ref();
        let Some(write) = write.filter(|write| write.ticket == ticket) else { return false };
        let (bucket, older) = (write.bucket, write.older);
        let newest = &mut self.newest[usize::from(bucket)];
        if *newest == ticket.slot() {
            *newest = older;
        } else {
            self.unlink(bucket, ticket.slot(), older);
        }
        self.writes[usize::from(ticket.slot())] = None;
        true
    }

    /// Whether a write of `key` is in flight.
    #[inline]
    pub(super) fn hold(&self, key: &Key) -> bool {
        let mut at = self.newest[usize::from(bucket(key))];
        while let Some(Some(write)) = self.writes.get(usize::from(at)) {
            if write.key == *key {
                return true;
            }
            at = write.older;
        }
        false
    }

    /// Takes a slot that is not the newest out of its chain.
    fn unlink(&mut self, bucket: u16, slot: u16, older: u16) {
        let mut at = self.newest[usize::from(bucket)];
        while let Some(Some(write)) = self.writes.get_mut(usize::from(at)) {
            if write.older == slot {
                write.older = older;
                return;
            }
            at = write.older;
        }
    }

    /// A write whose completion somebody else has taken.
    #[cold]
    fn forget(&mut self, slot: u16) {
        if let Some(ticket) = self.writes[usize::from(slot)].map(|write| write.ticket) {
            self.remove(ticket);
        }
    }
}

/// Multiplication spreads the key's halves; the top bits depend on all of them.
#[inline]
fn bucket(key: &Key) -> u16 {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let number = u128::from_le_bytes(*key.padded());
    let folded = (number as u64 ^ ((number >> 64) as u64).rotate_left(29)).wrapping_add(key.len() as u64);
    (folded.wrapping_mul(SPREAD) >> (64 - BUCKETS.trailing_zeros())) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Few slots and keys that share chains.
    fn key(n: u16) -> Key {
        let alike: Vec<u32> = (0u32..).filter(|k| bucket(&name(*k)) % 512 == 7).take(12).collect();
        name(alike[usize::from(n)])
    }

    fn name(n: u32) -> Key {
        Key::new(&n.to_le_bytes()).expect("four bytes")
    }

    proptest! {
        /// A map from slots to keys is the model; slots are used again, with and without being taken out before.
        #[test]
        fn it_is_exact(steps in prop::collection::vec((0u16..8, 0u16..12, any::<bool>()), 1..80)) {
            let keys: Vec<Key> = (0..12).map(key).collect();
            let mut table = InFlight::new(8);
            let mut model: BTreeMap<u16, (Ticket, Key)> = BTreeMap::new();
            for (n, (slot, which, inserts)) in steps.into_iter().enumerate() {
                if inserts {
                    let ticket = Ticket::of(slot, n as u32);
                    table.insert(ticket, &keys[usize::from(which)]);
                    model.insert(slot, (ticket, keys[usize::from(which)]));
                } else if let Some((ticket, stored)) = model.remove(&slot) {
                    prop_assert!(!table.remove(Ticket::of(slot, u32::MAX)), "another command's");
                    prop_assert_eq!(table.key(ticket), Some(stored));
                    prop_assert!(table.remove(ticket));
                    prop_assert!(!table.remove(ticket) && table.key(ticket).is_none());
                }
                for key in &keys {
                    prop_assert_eq!(table.hold(key), model.values().any(|(_, held)| held == key));
                }
            }
        }
    }
}
