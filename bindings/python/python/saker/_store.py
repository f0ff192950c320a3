# SPDX-License-Identifier: Apache-2.0 OR MIT
"""``Store``: the compiled half, and what a mapping has besides."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from saker import _saker
from saker.errors import ConflictError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_T = TypeVar("_T")

#: Runs of a transaction before ``transact`` gives up.
RUNS_MAX = 10_000


class _Items(ItemsView[bytes, bytes]):
    """Pairs by one scan, instead of a get for each key."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._store = store

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._store.scan()


class Store(_saker.Store, MutableMapping[bytes, bytes]):
    """A key-value SSD: a mapping from bytes to bytes, with batches, scans and transactions.

    Threads share it; each call waits for those of other threads, without the interpreter's lock.
    """

    __slots__ = ()

    def scan(
        self,
        start: Buffer = b"",
        stop: Buffer = b"",
        *,
        prefix: Buffer = b"",
        reverse: bool = False,
        limit: int | None = None,
    ) -> _saker.Pairs:
        """Pairs from ``start`` on and before ``stop``, whose keys begin with ``prefix``.

        With the engines ``lsm`` and ``tree`` keys of up to 16 bytes come in order, then longer ones, all as of the moment of this
        call. Other engines show their keys in an order of their own.
        """
        return self._scan(start, stop, prefix, reverse, _limit(limit))

    def scan_keys(
        self,
        start: Buffer = b"",
        stop: Buffer = b"",
        *,
        prefix: Buffer = b"",
        reverse: bool = False,
        limit: int | None = None,
    ) -> _saker.Keys:
        """The same without the values."""
        return self._scan_keys(start, stop, prefix, reverse, _limit(limit))

    def transact(self, body: Callable[[_saker.Transaction], _T]) -> _T:
        """Runs ``body`` in a transaction and commits it, again and again while others change what it has read.

        ``body`` may run many times, so it does nothing outside the transaction.
        """
        for _ in range(RUNS_MAX - 1):
            try:
                return self._run(body)
            except ConflictError:
                pass
        return self._run(body)

    def _run(self, body: Callable[[_saker.Transaction], _T]) -> _T:
        with self.txn() as txn:
            return body(txn)

    def __iter__(self) -> Iterator[bytes]:
        return self.scan_keys()

    def __len__(self) -> int:
        """How many pairs there are. All keys are listed for it."""
        with self.scan_keys() as keys:
            return sum(1 for _ in keys)

    def __bool__(self) -> bool:
        """Whether there is a pair."""
        with self.scan_keys(limit=1) as keys:
            return any(True for _ in keys)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def keys(self) -> KeysView[bytes]:
        return KeysView(self)

    def items(self) -> ItemsView[bytes, bytes]:
        return _Items(self)

    def update(self, other: Any = (), /, **pairs: Any) -> None:
        """Stores all pairs of a mapping or an iterable, many at a time."""
        if pairs:
            raise TypeError("keys are bytes: pass a mapping or pairs")
        self.put_many(other)


def _limit(limit: int | None) -> int | None:
    """0 pairs are asked for by nobody; to the device it would be all."""
    if limit is not None and limit < 1:
        raise ValueError(f"a limit of {limit} pairs; write at least 1, or None for all")
    return limit
