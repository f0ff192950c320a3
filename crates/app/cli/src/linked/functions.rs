// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PCIe functions beside a target: its metrics tell of them, and its watchdog looks after their threads.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use saker::Counter;
use saker_tcp::Neighbour;
use saker_vfio_user::Probe;

/// One of them.
#[derive(Debug)]
pub(super) struct Function(Probe);

impl Function {
    /// All of a server's.
    pub(super) fn all(server: &saker_vfio_user::Server) -> Vec<Arc<dyn Neighbour>> {
        let one = |probe: &Probe| Arc::new(Self(probe.clone())) as Arc<dyn Neighbour>;
        server.probes().iter().map(one).collect()
    }
}

impl Neighbour for Function {
    fn name(&self) -> String {
        self.0.name().to_owned()
    }

    fn pulse(&self, told: Sender<()>) -> bool {
        self.0.pulse(told)
    }

    fn counters(&self, told: Sender<Vec<Counter>>) -> bool {
        self.0.counters(told)
    }
}
