// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a request is refused.

use std::io;

use saker_link::ForeignError;
use saker_pcie::function::AccessError;
use saker_pcie::message::MessageError;

/// An errno and what it is about.
pub(crate) struct Refused {
    pub(crate) errno: i32,
    pub(crate) why: String,
}

impl Refused {
    pub(crate) fn new(errno: i32, why: &dyn std::fmt::Display) -> Self {
        Self { errno, why: why.to_string() }
    }
}

impl From<MessageError> for Refused {
    fn from(error: MessageError) -> Self {
        let errno = if let MessageError::Command(_) = error { libc::EOPNOTSUPP } else { libc::EINVAL };
        Self::new(errno, &error)
    }
}

impl From<AccessError> for Refused {
    fn from(error: AccessError) -> Self {
        Self::new(libc::EINVAL, &error)
    }
}

impl From<ForeignError> for Refused {
    fn from(error: ForeignError) -> Self {
        let errno = match error {
            ForeignError::Overlap { .. } => libc::EEXIST,
            ForeignError::NotMapped { .. } => libc::ENOENT,
            ForeignError::TooMany(_) => libc::ENOSPC,
            ForeignError::Range { .. } => libc::EINVAL,
        };
        Self::new(errno, &error)
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::new(error.raw_os_error().unwrap_or(libc::EINVAL), &error)
    }
}

pub(crate) fn no_such(what: &str, index: u32) -> Refused {
    Refused::new(libc::EINVAL, &format!("there is no {what} {index}"))
}
