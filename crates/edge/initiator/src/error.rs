// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a target cannot be reached or used.

use saker_auth::HostError;
use saker_nvme::Status;
use saker_nvme_tcp::initiator::Ended;
use thiserror::Error;

use crate::secrets::SecretFileError;

/// Why a target cannot be reached or used. One line, with what to do.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The name of the host cannot be resolved.
    #[error("{0} is no address that can be reached; write tcp://HOST:PORT/NQN")]
    Address(String),
    /// The socket failed.
    #[error("{0}; is the target running there?")]
    Socket(#[from] std::io::Error),
    /// The target closed the connection.
    #[error("the target closed the connection; see its messages")]
    Closed,
    /// The protocol was broken, or the target ended the connection.
    #[error("{0}; see the target's messages")]
    Ended(#[from] Ended),
    /// No answer in time.
    #[error("the target does not answer; see whether it is busy")]
    Timeout,
    /// A command of the connection's making was refused.
    #[error("the target refused: {0}; check the NQN and whether this host is allowed")]
    Refused(Status),
    /// The controller does not become ready.
    #[error("the controller reports a fatal status; see the target's messages")]
    Fatal,
    /// Discovery names no subsystem, or several.
    #[error("discovery names {0}; write one behind the address: tcp://HOST:PORT/NQN")]
    Discovery(String),
    /// The target wants to know who this host is.
    #[error(
        "the target wants this host to authenticate; add secret_file=FILE to the URL, and hostnqn= if it has another name"
    )]
    NoSecret,
    /// The target is to authenticate and does not.
    #[error(
        "the target does not offer to prove who it is; leave ctrl_secret_file out if you trust the network"
    )]
    NoProof,
    /// The target wants TLS.
    #[error("the target wants a secure channel, which this build does not have; ask for one without TLS")]
    SecureChannel,
    /// Authentication has failed.
    #[error("{0}; check hostnqn, secret_file and ctrl_secret_file against the target's configuration")]
    Authentication(#[from] HostError),
    /// A file with a secret cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretFileError),
    /// A name that does not fit its field.
    #[error("`{0}` is no qualified name; it has 1 to 223 bytes")]
    Name(String),
}
