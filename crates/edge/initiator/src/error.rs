//! Why a target cannot be reached or used.

use saker_nvme::Status;
use saker_nvme_tcp::initiator::Ended;
use thiserror::Error;

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
    /// A name that does not fit its field.
    #[error("`{0}` is no qualified name; it has 1 to 223 bytes")]
    Name(String),
}
