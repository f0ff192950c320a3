//! What an optimistic transaction has read, requires and writes.

use saker_nvme::Status;
use saker_nvme::group::{Ask, Op, PairVersion, ToAsk};
use std::collections::BTreeMap;

use crate::client::TransactionRefused;
use crate::error::{HostError, KvError};

/// What a transaction requires of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    /// There is no such pair.
    Absent,
    /// There is such a pair.
    Present,
    /// It has that version: [`PairVersion::ABSENT`]: there is none.
    Version(PairVersion),
    /// It has that value.
    Value(Vec<u8>),
}

impl Require {
    fn ask(&self) -> (Ask, &[u8]) {
        match self {
            Self::Absent => (Ask::Absent, &[]),
            Self::Present => (Ask::Present, &[]),
            Self::Version(version) => (Ask::Version, &version.0),
            Self::Value(value) => (Ask::Value, value),
        }
    }
}

/// A pair as it was read: its value, if there was one, and the version that tells it from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versioned {
    /// The value; `None`: there is no such pair.
    pub value: Option<Vec<u8>>,
    /// Its version, also of absence.
    pub version: PairVersion,
}

/// What a transaction has read, requires and writes; nothing of it is at the device before it is committed.
#[derive(Clone, Debug, Default)]
pub struct TransactionSet {
    reads: BTreeMap<Vec<u8>, PairVersion>,
    requires: Vec<(Vec<u8>, Require)>,
    /// `None`: delete.
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl TransactionSet {
    /// A pair was read. The first version of a key counts.
    pub fn read(&mut self, key: &[u8], version: PairVersion) {
        self.reads.entry(key.to_vec()).or_insert(version);
    }

    /// The version that a key was read with.
    #[must_use]
    pub fn version(&self, key: &[u8]) -> Option<PairVersion> {
        self.reads.get(key).copied()
    }

    /// Requires something.
    pub fn require(&mut self, key: &[u8], what: Require) {
        self.requires.push((key.to_vec(), what));
    }

    /// Stores a pair, or deletes it. The last write of a key counts.
    pub fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.writes.insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    /// What it writes under a key.
    #[must_use]
    pub fn written(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes.get(key).map(Option::as_deref)
    }

    /// All that it writes: key, and value or `None` for a delete.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(|(k, v)| (k.as_slice(), v.as_deref()))
    }

    /// Whether the device need not be asked: it writes and requires nothing, and one read is as good as a transaction.
    pub(super) fn is_settled(&self) -> bool {
        self.writes.is_empty() && self.requires.is_empty() && self.reads.len() < 2
    }

    /// The entries: conditions, then writes. A pair that was read and is not there is not deleted.
    pub(super) fn entries(&self) -> Vec<ToAsk<'_>> {
        let reads = self.reads.iter().map(|(key, version)| -> ToAsk<'_> { (Ask::Version, key, &version.0) });
        let requires = self.requires.iter().map(|(key, what)| -> ToAsk<'_> {
            let (ask, rest) = what.ask();
            (ask, key, rest)
        });
        let write = |(key, value): (&'_ Vec<u8>, &'_ Option<Vec<u8>>)| match value {
            None => self.reads.get(key).is_none_or(|version| !version.is_absent()),
            Some(_) => true,
        };
        let writes = self.writes.iter().filter(|(key, value)| write((key, value)));
        let writes = writes.map(|(key, value)| -> ToAsk<'_> {
            match value {
                Some(value) => (Ask::Op(Op::Store), key, value),
                None => (Ask::Op(Op::Delete), key, &[]),
            }
        });
        reads.chain(requires).chain(writes).collect()
    }

    /// What a refusal means to the user.
    pub(super) fn error(&self, refused: TransactionRefused) -> HostError {
        let entries = self.entries();
        let key = entries.get(refused.place).map(|(_, key, _)| key.to_vec()).unwrap_or_default();
        let was_read = refused.place < self.reads.len();
        match refused.status {
            status if status.is(Status::PRECONDITION_FAILED) && was_read => HostError::Conflict { key },
            status if status.is(Status::PRECONDITION_FAILED) => HostError::Unmet { key },
            status => refusal(status, key),
        }
    }
}

/// Of a transaction that was refused for another reason than a condition.
pub(super) fn refusal(status: Status, key: Vec<u8>) -> HostError {
    if status.is(Status::SEVERAL_SHARDS) {
        return HostError::SeveralShards { key };
    }
    match HostError::from(status) {
        HostError::Kv(
            error @ (KvError::NotFound | KvError::ValueLength | KvError::KeyLength | KvError::Damaged),
        ) => HostError::Batch { key, error: Box::new(error.into()) },
        error => error,
    }
}
