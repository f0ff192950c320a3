// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every operation runs with.

/// The storage below a call and the meter of its work, borrowed for the call.
///
/// It is passed on by `&mut`. [`parts`](Context::parts) lends both at once to functions that take them apart.
#[derive(Debug)]
pub struct Context<'a, M: ?Sized, W: ?Sized> {
    /// Pages, the power-safe page buffer and I/O of the engine's owner.
    pub medium: &'a mut M,
    /// Takes note of CPU work.
    pub meter: &'a mut W,
}

impl<'a, M: ?Sized, W: ?Sized> Context<'a, M, W> {
    /// Over a medium, with a meter.
    #[inline(always)]
    pub fn new(medium: &'a mut M, meter: &'a mut W) -> Self {
        Self { medium, meter }
    }

    /// Both, until the parts are given back.
    #[inline(always)]
    pub fn parts(&mut self) -> (&mut M, &mut W) {
        (self.medium, self.meter)
    }
}
