// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A method that tests force on every value, to see which checks hang on the choice. Without the feature `planted` nothing is forced and
//! nothing is asked.

use super::Method;

#[cfg(feature = "planted")]
mod forcing {
    use super::Method;
    use std::cell::Cell;

    thread_local! {
        static FORCED: Cell<Option<Method>> = const { Cell::new(None) };
    }

    /// Every value that this thread sends from now on goes by this method, if the device carries it; `None`: as its policy says.
    pub fn force(method: Option<Method>) {
        FORCED.set(method);
    }

    /// The method that is forced.
    pub fn forced() -> Option<Method> {
        FORCED.get()
    }
}

#[cfg(feature = "planted")]
pub use forcing::{force, forced};

/// The method that is forced: none.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn forced() -> Option<Method> {
    None
}
