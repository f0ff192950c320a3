//! The word to stop: SIGTERM, or SIGINT from a terminal.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is made, so that a signal that comes early is not lost.
#[derive(Debug)]
pub struct StopSignal {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignal {
    /// Listens.
    ///
    /// # Errors
    /// If the system allows no handler.
    pub fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (terminate, interrupt) = {
            let _guard = runtime.enter();
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
        };
        Ok(Self { runtime, terminate, interrupt })
    }

    /// Returns when one of the signals has come.
    pub fn wait(self) {
        let Self { runtime, mut terminate, mut interrupt } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
    }
}
