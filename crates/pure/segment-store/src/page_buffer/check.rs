// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a page buffer remembers agrees with itself and with its bytes.

use super::{PageBuffer, SlotId, SlotState};

impl PageBuffer {
    /// Says what contradicts itself, if anything does. Looks at every slot once.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let mut lists = vec![0u8; usize::from(self.slots)];
        for slot in self.free.iter().chain(&self.cooling) {
            let n = lists.get_mut(usize::from(*slot)).ok_or_else(|| format!("there is no slot {slot}"))?;
            *n += 1;
            if *n > 1 {
                return Err(format!("slot {slot} was given back twice"));
            }
        }
        self.cooling.iter().try_for_each(|slot| {
            let covered = self.covered[usize::from(*slot)];
            if covered { Ok(()) } else { Err(format!("slot {slot} waits for a sync that it does not need")) }
        })?;
        (0..self.slots).try_for_each(|n| self.check_slot(SlotId(n), lists[usize::from(n)] == 1))
    }

    /// Of a slot that is in use, and of one that is not.
    fn check_slot(&self, slot: SlotId, is_given_back: bool) -> Result<(), String> {
        let (state, n) = (self.state(slot), slot.0);
        if is_given_back != (state == SlotState::Free) {
            return Err(format!("slot {n} is {state:?}, and given back: {is_given_back}"));
        }
        let cools = self.cooling.contains(&n);
        match self.found(slot) {
            // Damage is for whoever recovers; until then such a slot is in use.
            Err(_) => Ok(()),
            Ok(found) if found.map_or(SlotState::Free, |view| view.state) == state || cools => Ok(()),
            Ok(found) => Err(format!("slot {n} is {state:?}, its bytes say {found:?}")),
        }
    }
}
