// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What RocksDB is told of a failure.

use saker_files::{Error, FsError};

/// Bytes of an outcome's text, the NUL at its end included.
const TEXT_BYTES: usize = 508;

/// Which of RocksDB's statuses a failure becomes. The numbers are those of `saker_code` in `shim/saker_rocksdb.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// No failure.
    Ok,
    /// Nothing has this name.
    NotFound,
    /// The device is full; RocksDB stops writing, and goes on when there is room.
    NoSpace,
    /// Somebody else has the lock.
    Locked,
    /// The file system contradicts itself.
    Corruption,
    /// The caller asked for what cannot be.
    Invalid,
    /// Everything else.
    Io,
}

impl Code {
    /// Of a failure of the file system.
    pub fn of(error: &FsError) -> Self {
        match error {
            FsError::NotFound(_) => Self::NotFound,
            FsError::NoSpace(_) => Self::NoSpace,
            FsError::Locked(_) => Self::Locked,
            FsError::Damaged(_) => Self::Corruption,
            FsError::Name(_) | FsError::Geometry(_) => Self::Invalid,
            _ => Self::Io,
        }
    }
}

/// A failure that RocksDB is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub code: Code,
    /// One line for the user.
    pub text: String,
}

impl Failure {
    /// One of no kind of its own.
    pub fn io(text: String) -> Self {
        Self { code: Code::Io, text }
    }
}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        Self { code: Code::of(&error), text: error.to_string() }
    }
}

impl From<saker::Error> for Failure {
    fn from(error: saker::Error) -> Self {
        Self { code: Code::Io, text: error.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Files(error) => error.into(),
            other => Self { code: Code::Io, text: other.to_string() },
        }
    }
}

/// `saker_outcome` of the header.
#[derive(Debug)]
#[repr(C)]
pub struct Outcome {
    code: i32,
    text: [u8; TEXT_BYTES],
}

impl Outcome {
    /// Of a call that has not ended.
    #[cfg(feature = "env")]
    pub(crate) fn untold() -> Self {
        Self { code: Code::Ok as i32, text: [0; TEXT_BYTES] }
    }

    /// What a failed call said.
    #[cfg(feature = "env")]
    pub(crate) fn failure(&self) -> Failure {
        let text = self.text.split(|byte| *byte == 0).next().unwrap_or_default();
        Failure { code: Code::Io, text: String::from_utf8_lossy(text).into_owned() }
    }

    /// Says how a call ended, and returns what it gave.
    pub fn tell<T>(&mut self, done: Result<T, Failure>) -> Option<T> {
        match done {
            Ok(given) => {
                self.code = Code::Ok as i32;
                Some(given)
            }
            Err(failure) => {
                self.code = failure.code as i32;
                let fits = failure.text.floor_char_boundary(TEXT_BYTES - 1);
                self.text[..fits].copy_from_slice(&failure.text.as_bytes()[..fits]);
                self.text[fits] = 0;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome { code: -1, text: [1; TEXT_BYTES] }
    }

    #[test]
    fn each_failure_has_its_code_and_a_line() {
        let (full, gone) = (FsError::NoSpace("no block is free"), FsError::NotFound("a".into()));
        for (error, code) in [(full, 2), (gone, 1), (FsError::Locked("a".into()), 3), (FsError::Closed, 6)] {
            let mut told = outcome();
            assert_eq!(told.tell::<()>(Err(error.clone().into())), None);
            let text = error.to_string();
            assert_eq!(
                (told.code, &told.text[..=text.len()]),
                (code, [text.as_bytes(), &[0]].concat().as_slice())
            );
        }
        let mut told = outcome();
        assert_eq!((told.tell(Ok(7)), told.code), (Some(7), 0));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut told = outcome();
        told.tell::<()>(Err(Failure { code: Code::Io, text: "ä".repeat(400) }));
        let text = told.text.split(|byte| *byte == 0).next().expect("it ends");
        assert_eq!(std::str::from_utf8(text), Ok("ä".repeat(253).as_str()));
    }
}
