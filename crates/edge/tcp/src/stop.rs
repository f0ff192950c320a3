// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words of an operator: SIGTERM, or SIGINT from a terminal, to stop; SIGHUP to read the configuration again.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What an operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The end.
    Stop,
    /// The configuration has changed.
    Reload,
}

/// Listens from the moment it is made, so that a signal that comes early is not lost.
#[derive(Debug)]
pub struct StopSignal {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl StopSignal {
    /// Listens.
    ///
    /// # Errors
    /// If the system allows no handler.
    pub fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (terminate, interrupt, hang_up) = {
            let _guard = runtime.enter();
            let of = |kind| signal(kind);
            (of(SignalKind::terminate())?, of(SignalKind::interrupt())?, of(SignalKind::hangup())?)
        };
        Ok(Self { runtime, terminate, interrupt, hang_up })
    }

    /// Waits for the next word.
    pub fn wait(&mut self) -> Word {
        let Self { runtime, terminate, interrupt, hang_up } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => Word::Stop,
                _ = interrupt.recv() => Word::Stop,
                _ = hang_up.recv() => Word::Reload,
            }
        })
    }
}
