//! What the host does while it waits.

use crate::error::HostError;

/// Called whenever the host waits. An inline device runs on this call, a device thread needs only a pause, a simulation
/// goes to its next event.
pub trait Turn {
    /// Lets the device make progress.
    fn turn(&mut self);
}

impl<T: Turn + ?Sized> Turn for &mut T {
    #[inline]
    fn turn(&mut self) {
        (**self).turn();
    }
}

/// A pause of a few cycles: for a device that runs on a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Turn for Spin {
    #[inline]
    fn turn(&mut self) {
        std::hint::spin_loop();
    }
}

/// A closure as a [`Turn`].
#[derive(Clone, Copy, Debug)]
pub struct TurnFn<F>(pub F);

impl<F: FnMut()> Turn for TurnFn<F> {
    #[inline]
    fn turn(&mut self) {
        (self.0)();
    }
}

/// How many turns a wait may take. Turns are the only clock here: how long one takes is the caller's knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Turns without an answer after which a wait ends with [`HostError::Timeout`].
    pub turns_max: u64,
}

impl Default for Patience {
    /// 2^32 turns: about a minute of [`Spin`], or of an idle inline device.
    fn default() -> Self {
        Self { turns_max: 1 << 32 }
    }
}

/// One wait: counts its turns.
#[derive(Debug)]
pub(crate) struct Wait {
    turns_left: u64,
    turns_max: u64,
}

impl Patience {
    #[inline]
    pub(crate) fn wait(self) -> Wait {
        Wait { turns_left: self.turns_max, turns_max: self.turns_max }
    }
}

impl Wait {
    /// Takes a turn.
    ///
    /// # Errors
    /// [`HostError::Timeout`] if there is none left.
    #[inline]
    pub(crate) fn turn(&mut self, turn: &mut impl Turn) -> Result<(), HostError> {
        let Some(left) = self.turns_left.checked_sub(1) else {
            return Err(HostError::Timeout { turns: self.turns_max });
        };
        self.turns_left = left;
        turn.turn();
        Ok(())
    }
}
