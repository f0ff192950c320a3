// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Work of an engine that needs nothing of the medium, so that another thread can do it.

use std::any::Any;
use std::fmt::Debug;

/// Tells the processor that the memory at an address is needed soon. It may be any address: nothing is read.
pub type Ask = fn(*const u8);

/// Computes something for an engine. It has all that it needs with it, and none of it is the engine's meanwhile.
///
/// An engine hands it out by [`Engine::next_task`](crate::Engine::next_task) and has it back by
/// [`Engine::task_done`](crate::Engine::task_done). What is lost on the way, with the process, was nowhere else needed.
pub trait Task: Debug + Send {
    /// Does it, or a piece of it that ends before long.
    fn run(&mut self, ask: Ask);

    /// For the engine that knows what it is.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}
