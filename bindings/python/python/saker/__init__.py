# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Key-value SSDs in user space.

>>> import saker
>>> with saker.open("mem:?size=64MiB&profile=tiny") as store:
...     store[b"key"] = b"value"
...     store[b"key"]
b'value'

``docs/python.md`` is the page for users.
"""

from __future__ import annotations

from saker import errors
from saker._saker import Batch, Keys, KvCache, Pairs, Transaction, create
from saker._store import Store
from saker.errors import (
    SakerError,
    OpenError,
    UrlError,
    SettingError,
    ProfileError,
    PlanError,
    ImageError,
    DamagedImageError,
    NoNamespaceError,
    RemoteError,
    LinuxError,
    BackupError,
    HandleError,
    ClosedError,
    ForkedError,
    BrokenError,
    ArgumentError,
    HostError,
    DeviceTimeoutError,
    ProtocolError,
    SubmitError,
    HostMemoryError,
    StatusError,
    EnvelopeError,
    NoOrderError,
    GroupError,
    UnflushedError,
    KvError,
    KeyNotFoundError,
    KeyExistsError,
    CapacityExceededError,
    ValueTooLongError,
    KeyLengthError,
    NotReadyError,
    WriteFaultError,
    FormattingError,
    ReservedError,
    DamagedValueError,
    NamespaceError,
    WriteProtectedError,
    OutcomeUnknownError,
    IteratorLostError,
    UnreachableError,
    AccessDeniedError,
    TooManyScansError,
    TransactionError,
    ConflictError,
    UnmetError,
    NoTransactionsError,
    TransactionTooLongError,
    SeveralShardsError,
)


def open(url: str) -> Store:  # noqa: A001
    """Opens the device of a URL: ``mem:``, ``file:disk.img``, ``tcp://HOST:PORT/NQN`` or ``/dev/ng0n1``."""
    return Store(url)


__all__ = [
    "Batch",
    "Keys",
    "KvCache",
    "Pairs",
    "Store",
    "Transaction",
    "create",
    "errors",
    "open",
    "SakerError",
    "OpenError",
    "UrlError",
    "SettingError",
    "ProfileError",
    "PlanError",
    "ImageError",
    "DamagedImageError",
    "NoNamespaceError",
    "RemoteError",
    "LinuxError",
    "BackupError",
    "HandleError",
    "ClosedError",
    "ForkedError",
    "BrokenError",
    "ArgumentError",
    "HostError",
    "DeviceTimeoutError",
    "ProtocolError",
    "SubmitError",
    "HostMemoryError",
    "StatusError",
    "EnvelopeError",
    "NoOrderError",
    "GroupError",
    "UnflushedError",
    "KvError",
    "KeyNotFoundError",
    "KeyExistsError",
    "CapacityExceededError",
    "ValueTooLongError",
    "KeyLengthError",
    "NotReadyError",
    "WriteFaultError",
    "FormattingError",
    "ReservedError",
    "DamagedValueError",
    "NamespaceError",
    "WriteProtectedError",
    "OutcomeUnknownError",
    "IteratorLostError",
    "UnreachableError",
    "AccessDeniedError",
    "TooManyScansError",
    "TransactionError",
    "ConflictError",
    "UnmetError",
    "NoTransactionsError",
    "TransactionTooLongError",
    "SeveralShardsError",
]
