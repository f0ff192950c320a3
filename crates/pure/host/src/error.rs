// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong, and the one table from NVMe status to meaning.

use saker_link::{ArenaFull, CompletionError, MapError, PoolError, RegisterError, RingError};
use saker_nvme::kv_list::ListError;
use saker_nvme::{Key, KeyLengthError, Status};
use thiserror::Error;

use crate::kv_queue::SubmitError;
use saker_long_keys::EnvelopeError;

/// Everything a call of this crate can fail with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The device refused a key-value command for a reason of the store.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// The device completed the command with a status that has no entry in [`KvError`].
    #[error("the device answered: {0}")]
    Status(Status),
    /// No answer came. The command may still be executed.
    #[error("no answer after {turns} turns")]
    Timeout {
        /// Turns waited.
        turns: u64,
    },
    /// The device broke the protocol.
    #[error("protocol violation: {0}")]
    Protocol(#[from] ProtocolError),
    /// The command could not be submitted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The host has no memory for a queue or a buffer.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A key of no bytes, or of more than 255.
    #[error("a key has 1 to 255 bytes, not {0}")]
    KeyLength(usize),
    /// A key of no bytes, or of more than 16, where long keys are not taken: by sessions, caches, and names of groups.
    #[error(transparent)]
    NativeKeyLength(#[from] KeyLengthError),
    /// A pair was to be stored under a key of 16 bytes that begins with those of the device's own pairs. Nothing was stored.
    #[error(
        "\"{}\" begins with the bytes reserved for outcomes of transactions (16 bytes, from FFh TSKRX on); choose another key",
        key.escape_ascii()
    )]
    ReservedKey {
        /// The key.
        key: Vec<u8>,
    },
    /// The value does not fit, whatever the device's free space.
    #[error("a value of {bytes} bytes is too long: the limit here is {bytes_max}")]
    ValueLength {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes that fit.
        bytes_max: usize,
    },
    /// What is stored under a device key with the mark of long keys is no envelope of ours.
    #[error("the value of {key} is no envelope of long keys: {error}")]
    Envelope {
        /// The device key.
        key: Key,
        /// What is wrong with it.
        error: EnvelopeError,
    },
    /// Falling order was asked of a device that has no iterators, or whose iterators only rise.
    #[error("the device keeps no order of keys to go back in")]
    NoOrder,
    /// An operation cannot be added to a group.
    #[error(transparent)]
    Group(#[from] saker_nvme::group::Refused),
    /// A write of a batch failed.
    #[error("the batch's write of \"{}\" failed: {error}", key.escape_ascii())]
    Batch {
        /// Key of the first write that failed.
        key: Vec<u8>,
        /// Why it did.
        error: Box<HostError>,
    },
    /// A transaction read a pair that has changed since. Nothing was done; begin again.
    #[error("\"{}\" has changed since the transaction read it; nothing was done, begin again", key.escape_ascii())]
    Conflict {
        /// Its key.
        key: Vec<u8>,
    },
    /// A transaction requires something that does not hold. Nothing was done.
    #[error("what the transaction requires of \"{}\" does not hold; nothing was done", key.escape_ascii())]
    Unmet {
        /// Of that key.
        key: Vec<u8>,
    },
    /// There are no transactions here. Nothing was done.
    #[error("no transactions: {0}")]
    NoTransactions(&'static str),
    /// A transaction does not fit a command, or what it writes does not fit a record: with the hash FTLs each write takes whole grains. Nothing
    /// was done.
    #[error(
        "a transaction of {bytes} bytes is too long: the device takes at most {bytes_max} at once, with what stands beside each write"
    )]
    TransactionLength {
        /// Its bytes.
        bytes: usize,
        /// Bytes that fit.
        bytes_max: usize,
    },
    /// The keys of a transaction are not all in one shard of the device. Nothing was done.
    #[error("\"{}\" is in another shard of the device than the transaction's first key; nothing was done", key.escape_ascii())]
    SeveralShards {
        /// One that is in another shard than the first.
        key: Vec<u8>,
    },
    /// A queued write failed; reported by `drain`.
    #[error("the queued write of {key} failed: {error}")]
    Queued {
        /// Key of the first write that failed.
        key: Key,
        /// Why it did.
        error: Box<HostError>,
    },
}

/// The answers of a key-value store, apart from success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum KvError {
    /// 87h: there is no such key.
    #[error("the key does not exist")]
    NotFound,
    /// 89h: the key exists and the store asked that it should not.
    #[error("the key exists")]
    Exists,
    /// 81h: no room. Reads and deletes still work.
    #[error("the device is full")]
    Full,
    /// 85h: the value is longer than the namespace's format allows.
    #[error("the value is too long for the namespace")]
    ValueLength,
    /// 86h: the key is empty or longer than the namespace's format allows.
    #[error("the key's length does not suit the namespace")]
    KeyLength,
    /// 82h: nothing was changed, and what is stored stays; reads work once the device has started. Try again later.
    #[error(
        "the device cannot take this now: the file system of its image is full, or it is still starting; make room on \
         the file system that the device's log names, then try again"
    )]
    NotReady,
    /// SCT 2, 80h: the device's storage failed. With DNR it stays so until the device is opened again.
    #[error(
        "the device could not write to its storage: what no flush has confirmed may be lost; see to what the device's \
         log names, then open it again"
    )]
    WriteFault,
    /// 84h: try again later.
    #[error("the namespace is being formatted")]
    Formatting,
    /// 83h: another host holds a reservation.
    #[error("another host has reserved the namespace")]
    Reserved,
    /// 88h: the stored value is damaged.
    #[error("the value cannot be read")]
    Damaged,
    /// 0Bh: no such namespace, or not one of key-value pairs.
    #[error("no such key-value namespace")]
    Namespace,
    /// Generic 20h.
    #[error("the namespace is write protected")]
    WriteProtected,
    /// Generic 15h.
    #[error("the target does not let this host do that")]
    Denied,
    /// SCT 3, 71h, made at the host: the connection was lost after a write had been sent.
    #[error("the connection was lost; whether the write took place is not known")]
    OutcomeUnknown,
    /// SCT 7, C5h: the device remembers the last 4,096 numbers of a host, and this one is older.
    #[error(
        "the device has forgotten what became of the transaction: it remembers the last 4,096 numbers of a host; nothing was done now"
    )]
    Forgotten,
    /// SCT 3, 71h, made at the host for a command of an iterator, or a moment that the device has given up: only reads are lost.
    #[error("the iterator was lost: with its connection, or the device has given up what it saw")]
    IteratorLost,
    /// 81h to a command that opens an iterator: it takes no room, but the device has as many as it allows this host.
    #[error(
        "the device has as many iterators open as it allows, which are 16 a queue: end one, then try again"
    )]
    ManyIterators,
    /// SCT 3, 70h, made at the host: there is no connection; the command was not executed, or only read.
    #[error("the device cannot be reached")]
    Unreachable,
}

/// Status (SCT and SC) to meaning. Every other status stays [`HostError::Status`].
const MEANINGS: [(Status, KvError); 16] = [
    (Status::KEY_DOES_NOT_EXIST, KvError::NotFound),
    (Status::KEY_EXISTS, KvError::Exists),
    (Status::CAPACITY_EXCEEDED, KvError::Full),
    (Status::INVALID_VALUE_SIZE, KvError::ValueLength),
    (Status::INVALID_KEY_SIZE, KvError::KeyLength),
    (Status::NAMESPACE_NOT_READY, KvError::NotReady),
    (Status::WRITE_FAULT, KvError::WriteFault),
    (Status::FORMAT_IN_PROGRESS, KvError::Formatting),
    (Status::RESERVATION_CONFLICT, KvError::Reserved),
    (Status::UNRECOVERED_ERROR, KvError::Damaged),
    (Status::INVALID_NAMESPACE_OR_FORMAT, KvError::Namespace),
    (Status::NAMESPACE_WRITE_PROTECTED, KvError::WriteProtected),
    (Status::OPERATION_DENIED, KvError::Denied),
    (Status::ABORTED_BY_HOST, KvError::OutcomeUnknown),
    (Status::OUTCOME_UNKNOWN, KvError::Forgotten),
    (Status::HOST_PATHING_ERROR, KvError::Unreachable),
];

impl KvError {
    /// The status it stands for.
    #[must_use]
    pub fn status(self) -> Status {
        let in_table = match self {
            Self::IteratorLost => Self::OutcomeUnknown,
            Self::ManyIterators => Self::Full,
            other => other,
        };
        let known = MEANINGS.iter().find(|(_, error)| *error == in_table);
        known.map_or(Status::INTERNAL_ERROR, |(status, _)| *status)
    }
}

impl From<Status> for HostError {
    #[cold]
    fn from(status: Status) -> Self {
        let meaning = MEANINGS.iter().find(|(known, _)| status.is(*known));
        meaning.map_or(Self::Status(status), |(_, error)| Self::Kv(*error))
    }
}

/// Success, or the error that `status` means.
#[inline]
pub(crate) fn check(status: Status) -> Result<(), HostError> {
    if status.is_success() { Ok(()) } else { Err(status.into()) }
}

impl HostError {
    /// Whether the error says that there is no such key.
    #[inline]
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Kv(KvError::NotFound))
    }
}

/// What no controller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// Results of a group are not as long as they say.
    #[error("the device returned results that are none")]
    Group,
    /// A completion for no command in flight.
    #[error(transparent)]
    Completion(#[from] CompletionError),
    /// CSTS.CFS.
    #[error("the controller reports a fatal status")]
    Fatal,
    /// The controller needs memory pages larger than 4 KiB (CAP.MPSMIN).
    #[error("the controller does not support pages of 4 KiB")]
    PageSize,
    /// The controller has no I/O command sets besides NVM (CAP.CSS bit 6).
    #[error("the controller does not support I/O command sets")]
    CommandSets,
    /// No combination of command sets (CNS 1Ch) has the key-value set.
    #[error("no combination of command sets contains the key-value set")]
    NoKvCommandSet,
    /// The controller granted no I/O queue, or all it granted are in use.
    #[error("the controller grants no further I/O queue")]
    Queues,
    /// The namespace has no key-value format, or one that is unavailable.
    #[error("the namespace has no usable key-value format")]
    Format,
    /// A List answer that cannot be read.
    #[error("List: {0}")]
    List(#[from] ListError),
    /// A List answer that names the key it begins with again later: the order is not total.
    #[error("List: the first key came back further on")]
    ListOrder,
    /// The size of a value kept growing while it was read.
    #[error("the value's size changed at every attempt to read it")]
    UnstableSize,
    /// An earlier admin command got no answer, so that the state of the admin queue is unknown.
    #[error("the admin queue is out of step")]
    AdminQueue,
}

impl From<CompletionError> for HostError {
    #[cold]
    fn from(error: CompletionError) -> Self {
        Self::Protocol(error.into())
    }
}

/// What the host's memory lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// The DMA arena.
    #[error(transparent)]
    Arena(#[from] ArenaFull),
    /// A queue that cannot be built.
    #[error(transparent)]
    PageBuffer(#[from] RingError),
    /// Slots for commands.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A buffer that cannot be lent to the device.
    #[error(transparent)]
    Map(#[from] MapError),
    /// No register at an address that every controller has.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

macro_rules! memory_errors {
    ($($kind:ty),*) => {
        $(impl From<$kind> for HostError {
            #[cold]
            fn from(error: $kind) -> Self {
                Self::Memory(error.into())
            }
        })*
    };
}
memory_errors!(ArenaFull, RingError, PoolError, MapError, RegisterError);

impl From<ListError> for HostError {
    #[cold]
    fn from(error: ListError) -> Self {
        Self::Protocol(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iterator_too_many_is_not_a_full_device() {
        let status = Status::CAPACITY_EXCEEDED;
        assert_eq!(check(status), Err(HostError::Kv(KvError::Full)));
        assert_eq!(crate::client::check_iterator(status), Err(HostError::Kv(KvError::ManyIterators)));
        assert!(KvError::ManyIterators.status().is(status) && KvError::Full.status().is(status));
    }

    #[test]
    fn every_kv_status_has_its_meaning_whatever_dnr_says() {
        // SC values of KV 1.0d, Figure 4, and of the Base specification, written out.
        let expected = [
            (0x0B, KvError::Namespace),
            (0x20, KvError::WriteProtected),
            (0x15, KvError::Denied),
            (0x81, KvError::Full),
            (0x82, KvError::NotReady),
            (0x83, KvError::Reserved),
            (0x84, KvError::Formatting),
            (0x85, KvError::ValueLength),
            (0x86, KvError::KeyLength),
            (0x87, KvError::NotFound),
            (0x88, KvError::Damaged),
            (0x89, KvError::Exists),
        ];
        for (sc, meaning) in expected {
            for dnr in [false, true] {
                let status = Status::new(0, sc).with_do_not_retry(dnr);
                assert_eq!(HostError::from(status), HostError::Kv(meaning));
            }
        }
    }

    #[test]
    fn the_same_code_of_another_type_is_something_else() {
        let media = Status::new(2, 0x81);
        assert_eq!(HostError::from(media), HostError::Status(media));
        assert_eq!(check(Status::INVALID_FIELD), Err(HostError::Status(Status::INVALID_FIELD)));
        assert_eq!(check(Status::SUCCESS), Ok(()));
    }
}
