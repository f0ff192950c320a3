// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A failure, told so that any language can pass it on.

use crate::Class;
use saker::{CommitThroughError, Error, HostError, KvError, StoreError};
use std::fmt;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub class: Class,
    /// One line that says what to do.
    pub text: String,
    /// The key that it is about, where the device or the host names one.
    pub key: Option<Vec<u8>>,
    /// The NVMe status, `SCT << 8 | SC`, where there is one.
    pub status: Option<u16>,
}

impl Fault {
    pub(crate) fn new(class: Class, text: impl Into<String>) -> Self {
        Self { class, text: text.into(), key: None, status: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let class = match error {
            Error::Host(error) => return error.into(),
            Error::Url(_) => Class::Url,
            Error::Setting { .. } => Class::Setting,
            Error::Profile(_) => Class::Profile,
            Error::Build(_) | Error::Plan(_) => Class::Plan,
            Error::Image(_) => Class::Image,
            Error::Damaged { .. } => Class::DamagedImage,
            Error::NoNamespace { .. } | Error::OtherNamespace { .. } | Error::Missing { .. } => {
                Class::NoNamespace
            }
            Error::Remote(_) | Error::VfioUser(_) => Class::Remote,
            Error::Linux(_) => Class::Linux,
            Error::NotLocal | Error::NoSession | Error::Hybrid(_) | Error::MainTree(_) => Class::Open,
            Error::Range(_) => Class::Argument,
            Error::Backup(_) => Class::Backup,
        };
        Self::new(class, error.to_string())
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let class = match error {
            StoreError::Host(error) => return error.into(),
            StoreError::Device(error) => return error.into(),
            StoreError::Closed | StoreError::Ended | StoreError::Gone => Class::Closed,
            StoreError::Forked => Class::Forked,
            StoreError::Broken => Class::Broken,
            StoreError::ManyScans => Class::ManyScans,
            StoreError::Spaces(_) => Class::Argument,
        };
        Self::new(class, error.to_string())
    }
}

impl From<HostError> for Fault {
    fn from(error: HostError) -> Self {
        let (class, status) = judge(&error);
        Self { class, text: error.to_string(), key: key(&error), status }
    }
}

impl From<CommitThroughError<StoreError>> for Fault {
    fn from(error: CommitThroughError<StoreError>) -> Self {
        let text = error.to_string();
        match error {
            CommitThroughError::Commit(error) => error.into(),
            CommitThroughError::Unflushed(why) => Self { class: Class::Unflushed, text, ..why.into() },
        }
    }
}

/// The class and the status of an error of the host's. A write of several is told as what became of it.
fn judge(error: &HostError) -> (Class, Option<u16>) {
    let class = match error {
        HostError::Kv(kv) => return (of_kv(*kv), Some(word(kv.status()))),
        HostError::Batch { error, .. } | HostError::Queued { error, .. } => return judge(error),
        HostError::Status(status) => return (Class::Status, Some(word(*status))),
        HostError::Timeout { .. } => Class::Timeout,
        HostError::Protocol(_) => Class::Protocol,
        HostError::Submit(_) => Class::Submit,
        HostError::Memory(_) => Class::Memory,
        HostError::KeyLength(_) | HostError::NativeKeyLength(_) => Class::KeyLength,
        HostError::ReservedKey { .. } => Class::Argument,
        HostError::ValueLength { .. } => Class::ValueLength,
        HostError::Envelope { .. } => Class::Envelope,
        HostError::NoOrder => Class::NoOrder,
        HostError::Group(_) => Class::Group,
        HostError::Conflict { .. } => Class::Conflict,
        HostError::Unmet { .. } => Class::Unmet,
        HostError::NoTransactions(_) => Class::NoTransactions,
        HostError::TransactionLength { .. } => Class::TransactionLength,
        HostError::SeveralShards { .. } => Class::SeveralShards,
    };
    (class, None)
}

fn word(status: saker_nvme::Status) -> u16 {
    u16::from(status.sct()) << 8 | u16::from(status.sc())
}

const fn of_kv(error: KvError) -> Class {
    match error {
        KvError::NotFound => Class::NotFound,
        KvError::Exists => Class::Exists,
        KvError::Full => Class::Full,
        KvError::ValueLength => Class::ValueLength,
        KvError::KeyLength => Class::KeyLength,
        KvError::NotReady => Class::NotReady,
        KvError::WriteFault => Class::WriteFault,
        KvError::Formatting => Class::Formatting,
        KvError::Reserved => Class::Reserved,
        KvError::Damaged => Class::Damaged,
        KvError::Namespace => Class::Namespace,
        KvError::WriteProtected => Class::WriteProtected,
        KvError::OutcomeUnknown | KvError::Forgotten => Class::OutcomeUnknown,
        KvError::IteratorLost => Class::IteratorLost,
        KvError::Unreachable => Class::Unreachable,
        KvError::Denied => Class::Denied,
        KvError::ManyIterators => Class::ManyScans,
    }
}

fn key(error: &HostError) -> Option<Vec<u8>> {
    match error {
        HostError::Batch { key, .. }
        | HostError::Conflict { key }
        | HostError::Unmet { key }
        | HostError::SeveralShards { key }
        | HostError::ReservedKey { key } => Some(key.clone()),
        HostError::Queued { key, .. } | HostError::Envelope { key, .. } => Some(key.as_bytes().to_vec()),
        _ => None,
    }
}
