//! Waiting for a device, or for its thread.

use crate::any::AnyTurn;
use saker_host::Turn;
use std::sync::{Arc, Mutex, TryLockError};

/// Rounds of polling before a waiting thread lets others run: there may be more threads than cores.
const SPINS: u32 = 200;

/// A pause while the device runs on a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pausing(u32);

impl Turn for Pausing {
    #[inline]
    fn turn(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(SPINS) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// A device that several threads wait for: whoever waits lets it make progress, one at a time.
#[derive(Clone, Debug)]
pub struct SharedTurn {
    /// Empty once the device is closed.
    device: Arc<Mutex<Option<AnyTurn>>>,
    /// It has a thread of its own, so that nobody needs to do anything.
    has_thread: bool,
    pause: Pausing,
}

impl SharedTurn {
    /// For any number of waiting threads: clones share the device.
    pub fn new(device: AnyTurn) -> Self {
        let has_thread = matches!(device, AnyTurn::Thread(_));
        Self { device: Arc::new(Mutex::new(Some(device))), has_thread, pause: Pausing::default() }
    }

    /// Takes the device out.
    pub fn take(&self) -> Option<AnyTurn> {
        self.device.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

impl Turn for SharedTurn {
    #[inline]
    fn turn(&mut self) {
        if self.has_thread {
            return self.pause.turn();
        }
        match self.device.try_lock() {
            Ok(mut device) => {
                if let Some(device) = device.as_mut() {
                    device.turn();
                }
            }
            Err(TryLockError::WouldBlock) => self.pause.turn(),
            Err(TryLockError::Poisoned(_)) => std::thread::yield_now(),
        }
    }
}
