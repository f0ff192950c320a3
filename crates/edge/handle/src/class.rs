// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kinds of failures, by names and numbers that every binding shares.

/// Declares the classes in the order of their numbers: name, parent, number.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident($name:literal, $parent:ident) = $number:literal,)*) => {
        /// What kind of failure it is. Numbers and names stay as they are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Class {
            $($(#[$doc])* $class = $number,)*
        }

        impl Class {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// Its name in languages that have classes of exceptions.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }

            /// The class that it is one of; [`Class::Any`] is one of itself.
            #[must_use]
            pub const fn parent(self) -> Self {
                match self {
                    $(Self::$class => Self::$parent,)*
                }
            }
        }
    };
}

classes! {
    /// Anything that failed.
    Any("SakerError", Any) = 1,

    /// A device cannot be opened, or an image cannot be made.
    Open("OpenError", Any) = 10,
    /// The URL makes no sense.
    Url("UrlError", Open) = 11,
    /// An option or a setting that does not suit.
    Setting("SettingError", Open) = 12,
    /// There is no such profile.
    Profile("ProfileError", Open) = 13,
    /// The size or the division of a device makes no sense.
    Plan("PlanError", Open) = 14,
    /// The image cannot be opened.
    Image("ImageError", Open) = 15,
    /// The image is damaged.
    DamagedImage("DamagedImageError", Open) = 16,
    /// The device has no such namespace.
    NoNamespace("NoNamespaceError", Open) = 17,
    /// The target cannot be reached.
    Remote("RemoteError", Open) = 18,
    /// The namespace behind the kernel's driver cannot be used.
    Linux("LinuxError", Open) = 19,
    /// A backup cannot be made, read or restored.
    Backup("BackupError", Any) = 20,

    /// The handle cannot be used, whatever the device says.
    Handle("HandleError", Any) = 30,
    /// It was closed.
    Closed("ClosedError", Handle) = 31,
    /// It was opened by the process that forked this one.
    Forked("ForkedError", Handle) = 32,
    /// A call on it has panicked.
    Broken("BrokenError", Handle) = 33,
    /// An argument that no call takes.
    Argument("ArgumentError", Handle) = 34,

    /// The device refused, or did not answer.
    Host("HostError", Any) = 50,
    /// No answer came in time.
    Timeout("DeviceTimeoutError", Host) = 51,
    /// The device broke the protocol.
    Protocol("ProtocolError", Host) = 52,
    /// The command could not be submitted.
    Submit("SubmitError", Host) = 53,
    /// The host has no memory for a queue or a buffer.
    Memory("HostMemoryError", Host) = 54,
    /// The device completed the command with a status that has no class.
    Status("StatusError", Host) = 55,
    /// What is stored under the mark of long keys is none of ours.
    Envelope("EnvelopeError", Host) = 56,
    /// Falling order was asked of a device that keeps none.
    NoOrder("NoOrderError", Host) = 57,
    /// An operation does not fit a group.
    Group("GroupError", Host) = 58,
    /// A transaction was carried out, and whether it survives a power cut is not known.
    Unflushed("UnflushedError", Host) = 59,

    /// The answer of a key-value store.
    Kv("KvError", Host) = 70,
    /// There is no such key.
    NotFound("KeyNotFoundError", Kv) = 71,
    /// The key exists, and should not.
    Exists("KeyExistsError", Kv) = 72,
    /// No room.
    Full("CapacityExceededError", Kv) = 73,
    /// The value is too long.
    ValueLength("ValueTooLongError", Kv) = 74,
    /// The key is empty or too long.
    KeyLength("KeyLengthError", Kv) = 75,
    /// The device cannot take this now.
    NotReady("NotReadyError", Kv) = 76,
    /// The device could not write to its storage.
    WriteFault("WriteFaultError", Kv) = 77,
    /// The namespace is being formatted.
    Formatting("FormattingError", Kv) = 78,
    /// Another host has reserved the namespace.
    Reserved("ReservedError", Kv) = 79,
    /// The stored value is damaged.
    Damaged("DamagedValueError", Kv) = 80,
    /// No such key-value namespace.
    Namespace("NamespaceError", Kv) = 81,
    /// The namespace is write protected.
    WriteProtected("WriteProtectedError", Kv) = 82,
    /// The connection was lost: whether the write took place is not known.
    OutcomeUnknown("OutcomeUnknownError", Kv) = 83,
    /// The connection was lost, and the iterator with it.
    IteratorLost("IteratorLostError", Kv) = 84,
    /// The device cannot be reached.
    Unreachable("UnreachableError", Kv) = 85,
    /// The target does not let this host do that.
    Denied("AccessDeniedError", Kv) = 86,
    /// The device has as many scans under way as it can have.
    ManyScans("TooManyScansError", Kv) = 87,

    /// A transaction was not carried out: nothing was done.
    Transaction("TransactionError", Host) = 100,
    /// A pair that it read has changed.
    Conflict("ConflictError", Transaction) = 101,
    /// What it requires does not hold.
    Unmet("UnmetError", Transaction) = 102,
    /// There are no transactions here.
    NoTransactions("NoTransactionsError", Transaction) = 103,
    /// It does not fit a command.
    TransactionLength("TransactionTooLongError", Transaction) = 104,
    /// Its keys are in several shards.
    SeveralShards("SeveralShardsError", Transaction) = 105,
}

impl Class {
    /// Its number, which is never 0.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Whether it is `other` or one of it.
    #[must_use]
    pub fn is(self, other: Self) -> bool {
        self == other || (self != Self::Any && self.parent().is(other))
    }
}
