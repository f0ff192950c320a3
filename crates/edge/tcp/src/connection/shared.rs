// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What connections share.

use super::messages::Request;
use crate::config::ServerConfig;
use crate::counts::SocketCounts;
use crate::logs::Limits;
use crate::memory::Memory;
use crate::neighbour::Neighbour;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// The server's settings, its memory and its subsystems.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The server's settings.
    pub config: ServerConfig,
    /// What all of them may hold.
    pub memory: Arc<Memory>,
    /// How many lines of a kind the log may have.
    pub limits: Arc<Limits>,
    /// What the threads of sockets count.
    pub sockets: SocketCounts,
    /// By SUBNQN, where their requests go.
    pub subsystems: BTreeMap<String, UnboundedSender<Request>>,
    /// What the process serves by other ways.
    pub neighbours: Vec<Arc<dyn Neighbour>>,
}

impl Shared {
    /// Where requests for a subsystem go, if there is one of that name.
    pub fn subsystem(&self, nqn: &str) -> Option<UnboundedSender<Request>> {
        self.subsystems.get(nqn).cloned()
    }
}
