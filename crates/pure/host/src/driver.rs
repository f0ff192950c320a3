// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host does while it waits.

use crate::error::HostError;

/// Called whenever the host waits. An inline device runs on this call, a device thread needs only a pause, a simulation
/// goes to its next event.
pub trait Driver {
    /// Lets the device make progress.
    fn drive(&mut self);
}

impl<T: Driver + ?Sized> Driver for &mut T {
    #[inline]
    fn drive(&mut self) {
        (**self).drive();
    }
}

/// A pause of a few cycles: for a device that runs on a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Driver for Spin {
    #[inline]
    fn drive(&mut self) {
        std::hint::spin_loop();
    }
}

/// A closure as a [`Driver`].
#[derive(Clone, Copy, Debug)]
pub struct DriverFn<F>(pub F);

impl<F: FnMut()> Driver for DriverFn<F> {
    #[inline]
    fn drive(&mut self) {
        (self.0)();
    }
}

/// How many turns a wait may take. Turns are the only clock here: how long one takes is the caller's knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Turns without an answer after which a wait ends with [`HostError::Timeout`].
    pub polls_max: u64,
}

impl Default for Patience {
    /// 2^32 turns: about a minute of [`Spin`], or of an idle inline device.
    fn default() -> Self {
        Self { polls_max: 1 << 32 }
    }
}

/// One wait: counts its turns.
#[derive(Debug)]
pub(crate) struct Wait {
    turns_left: u64,
    polls_max: u64,
}

impl Patience {
    #[inline]
    pub(crate) fn wait(self) -> Wait {
        Wait { turns_left: self.polls_max, polls_max: self.polls_max }
    }
}

impl Wait {
    /// Takes a turn.
    ///
    /// # Errors
    /// [`HostError::Timeout`] if there is none left.
    #[inline]
    pub(crate) fn drive(&mut self, driver: &mut impl Driver) -> Result<(), HostError> {
        let Some(left) = self.turns_left.checked_sub(1) else {
            return Err(HostError::Timeout { turns: self.polls_max });
        };
        self.turns_left = left;
        driver.drive();
        Ok(())
    }
}
