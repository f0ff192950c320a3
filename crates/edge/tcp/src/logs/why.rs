// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a host was refused, or a connection ended, in words.

use std::fmt;

use saker_nvme::Status;
use saker_nvme::fabrics::InvalidParameter;
use saker_nvme::tcp::FatalError;
use saker_target::Refusal;

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// The host closed it.
    ByHost,
    /// The system says that it failed.
    Socket(std::io::ErrorKind),
    /// The host broke the protocol.
    Protocol(FatalError),
    /// It stood still while others waited for memory.
    Memory,
    /// The host did not take its last answers in time.
    Unread,
    /// No queue was connected in time.
    Late,
    /// It did not authenticate in time.
    Unproved,
    /// Newcomers needed its place.
    Cut,
    /// The subsystem closed it: its host is gone or asked for it, or the server stops.
    BySubsystem,
}

impl Ended {
    /// Whether the host's end went.
    pub const fn is_of_host(&self) -> bool {
        matches!(self, Self::ByHost | Self::Socket(_))
    }

    /// What the system says of a socket.
    pub fn of(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::ByHost,
            kind => Self::Socket(kind),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByHost => "the host closed it",
            Self::Socket(kind) => return write!(f, "the connection failed: {kind}"),
            Self::Protocol(what) => return write!(f, "the host broke the protocol: {what:?}"),
            Self::Memory => "the host neither read nor sent while others waited for memory",
            Self::Unread => "the host did not read its last answers in time",
            Self::Late => "no queue was connected in time",
            Self::Unproved => "it did not authenticate in time",
            Self::Cut => "its place was needed for a newcomer",
            Self::BySubsystem => "the target closed it",
        })
    }
}

/// Why Connect was refused.
pub(crate) fn refusal(refusal: &Refusal) -> String {
    let of = |parameter| *refusal == Refusal::from(parameter);
    let parameters = [
        (InvalidParameter::SUBNQN, "there is no subsystem of that name"),
        (InvalidParameter::HOSTNQN, "the host's name is none, or not that of its controller"),
        (InvalidParameter::HOSTID, "the host's identifier is not that of its controller"),
        (InvalidParameter::CNTLID, "there is no such controller"),
        (InvalidParameter::QID, "there is no such queue"),
        (InvalidParameter::SQSIZE, "no queue can have that size"),
    ];
    if refusal.status.is(Status::CONNECT_INVALID_HOST) {
        return "the host is not allowed".into();
    }
    if refusal.status.is(Status::CONNECT_CONTROLLER_BUSY) {
        return "it has as many queues as it may have (connections_max), or there are no more controllers"
            .into();
    }
    let known = parameters.into_iter().find(|(parameter, _)| of(*parameter));
    known.map_or_else(|| refusal.status.to_string(), |(_, why)| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        let why = |r: Refusal| refusal(&r);
        assert_eq!(why(Status::CONNECT_INVALID_HOST.into()), "the host is not allowed");
        assert_eq!(why(InvalidParameter::SUBNQN.into()), "there is no subsystem of that name");
        assert_ne!(why(InvalidParameter::QID.into()), why(InvalidParameter::SQSIZE.into()));
        assert!(why(Status::CONNECT_CONTROLLER_BUSY.into()).contains("connections_max"));
        assert!(why(Status::COMMAND_SEQUENCE_ERROR.into()).contains("SC "));
    }
}
