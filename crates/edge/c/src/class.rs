// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of failures, as C names them.

use saker_handle::Class;

/// Declares the codes and holds each against its class.
macro_rules! codes {
    ($($code:ident is $class:ident,)*) => {
        $(
            const _: () = assert!(saker_error::$code as i32 == Class::$class.number());
        )*
        const _: () = assert!(Class::ALL.len() == [$(Class::$class),*].len(), "a class has no code");
    };
}

/// What a call answers: `SAKER_OK` or the number of a kind of failure. Numbers stay as they are; later versions have more. `saker_error_is`
/// asks whether one is of a wider kind.
#[repr(i32)]
#[expect(non_camel_case_types, reason = "it is the name in C")]
#[derive(Clone, Copy)]
pub enum saker_error {
    /// `saker_scan_next`: there are no more pairs.
    SAKER_END = -1,
    /// Success.
    SAKER_OK = 0,
    /// Any failure.
    SAKER_ANY = 1,
    /// A device cannot be opened, or an image cannot be made: the kinds up to 19.
    SAKER_OPEN = 10,
    /// The URL makes no sense.
    SAKER_URL = 11,
    /// An option or a setting that does not suit.
    SAKER_SETTING = 12,
    /// There is no such profile.
    SAKER_PROFILE = 13,
    /// The size of a device makes no sense.
    SAKER_PLAN = 14,
    /// The image cannot be opened.
    SAKER_IMAGE = 15,
    /// The image is damaged.
    SAKER_DAMAGED_IMAGE = 16,
    /// The device has no such namespace.
    SAKER_NO_NAMESPACE = 17,
    /// The target cannot be reached.
    SAKER_REMOTE = 18,
    /// The namespace behind the kernel's driver cannot be used.
    SAKER_LINUX = 19,
    /// A backup cannot be made, read or restored.
    SAKER_BACKUP = 20,
    /// The handle cannot be used, or an argument makes no sense: the kinds up to 34. Nothing was done.
    SAKER_HANDLE = 30,
    /// It was closed, or never was a handle of this kind.
    SAKER_CLOSED = 31,
    /// It was opened by the process that forked this one.
    SAKER_FORKED = 32,
    /// A call has panicked: open the device again.
    SAKER_BROKEN = 33,
    /// An argument that no call takes: a null pointer, a buffer that is too short, an unknown flag.
    SAKER_ARGUMENT = 34,
    /// The device refused, or did not answer: all kinds from here on.
    SAKER_HOST = 50,
    /// No answer came in time.
    SAKER_TIMEOUT = 51,
    /// The device broke the protocol.
    SAKER_PROTOCOL = 52,
    /// The command could not be submitted.
    SAKER_SUBMIT = 53,
    /// The host has no memory for a queue or a buffer.
    SAKER_MEMORY = 54,
    /// A status that has no kind of its own.
    SAKER_STATUS = 55,
    /// What is stored under the mark of long keys is none of ours.
    SAKER_ENVELOPE = 56,
    /// Falling order was asked of a device that keeps none.
    SAKER_NO_ORDER = 57,
    /// An operation does not fit a group.
    SAKER_GROUP = 58,
    /// A transaction was carried out, and whether it survives a power cut is not known: look whether it is there, then flush again.
    SAKER_UNFLUSHED = 59,
    /// The answer of a key-value store: the kinds up to 87.
    SAKER_KV = 70,
    /// There is no such key.
    SAKER_NOT_FOUND = 71,
    /// The key exists, and should not.
    SAKER_EXISTS = 72,
    /// No room: reads and deletes still work.
    SAKER_FULL = 73,
    /// The value is too long.
    SAKER_VALUE_LENGTH = 74,
    /// The key is empty or too long.
    SAKER_KEY_LENGTH = 75,
    /// The device cannot take this now: try again later.
    SAKER_NOT_READY = 76,
    /// The device could not write to its storage.
    SAKER_WRITE_FAULT = 77,
    /// The namespace is being formatted: try again later.
    SAKER_FORMATTING = 78,
    /// Another host has reserved the namespace.
    SAKER_RESERVED = 79,
    /// The stored value is damaged.
    SAKER_DAMAGED = 80,
    /// No such key-value namespace.
    SAKER_NAMESPACE = 81,
    /// The namespace is write protected.
    SAKER_WRITE_PROTECTED = 82,
    /// The connection was lost: whether the write took place is not known. Read, then decide.
    SAKER_OUTCOME_UNKNOWN = 83,
    /// The connection was lost, and the iterator with it.
    SAKER_ITERATOR_LOST = 84,
    /// The device cannot be reached: nothing was written.
    SAKER_UNREACHABLE = 85,
    /// The target does not let this host do that.
    SAKER_DENIED = 86,
    /// The device has as many scans under way as it can have: close one, then try again.
    SAKER_MANY_SCANS = 87,
    /// A transaction was not carried out, and nothing was done: the kinds up to 105.
    SAKER_TRANSACTION = 100,
    /// A pair that it read has changed: begin again.
    SAKER_CONFLICT = 101,
    /// What it requires does not hold.
    SAKER_UNMET = 102,
    /// There are no transactions here.
    SAKER_NO_TRANSACTIONS = 103,
    /// It does not fit a command.
    SAKER_TRANSACTION_LENGTH = 104,
    /// Its keys are in several shards.
    SAKER_SEVERAL_SHARDS = 105,
}

codes! {
    SAKER_ANY is Any,
    SAKER_OPEN is Open,
    SAKER_URL is Url,
    SAKER_SETTING is Setting,
    SAKER_PROFILE is Profile,
    SAKER_PLAN is Plan,
    SAKER_IMAGE is Image,
    SAKER_DAMAGED_IMAGE is DamagedImage,
    SAKER_NO_NAMESPACE is NoNamespace,
    SAKER_REMOTE is Remote,
    SAKER_LINUX is Linux,
    SAKER_BACKUP is Backup,
    SAKER_HANDLE is Handle,
    SAKER_CLOSED is Closed,
    SAKER_FORKED is Forked,
    SAKER_BROKEN is Broken,
    SAKER_ARGUMENT is Argument,
    SAKER_HOST is Host,
    SAKER_TIMEOUT is Timeout,
    SAKER_PROTOCOL is Protocol,
    SAKER_SUBMIT is Submit,
    SAKER_MEMORY is Memory,
    SAKER_STATUS is Status,
    SAKER_ENVELOPE is Envelope,
    SAKER_NO_ORDER is NoOrder,
    SAKER_GROUP is Group,
    SAKER_UNFLUSHED is Unflushed,
    SAKER_KV is Kv,
    SAKER_NOT_FOUND is NotFound,
    SAKER_EXISTS is Exists,
    SAKER_FULL is Full,
    SAKER_VALUE_LENGTH is ValueLength,
    SAKER_KEY_LENGTH is KeyLength,
    SAKER_NOT_READY is NotReady,
    SAKER_WRITE_FAULT is WriteFault,
    SAKER_FORMATTING is Formatting,
    SAKER_RESERVED is Reserved,
    SAKER_DAMAGED is Damaged,
    SAKER_NAMESPACE is Namespace,
    SAKER_WRITE_PROTECTED is WriteProtected,
    SAKER_OUTCOME_UNKNOWN is OutcomeUnknown,
    SAKER_ITERATOR_LOST is IteratorLost,
    SAKER_UNREACHABLE is Unreachable,
    SAKER_DENIED is Denied,
    SAKER_MANY_SCANS is ManyScans,
    SAKER_TRANSACTION is Transaction,
    SAKER_CONFLICT is Conflict,
    SAKER_UNMET is Unmet,
    SAKER_NO_TRANSACTIONS is NoTransactions,
    SAKER_TRANSACTION_LENGTH is TransactionLength,
    SAKER_SEVERAL_SHARDS is SeveralShards,
}
