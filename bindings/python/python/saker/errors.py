# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Exceptions. ``SakerError`` is the base of all; each status of a device has a class of its own.

::

    SakerError
    ├── OpenError                    a device cannot be opened, or an image cannot be made
    │   ├── UrlError (ValueError), SettingError (ValueError), ProfileError, PlanError
    │   ├── ImageError, DamagedImageError, NoNamespaceError
    │   └── RemoteError (ConnectionError), LinuxError
    ├── BackupError                  a backup cannot be made, read or restored
    ├── HandleError                  the object cannot be used
    │   ├── ClosedError (ValueError), ForkedError (RuntimeError), BrokenError (RuntimeError)
    │   └── ArgumentError (ValueError)
    └── HostError                    the device refused, or did not answer
        ├── DeviceTimeoutError (TimeoutError), ProtocolError, SubmitError, HostMemoryError (MemoryError)
        ├── StatusError, EnvelopeError, NoOrderError, GroupError, UnflushedError
        ├── KvError                  the answers of a key-value store
        │   ├── KeyNotFoundError (KeyError), KeyExistsError, CapacityExceededError
        │   ├── ValueTooLongError (ValueError), KeyLengthError (ValueError)
        │   ├── NotReadyError, WriteFaultError, FormattingError, ReservedError
        │   ├── DamagedValueError, NamespaceError, WriteProtectedError
        │   ├── OutcomeUnknownError, IteratorLostError, UnreachableError (ConnectionError)
        │   └── AccessDeniedError, TooManyScansError
        └── TransactionError         nothing was done
            ├── ConflictError, UnmetError
            └── NoTransactionsError, TransactionTooLongError, SeveralShardsError
"""

from __future__ import annotations


class SakerError(Exception):
    """Anything that failed."""

    #: The key that it is about, where one is named.
    key: bytes | None
    #: The NVMe status, ``SCT << 8 | SC``, where there is one.
    status: int | None

    def __init__(self, text: str, key: bytes | None = None, status: int | None = None) -> None:
        super().__init__(text)
        self.key = key
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[SakerError], tuple[str, bytes | None, int | None]]:
        return type(self), (str(self), self.key, self.status)


class OpenError(SakerError):
    """A device cannot be opened, or an image cannot be made."""


class UrlError(OpenError, ValueError):
    """The URL makes no sense."""


class SettingError(OpenError, ValueError):
    """An option or a setting that does not suit."""


class ProfileError(OpenError):
    """There is no such profile."""


class PlanError(OpenError):
    """The size or the division of a device makes no sense."""


class ImageError(OpenError):
    """The image cannot be opened: it is not there, is no image, or is in use."""


class DamagedImageError(OpenError):
    """The image is damaged: ``saker check`` says how."""


class NoNamespaceError(OpenError):
    """The device has no such namespace."""


class RemoteError(OpenError, ConnectionError):
    """The target cannot be reached."""


class LinuxError(OpenError):
    """The namespace behind the kernel's driver cannot be used."""


class BackupError(SakerError):
    """A backup cannot be made, read or restored."""


class HandleError(SakerError):
    """The object cannot be used, whatever the device says."""


class ClosedError(HandleError, ValueError):
    """The device was closed, or the transaction has ended."""


class ForkedError(HandleError, RuntimeError):
    """The device was opened by the process that forked this one."""


class BrokenError(HandleError, RuntimeError):
    """A call on the device has panicked; open it again."""


class ArgumentError(HandleError, ValueError):
    """An argument that no call takes."""


class HostError(SakerError):
    """The device refused, or did not answer."""


class DeviceTimeoutError(HostError, TimeoutError):
    """No answer came in time. The command may still be executed."""


class ProtocolError(HostError):
    """The device broke the protocol."""


class SubmitError(HostError):
    """The command could not be submitted."""


class HostMemoryError(HostError, MemoryError):
    """The host has no memory for a queue or a buffer."""


class StatusError(HostError):
    """The device completed the command with a status that has no class: see ``status``."""


class EnvelopeError(HostError):
    """What is stored under the mark of long keys is none of ours."""


class NoOrderError(HostError):
    """Falling order was asked of an engine that keeps none."""


class GroupError(HostError):
    """An operation does not fit a group, or an atomic batch does not fit a command."""


class UnflushedError(HostError):
    """A transaction was carried out, and whether it survives a power cut is not known: look whether it is there, then flush again."""


class KvError(HostError):
    """The answer of a key-value store."""


class KeyNotFoundError(KvError, KeyError):
    """There is no such key."""


class KeyExistsError(KvError):
    """The key exists, and should not."""


class CapacityExceededError(KvError):
    """The device is full. Reads and deletes still work."""


class ValueTooLongError(KvError, ValueError):
    """The value is too long, whatever room there is."""


class KeyLengthError(KvError, ValueError):
    """The key is empty or too long."""


class NotReadyError(KvError):
    """The device cannot take this now; nothing was changed."""


class WriteFaultError(KvError):
    """The device could not write to its storage."""


class FormattingError(KvError):
    """The namespace is being formatted."""


class ReservedError(KvError):
    """Another host has reserved the namespace."""


class DamagedValueError(KvError):
    """The stored value is damaged."""


class NamespaceError(KvError):
    """No such key-value namespace."""


class WriteProtectedError(KvError):
    """The namespace is write protected, or was opened ``readonly``."""


class OutcomeUnknownError(KvError):
    """The connection was lost after a write had been sent: whether it took place is not known."""


class IteratorLostError(KvError):
    """The connection was lost, and the iterator with it."""


class UnreachableError(KvError, ConnectionError):
    """The device cannot be reached; the command was not executed."""


class AccessDeniedError(KvError):
    """The target does not let this host do that; nothing was done."""


class TooManyScansError(KvError):
    """The device has as many scans under way as it can have: end one, then try again."""


class TransactionError(HostError):
    """A transaction was not carried out. Nothing of it was done."""


class ConflictError(TransactionError):
    """A pair that the transaction has read has changed since: ``key``. Begin again."""


class UnmetError(TransactionError):
    """What the transaction requires of ``key`` does not hold."""


class NoTransactionsError(TransactionError):
    """There are no transactions here."""


class TransactionTooLongError(TransactionError):
    """The transaction does not fit a command."""


class SeveralShardsError(TransactionError):
    """The keys of the transaction are not all in one shard: ``key`` is in another than the first."""
