// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting for threads of an engine's own.

use crate::answer::{Put, Token, Version};
use crate::engine::Engine;
use crate::kv::KvError;

impl Put {
    /// How a put ended, for a driver that finishes each operation before it looks at the next: it waits for the engine's thread.
    ///
    /// # Errors
    /// What [`Engine::store`] refuses with.
    #[inline]
    pub fn wait<E: Engine>(self, engine: &mut E) -> Result<Version, KvError> {
        match self {
            Self::Done(version) => Ok(version),
            Self::Pending(token) => wait_for(token, engine),
        }
    }
}

#[cold]
fn wait_for<E: Engine>(token: Token, engine: &mut E) -> Result<Version, KvError> {
    loop {
        match engine.outcome(token) {
            Some(ended) => return ended,
            // The thread may need this core.
            None => std::thread::yield_now(),
        }
    }
}
