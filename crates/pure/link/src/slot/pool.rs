// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The slots that are not in flight.

use std::sync::Arc;

use thiserror::Error;

use super::Slot;
use crate::dma::{ArenaFull, DmaSpace};

/// A fixed set of slots. The one released last is given out first: its page is still in the cache.
#[derive(Debug)]
pub struct SlotPool {
    free: Vec<Slot>,
    staging: Box<[u64]>,
}

/// A pool for which the DMA space has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PoolError {
    /// No pages for the PRP lists.
    #[error(transparent)]
    Arena(#[from] ArenaFull),
    /// No window left for a staging page.
    #[error("the DMA space has too few windows for the slots")]
    Windows,
}

impl SlotPool {
    /// `capacity` slots with the command identifiers `0..capacity`. Each takes a window and an arena page of `space`.
    ///
    /// # Errors
    /// [`PoolError`] if the space has too few of them.
    pub fn new(space: &Arc<DmaSpace>, capacity: u16) -> Result<Self, PoolError> {
        let mut free = Vec::with_capacity(usize::from(capacity));
        let mut staging = Vec::with_capacity(usize::from(capacity));
        for index in 0..capacity {
            let window = space.window().ok_or(PoolError::Windows)?;
            staging.push(window.base_iova());
            let mut slot = Slot::new(index, window, space.alloc_pages(1)?);
            slot.rest();
            free.push(slot);
        }
        free.reverse();
        Ok(Self { free, staging: staging.into() })
    }

    /// A free slot, or `None` if all are in use.
    #[inline]
    pub fn acquire(&mut self) -> Option<Slot> {
        let mut slot = self.free.pop()?;
        slot.owe();
        Some(slot)
    }

    /// Gives `slot` back.
    ///
    /// # Panics
    /// If the slot is of another pool.
    #[inline]
    pub fn release(&mut self, mut slot: Slot) {
        slot.rest();
        let staging = self.staging.get(usize::from(slot.index()));
        assert!(staging.is_some_and(|&iova| slot.belongs_to(iova)), "a slot goes back to its own pool");
        self.free.push(slot);
        debug_assert!(self.free.len() <= self.staging.len(), "each slot is there once");
    }

    /// Says what contradicts itself, if anything does. It looks at every slot, and allocates nothing.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), String> {
        let mut seen = [0_u64; (u16::MAX as usize + 1) / u64::BITS as usize];
        for slot in &self.free {
            let index = usize::from(slot.index());
            let is_ours = self.staging.get(index).is_some_and(|iova| slot.belongs_to(*iova));
            let (word, bit) = (&mut seen[index / 64], 1 << (index % 64));
            if !is_ours || *word & bit != 0 {
                return Err(format!("slot {index} is free twice, or is another pool's"));
            }
            *word |= bit;
        }
        Ok(())
    }

    /// Number of slots, free or not.
    pub fn capacity(&self) -> u16 {
        self.staging.len() as u16
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.free.len()
    }
}
