// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a service manager hears of a server.

use saker_tcp::{Server, Supervisor, Watch};

use crate::error::CliError;
use crate::report::Serving;

/// A service manager hears of this server.
pub(super) struct Supervised {
    supervisor: Option<Supervisor>,
    watch: Option<Watch>,
}

impl Supervised {
    /// Tells it that the server is ready, and that it goes on.
    pub(super) fn begin(server: &Server, serving: &Serving) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| {
            CliError::failed(format!("NOTIFY_SOCKET: {error}"), "see the service manager")
        };
        let Some(supervisor) = Supervisor::of_environment().map_err(failed)? else {
            return Ok(Self { supervisor: None, watch: None });
        };
        let (names, addresses) = (serving.subsystems.join(" "), serving.addresses.join(" "));
        // First: the watchdog has spoken when it has begun.
        supervisor.ready(&format!("serving {names} at {addresses}"));
        let watch = supervisor.watch(server.pulse()).map_err(failed)?;
        Ok(Self { supervisor: Some(supervisor), watch })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // An end in order may take longer than the watchdog waits: stopping has a limit of its own.
        self.watch.take();
        self.supervisor.iter().for_each(Supervisor::stopping);
    }
}
