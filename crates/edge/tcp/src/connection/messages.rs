// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What connections and subsystems say to each other.

use std::sync::Arc;

use saker_auth::Worked;
use saker_nvme::Sqe;
use saker_nvme::fabrics::{Connect, ConnectData};
use saker_nvme::vendor_specific::Counter;
use saker_nvme_tcp::target::Command;
use saker_target::{Access, Answer, Bound, ConnectionId, Hosts, NamespaceRates, Policies, Refusal};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Guest;
use crate::memory::Seat;
use crate::turn::Turn;

/// What a connection asks of its subsystem.
#[derive(Debug)]
pub(crate) enum Request {
    /// Serve this connection from now on: it has asked to be connected here.
    Adopt(Box<Guest>),
    /// Connect: by which port, and where the answers go.
    Connect(ConnectionId, u16, Connect, Box<ConnectData>, UnboundedSender<Reply>),
    /// Commands of a connected queue.
    Commands(ConnectionId, Vec<Command>),
    /// Entries that were answered with an error before their data was whole.
    Refused(ConnectionId, Vec<Sqe>),
    /// The work for an authentication is done: connection, and token of the command.
    Worked(ConnectionId, u16, Worked),
    /// Close once what was asked before has been answered.
    Drain(ConnectionId),
    /// The connection is gone. What it held stays counted while the device works for it.
    Closed(ConnectionId, Seat),
    /// Namespaces are reached by a port as well as this from now on.
    Access(u16, Access),
    /// Who may connect from now on, what hosts have to prove, may do and may ask in a second, and what namespaces may be asked.
    Hosts(Hosts, Policies, NamespaceRates),
    /// Say that you go on.
    Pulse(std::sync::mpsc::Sender<()>),
    /// Tell everything that is counted.
    Counters(oneshot::Sender<Vec<Counter>>),
    /// The server stops.
    Stop,
}

/// What it answers.
#[derive(Debug)]
pub(crate) enum Reply {
    /// To Connect; with the turns of the host.
    Connected(Result<(Bound, Arc<Turn>), Refusal>),
    /// The queue has authenticated: it may do everything.
    Admitted,
    /// Bytes of memory that all queues of the host may hold from now on, beyond what each has for itself.
    Memory(Option<usize>),
    /// Completions, by token.
    Completed(Vec<(u16, Answer)>),
    /// Close the connection once everything is sent.
    Close,
}
