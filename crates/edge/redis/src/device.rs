// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the owner of the device does for its Redis clients.

use std::cell::RefCell;
use std::rc::Rc;

use saker_host::{Driver, HostError};

/// What is told of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its pairs, where its engine counts them.
    pub pairs: Option<u64>,
    /// Bytes of keys and values that are stored.
    pub used_bytes: u64,
    /// Room for keys and values.
    pub size_bytes: u64,
    /// The engine that keeps them.
    pub engine: &'static str,
}

/// A device with one owner, on the owner's thread.
pub trait Device: Driver {
    /// What is to be told of a namespace.
    fn facts(&mut self, nsid: u32) -> Facts;

    /// Deletes everything in a namespace, wholly or not at all.
    ///
    /// # Errors
    /// [`HostError`].
    fn clear(&mut self, nsid: u32) -> Result<(), HostError>;
}

/// A turn at the device, for all that share it on one thread.
#[derive(Clone)]
pub struct Turn(Rc<RefCell<dyn Device>>);

impl Turn {
    /// For the Redis clients of a device.
    pub fn new(device: Rc<RefCell<dyn Device>>) -> Self {
        Self(device)
    }

    pub(crate) fn facts(&self, nsid: u32) -> Facts {
        self.0.borrow_mut().facts(nsid)
    }

    pub(crate) fn clear(&self, nsid: u32) -> Result<(), HostError> {
        self.0.borrow_mut().clear(nsid)
    }
}

impl Driver for Turn {
    #[inline]
    fn drive(&mut self) {
        self.0.borrow_mut().drive();
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Turn")
    }
}
