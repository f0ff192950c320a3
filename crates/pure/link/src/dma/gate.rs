// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who may touch a window's bytes: a three-state lock of which the device holds one side for one copy.

use super::DmaFault;
use crate::sync::{AtomicU32, Ordering, spin_loop};

/// The device may read.
const OPEN: u32 = 1;
/// The device may write, too.
const WRITABLE: u32 = 2;
/// A copy is going on.
const BUSY: u32 = 4;
/// The host owns the bytes.
const CLOSED: u32 = 0;

/// Invariant: between a successful [`enter`](Gate::enter) and the drop of its [`Entered`] the state keeps `OPEN` and
/// `BUSY`, and nobody else enters or closes. Only the owner of the window opens and closes.
pub(super) struct Gate(AtomicU32);

/// What the device wants to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The device's hold on an open gate.
pub(super) struct Entered<'a> {
    gate: &'a Gate,
    open: u32,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(CLOSED))
    }

    /// Host: lets the device in. Everything the host wrote before is visible to who enters.
    #[inline]
    pub(super) fn open(&self, writable: bool) {
        self.0.store(if writable { OPEN | WRITABLE } else { OPEN }, Ordering::Release);
    }

    /// Host: waits for the copy that is going on, if any, and keeps the device out from then on. Everything the device
    /// wrote before is visible afterwards. Closing a closed gate does nothing.
    #[inline]
    pub(super) fn close(&self) {
        let mut seen = self.0.load(Ordering::Relaxed);
        while seen != CLOSED {
            if seen & BUSY != 0 {
                spin_loop();
                seen = self.0.load(Ordering::Relaxed);
                continue;
            }
            match self.0.compare_exchange_weak(seen, CLOSED, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Device: takes the window for one copy; waits for another device thread's copy.
    ///
    /// Exclusive even for readers: leaving is then a plain store, where a count would cost a second locked operation
    /// on the path of every command.
    #[inline]
    pub(super) fn enter(&self, access: Access) -> Result<Entered<'_>, DmaFault> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & OPEN == 0 {
                return Err(DmaFault::Unmapped);
            }
            if access == Access::Write && seen & WRITABLE == 0 {
                return Err(DmaFault::ReadOnly);
            }
            if seen & BUSY != 0 {
                spin_loop();
                seen = self.0.load(Ordering::Relaxed);
                continue;
            }
            match self.0.compare_exchange_weak(seen, seen | BUSY, Ordering::Acquire, Ordering::Relaxed) {
                Ok(open) => return Ok(Entered { gate: self, open }),
                Err(now) => seen = now,
            }
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.gate.0.store(self.open, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_gate_admits_by_its_state() {
        let gate = Gate::new();
        assert_eq!(gate.enter(Access::Read).err(), Some(DmaFault::Unmapped));
        gate.open(false);
        assert_eq!(gate.enter(Access::Write).err(), Some(DmaFault::ReadOnly));
        drop(gate.enter(Access::Read).expect("open"));
        gate.close();
        assert_eq!(gate.enter(Access::Read).err(), Some(DmaFault::Unmapped));
        gate.open(true);
        drop(gate.enter(Access::Write).expect("writable"));
        drop(gate.enter(Access::Write).expect("left again"));
        gate.close();
        gate.close();
        assert_eq!(gate.enter(Access::Write).err(), Some(DmaFault::Unmapped));
    }
}
