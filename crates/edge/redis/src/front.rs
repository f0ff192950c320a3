// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all connections share.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use saker_host::KvClient;
use saker_resp::{Limits, Replies};

use crate::clients::Clients;
use crate::device::Turn;
use crate::store::Store;

/// What the owner of a server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What `AUTH` has to say; without it nobody need.
    pub password: Option<Vec<u8>>,
    /// Connections at most.
    pub clients_max: usize,
    /// Bytes that all of them may hold: commands that have not come wholly, answers that were not read.
    pub memory_max: usize,
}

/// A namespace and its Redis clients.
#[derive(Debug)]
pub struct Front {
    pub(crate) settings: Settings,
    pub(crate) store: RefCell<Store>,
    pub(crate) clients: Clients,
    /// Of those who need not say who they are, or have.
    pub(crate) limits: Limits,
    pub(crate) port: u16,
    pub(crate) begun: Instant,
    /// Answers on their way; what a socket does not take goes to its connection.
    pub(crate) replies: RefCell<Replies>,
}

/// Arguments of a command at most.
const ARGUMENTS_MAX: u32 = 64 << 10;
/// What a command is longer than its values: names, keys, headers.
const AROUND_BYTES: u32 = 64 << 10;
/// What somebody may say who has not said who he is.
pub(crate) const STRANGER: Limits =
    Limits { arguments_max: 10, argument_bytes_max: 16 << 10, command_bytes_max: 32 << 10 };

impl Front {
    /// For the namespace `nsid` behind that client, which takes its turns at the device of `turn`.
    #[must_use]
    pub fn new(client: KvClient<Turn>, turn: Turn, nsid: u32, settings: Settings, port: u16) -> Rc<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let value_bytes_max = client.value_bytes_max();
        let limits = Limits {
            arguments_max: ARGUMENTS_MAX,
            argument_bytes_max: value_bytes_max,
            command_bytes_max: value_bytes_max.saturating_add(AROUND_BYTES),
        };
        Rc::new(Self {
            store: Store::new(client, turn, nsid, now.as_micros() as u64).into(),
            clients: Clients::new(settings.clients_max, settings.memory_max),
            limits,
            port,
            begun: Instant::now(),
            replies: RefCell::default(),
            settings,
        })
    }
}
