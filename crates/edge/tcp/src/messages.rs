//! What connections and subsystems say to each other.

use saker_nvme::fabrics::{Connect, ConnectData};
use saker_nvme_tcp::target::Command;
use saker_target::{Answer, Bound, ConnectionId, Refusal};
use tokio::sync::mpsc::UnboundedSender;

use crate::connection::Guest;

/// What a connection asks of its subsystem.
#[derive(Debug)]
pub(crate) enum Request {
    /// Serve this connection from now on: it has asked to be connected here.
    Adopt(Box<Guest>),
    /// Connect, and where the answers go.
    Connect(ConnectionId, Connect, Box<ConnectData>, UnboundedSender<Reply>),
    /// Commands of a connected queue.
    Commands(ConnectionId, Vec<Command>),
    /// Close once what was asked before has been answered.
    Drain(ConnectionId),
    /// The connection is gone.
    Closed(ConnectionId),
    /// The server stops.
    Stop,
}

/// What it answers.
#[derive(Debug)]
pub(crate) enum Reply {
    /// To Connect.
    Connected(Result<Bound, Refusal>),
    /// Completions, by token.
    Completed(Vec<(u16, Answer)>),
    /// Close the connection once everything is sent.
    Close,
}
