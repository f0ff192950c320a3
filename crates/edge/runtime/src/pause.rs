// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting for a device, or for its thread.

use crate::any::AnyDriver;
pub use crate::pausing::Pausing;
use saker_host::Driver;
use std::sync::{Arc, Mutex, TryLockError};

/// A device that several threads wait for: whoever waits lets it make progress, one at a time.
#[derive(Clone, Debug)]
pub struct SharedDriver {
    /// Empty once the device is closed.
    device: Arc<Mutex<Option<AnyDriver>>>,
    /// It has a thread of its own, so that nobody needs to do anything.
    has_thread: bool,
    pause: Pausing,
}

impl SharedDriver {
    /// For any number of waiting threads: clones share the device.
    pub fn new(device: AnyDriver) -> Self {
        let has_thread = matches!(device, AnyDriver::Thread(_));
        Self { device: Arc::new(Mutex::new(Some(device))), has_thread, pause: Pausing::default() }
    }

    /// Takes the device out.
    pub fn take(&self) -> Option<AnyDriver> {
        self.device.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

impl Driver for SharedDriver {
    #[inline]
    fn drive(&mut self) {
        if self.has_thread {
            return self.pause.drive();
        }
        match self.device.try_lock() {
            Ok(mut device) => {
                if let Some(device) = device.as_mut() {
                    device.drive();
                }
            }
            Err(TryLockError::WouldBlock) => self.pause.drive(),
            Err(TryLockError::Poisoned(_)) => std::thread::yield_now(),
        }
    }
}
